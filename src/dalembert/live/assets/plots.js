// SPDX-License-Identifier: BSD-3-Clause
// Plots of computed quantities against time.

const SHOWN_AT_FIRST = 6;  // curves of a plot that are visible at first
const LEAST_SHOWN = 1e-18;  // zero on a logarithmic axis
const LEAST_TOP = -12;  // a logarithmic axis reaches at least to this power of ten: below it is rounding
const FLAT = 1e-6;  // a quantity that changes by less than this part of itself is drawn as a straight line
const MARGIN = {left: 62, right: 20, top: 8, bottom: 26};

// Round numbers between two limits, at most about six.
function ticks(low, high) {
  const rough = (high - low) / 5, power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find(factor => factor * power >= rough) || 10);
  const found = [];
  for (let k = Math.ceil(low / step); k * step <= high + 1e-9 * step; k++) found.push(k * step);
  return found;
}

class Plot {
  // `curves`: {label, column}; `column` is the place of the quantity among the numbers of a sample.
  constructor({title, curves, logarithmic}, place) {
    Object.assign(this, {title, curves, logarithmic});
    this.canvas = make("canvas");
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", `${title} against time`);
    this.cursor = make("div", {className: "cursor"});
    this.keys = curves.map((curve, k) => this.key(curve, k));
    const keys = curves.length > 1 ? this.keys.map(key => key.label) : [];
    place.append(make("figure", {}, make("figcaption", {textContent: title}),
      make("div", {className: "plot"}, this.canvas, this.cursor), make("div", {className: "keys"}, ...keys)));
    this.pen = this.canvas.getContext("2d");
  }

  key({label}, k) {
    const box = make("input", {type: "checkbox", checked: k < SHOWN_AT_FIRST});
    box.onchange = () => this.draw(this.samples, this.span);
    const line = make("i");
    line.style.borderTopColor = `var(--colour-${k % COLOUR_COUNT})`;
    line.style.borderTopStyle = ["solid", "dashed", "dotted"][Math.floor(k / COLOUR_COUNT) % 3];
    const name = make("span", {}, ...labelNodes(label));
    return {box, label: make("label", {className: label.italic ? "" : "word"}, box, line, name)};
  }

  value(row, column) {
    return this.logarithmic ? Math.log10(Math.max(Math.abs(row[column]), LEAST_SHOWN)) : row[column];
  }

  // Draws samples, rows of numbers that begin with the time, over a span of time.
  draw(samples, span) {
    Object.assign(this, {samples, span});
    const visible = this.curves.map((curve, k) => ({...curve, k})).filter(({k}) => this.keys[k].box.checked);
    this.prepare();
    if (!samples.count) return;
    this.limits(visible);
    this.axes();
    for (const {column, k} of visible) this.curve(column, k);
  }

  prepare() {
    const ratio = globalThis.devicePixelRatio || 1, {canvas, pen} = this;
    [this.width, this.height] = [canvas.clientWidth, canvas.clientHeight];
    const [width, height] = [Math.round(this.width * ratio), Math.round(this.height * ratio)];
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, {width, height});
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, this.width, this.height);
  }

  limits(visible) {
    let low = Infinity, high = -Infinity;
    for (const {column} of visible) {
      for (let i = 0; i < this.samples.count; i++) {
        const value = this.value(this.samples.at(i), column);
        if (value < low) low = value;
        if (value > high) high = value;
      }
    }
    if (!(low <= high)) [low, high] = [0, 1];
    if (this.logarithmic) high = Math.max(high, LEAST_TOP);
    const size = Math.max(Math.abs(low), Math.abs(high)), isFlat = high - low <= (this.logarithmic ? 1 : FLAT * size);
    const room = isFlat ? (this.logarithmic ? 0.5 : 0.1 * size || 1) : 0.05 * (high - low);
    [this.low, this.high] = [low - room, high + room];
  }

  x(t) {
    const part = (t - this.span[0]) / (this.span[1] - this.span[0]);
    return MARGIN.left + part * (this.width - MARGIN.left - MARGIN.right);
  }

  y(value) {
    const part = (value - this.low) / (this.high - this.low);
    return this.height - MARGIN.bottom - part * (this.height - MARGIN.top - MARGIN.bottom);
  }

  axes() {
    const {pen} = this, [left, right, bottom] = [MARGIN.left, this.width - MARGIN.right, this.height - MARGIN.bottom];
    Object.assign(pen, {lineWidth: 1, strokeStyle: styleColour("line"), fillStyle: styleColour("faint")});
    Object.assign(pen, {font: "12px sans-serif", textAlign: "right", textBaseline: "middle"});
    pen.setLineDash([]);
    const levels = ticks(this.low, this.high);
    for (const level of levels.filter(v => !this.logarithmic || Number.isInteger(v))) {
      const text = this.logarithmic ? `1e${level}`.replace("-", "−") : tickText(level, levels);
      this.line([[left, this.y(level)], [right, this.y(level)]]);
      pen.fillText(text, left - 6, this.y(level));
    }
    Object.assign(pen, {textAlign: "center", textBaseline: "top"});
    const times = ticks(...this.span);
    for (const t of times) {
      this.line([[this.x(t), MARGIN.top], [this.x(t), bottom]]);
      pen.fillText(tickText(t, times), this.x(t), bottom + 6);
    }
    Object.assign(pen, {font: "italic 14px serif", textBaseline: "middle"});
    pen.fillText("t", this.width - MARGIN.right / 2, bottom);
  }

  curve(column, k) {
    const {pen} = this, points = [];
    for (let i = 0; i < this.samples.count; i++) {
      const row = this.samples.at(i), value = this.value(row, column);
      if (Number.isFinite(value)) points.push([this.x(row[0]), this.y(value)]);
    }
    Object.assign(pen, {lineWidth: 1.6, lineJoin: "round", strokeStyle: styleColour(`colour-${k % COLOUR_COUNT}`)});
    pen.setLineDash([[], [7, 4], [2, 3]][Math.floor(k / COLOUR_COUNT) % 3]);
    this.line(points);
  }

  line(points) {
    this.pen.beginPath();
    points.forEach((point, i) => i ? this.pen.lineTo(...point) : this.pen.moveTo(...point));
    this.pen.stroke();
  }

  // Moves the line that marks the time shown.
  mark(t) {
    this.cursor.style.transform = `translateX(${this.x(t)}px)`;
  }
}

// The text of a tick, with as many digits as tell it from its neighbours.
function tickText(value, all) {
  const step = all.length > 1 ? all[1] - all[0] : Math.abs(value) || 1;
  if (Math.abs(value) < 1e-9 * step) return "0";
  return shown(value, Math.max(1, Math.floor(Math.log10(Math.abs(value))) - Math.floor(Math.log10(step) + 1e-9) + 1));
}
