// SPDX-License-Identifier: BSD-3-Clause
// A Worker for pages that are opened from a folder, where browsers refuse real ones: its script runs in a hidden frame.
// The search of the site needs it. A server is not affected.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inner = frame.contentWindow;
      this.inner.postMessage = data => setTimeout(() => this.dispatchEvent(new MessageEvent("message", {data})));
      this.ready = new Promise(resolve => {
        const script = frame.contentDocument.createElement("script");
        script.src = url;
        script.onload = resolve;
        frame.contentDocument.head.append(script);
      });
    }

    postMessage(data) {
      this.ready.then(() => this.inner.dispatchEvent(new MessageEvent("message", {data})));
    }
  };
}
