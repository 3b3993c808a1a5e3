// Opens pages in one headless Chromium and evaluates expressions in them, by the protocol of its developer tools.
// Arguments: the browser and a file of jobs {page, width, height, dark, expressions, picture}. An expression may also be
// a command {method, params} of the protocol, whose value is its result.
import {spawn} from "node:child_process";
import {mkdtempSync, readFileSync, rmSync, writeFileSync} from "node:fs";
import {tmpdir} from "node:os";
import {join} from "node:path";

const [browser, jobs] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "chromium-"));
const chromium = spawn(browser, ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
  "--remote-debugging-port=0", `--user-data-dir=${folder}`, "about:blank"], {stdio: ["ignore", "ignore", "pipe"]});

function address() {
  return new Promise((found, failed) => {
    let text = "";
    chromium.stderr.on("data", part => {
      text += part;
      const match = text.match(/DevTools listening on (ws:\S+)/);
      if (match) found(match[1]);
    });
    chromium.on("exit", () => failed(new Error(text)));
  });
}

// Removes the folder of the browser, whose children write to it for a while after its end; what is left does no harm.
async function remove(folder, attempts = 50) {
  for (let k = 0; k < attempts; k++) {
    try { return rmSync(folder, {recursive: true, force: true}); }
    catch { await new Promise(done => setTimeout(done, 100)); }
  }
}

class Connection {
  constructor(socket) {
    Object.assign(this, {socket, next: 1, waiting: new Map(), events: []});
    socket.onmessage = ({data}) => {
      const message = JSON.parse(data);
      if (message.id) { this.waiting.get(message.id)(message); this.waiting.delete(message.id); }
      else this.events.push(message);
    };
  }

  static open(url) {
    return new Promise((opened, failed) => {
      const socket = new WebSocket(url);
      socket.onopen = () => opened(new Connection(socket));
      socket.onerror = failed;
    });
  }

  async send(method, params = {}, sessionId = undefined) {
    const id = this.next++;
    const answer = new Promise(found => this.waiting.set(id, found));
    this.socket.send(JSON.stringify({id, method, params, sessionId}));
    const {result, error} = await answer;
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  }
}

const LOADED = `new Promise(done => document.readyState === "complete" ? done() : addEventListener("load", done))`;

async function visit(connection, {page, width, height, dark, expressions, picture}) {
  connection.events.length = 0;
  const {targetId} = await connection.send("Target.createTarget", {url: "about:blank"});
  const {sessionId} = await connection.send("Target.attachToTarget", {targetId, flatten: true});
  const send = (method, params) => connection.send(method, params, sessionId);
  for (const domain of ["Page", "Runtime", "Log", "Network"]) await send(`${domain}.enable`);
  await send("Emulation.setDeviceMetricsOverride", {width, height, deviceScaleFactor: 1, mobile: false});
  const scheme = {name: "prefers-color-scheme", value: dark ? "dark" : "light"};
  await send("Emulation.setEmulatedMedia", {features: [scheme]});
  await send("Page.navigate", {url: page});
  const values = [];
  for (const expression of [LOADED, ...expressions]) {
    if (expression.method) { values.push(await send(expression.method, expression.params)); continue; }
    const asked = {expression, awaitPromise: true, returnByValue: true};
    const {result, exceptionDetails} = await send("Runtime.evaluate", asked);
    values.push(exceptionDetails ? {error: exceptionDetails.exception.description} : result.value);
  }
  if (picture) {
    const {data} = await send("Page.captureScreenshot", {captureBeyondViewport: true});
    writeFileSync(picture, Buffer.from(data, "base64"));
  }
  const kinds = kind => connection.events.filter(({method}) => method === kind).map(({params}) => params);
  const thrown = kinds("Runtime.exceptionThrown").map(({exceptionDetails}) => exceptionDetails);
  const errors = [...thrown.map(({exception, text}) => exception?.description ?? text),
    ...kinds("Log.entryAdded").map(({entry}) => entry.text),
    ...kinds("Runtime.consoleAPICalled").map(({args}) => args.map(one => one.value).join(" "))];
  const requests = kinds("Network.requestWillBeSent").map(({request}) => request.url).filter(url => url !== page);
  await connection.send("Target.closeTarget", {targetId});
  return {values: values.slice(1), errors, requests};
}

try {
  const connection = await Connection.open(await address());
  const found = [];
  for (const job of JSON.parse(readFileSync(jobs, "utf-8"))) found.push(await visit(connection, job));
  console.log(JSON.stringify(found));
} finally {
  const ended = chromium.exitCode === null ? new Promise(done => chromium.once("exit", done)) : null;
  chromium.kill();
  await ended;
  chromium.stderr.destroy();
  await remove(folder);
}
