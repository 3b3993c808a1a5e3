// SPDX-License-Identifier: BSD-3-Clause
// The numbers that the reader chooses: a slider and a box for each.

// Makes an element with some properties and children.
function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

// The nodes of a label: a letter or a word, and an index below.
function labelNodes({base, index}) {
  return index ? [base, make("sub", {textContent: index})] : [base];
}

const SHOWN_DIGITS = 6;
const COLLAPSED_FROM = 9;  // a group of this many numbers is folded at first

class Controls {
  // `changed()` is called after every change; the numbers are in `p`, `y` and `t1`.
  constructor(model, changed) {
    Object.assign(this, {model, changed, all: []});
    this.given();
    const place = document.getElementById("numbers");
    for (const {title, controls} of model.groups) {
      if (controls.length) place.append(this.group(title, controls));
    }
  }

  given() {
    const {model} = this;
    this.p = Float64Array.from(model.parameters, parameter => parameter.value);
    this.y = Float64Array.from(model.start);
    this.t1 = model.t1;
  }

  group(title, controls) {
    const rows = controls.map(control => this.control(control));
    if (rows.length < COLLAPSED_FROM) return make("fieldset", {}, make("legend", {textContent: title}), ...rows);
    return make("details", {}, make("summary", {textContent: `${title} (${rows.length})`}), ...rows);
  }

  control({id, label, value, low, high, array, place}) {
    const slider = make("input", {type: "range", min: low, max: high, step: "any", value, id: `${id}-slider`});
    const box = make("input", {type: "number", step: "any", value: short(value), required: true, id: `${id}-box`});
    slider.setAttribute("aria-label", `${label.text}, slider`);
    box.setAttribute("aria-label", `${label.text}, value`);
    const name = make("label", {htmlFor: slider.id, className: label.italic ? "" : "word"}, ...labelNodes(label));
    slider.oninput = () => {
      box.value = boxText(rounded(slider.valueAsNumber, low, high));
      this.set(array, place, box.valueAsNumber);
    };
    box.oninput = () => {
      if (!Number.isFinite(box.valueAsNumber)) return;  // while the reader is typing
      slider.value = box.value;
      this.set(array, place, box.valueAsNumber);
    };
    this.all.push({slider, box, value});
    return make("div", {className: "control"}, name, slider, box);
  }

  set(array, place, value) {
    if (array === "t1") this.t1 = value; else this[array][place] = value;
    this.changed();
  }

  reset() {
    this.given();
    for (const {slider, box, value} of this.all) {
      slider.value = value;
      box.value = short(value);
    }
    this.changed();
  }
}

// A value of a slider with no more digits than its range resolves.
function rounded(value, low, high) {
  const digits = Math.max(0, 3 - Math.floor(Math.log10(high - low)));
  return Number(value.toFixed(Math.min(digits, 20)));
}

// A value as a box shows it: more digits would not fit. The motion uses the value itself until the box is changed.
function short(value) {
  return boxText(Number(value.toPrecision(SHOWN_DIGITS)));
}

// A number with a power of ten if its zeros would fill the box.
function boxText(value) {
  const size = Math.abs(value), isExtreme = size > 0 && (size < 1e-3 || size >= 1e9);
  return isExtreme ? value.toExponential() : String(value);
}
