// SPDX-License-Identifier: BSD-3-Clause
// Drawing of points, the lines between them and their paths; a picture in space can be turned.

const COLOUR_COUNT = 7;
const TURN = 1 / 150;  // radians for each pixel of a drag
const FAR = 6;  // how many times larger than its points a motion must be for the picture to follow them
const [TURNS, STRAIGHT, SPRING_HALF_WIDTH] = [10, 0.15, 7];  // of a spring: corners, straight fraction, pixels
const KEY_TURN = 12;  // pixels of a drag that an arrow key stands for

// Colours by name, until the reader changes between light and dark: to ask for them makes the browser compute styles.
const knownColours = new Map();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => knownColours.clear());

function styleColour(name) {
  if (!knownColours.has(name)) {
    knownColours.set(name, getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim());
  }
  return knownColours.get(name);
}

function inner(a, b) { return a.reduce((sum, x, i) => sum + x * b[i], 0); }

// The vector v turned about a unit vector.
function turned(v, axis, angle) {
  const [c, s] = [Math.cos(angle), Math.sin(angle)], along = inner(axis, v) * (1 - c);
  const across = [0, 1, 2].map(i => axis[(i + 1) % 3] * v[(i + 2) % 3] - axis[(i + 2) % 3] * v[(i + 1) % 3]);
  return v.map((x, i) => x * c + across[i] * s + axis[i] * along);
}

// The corners of the zigzag that shows a spring between two places.
function zigzag([[x, y], [u, v]]) {
  const [right, down] = [u - x, v - y], length = Math.hypot(right, down) || 1;
  const at = (fraction, side) => [
    x + fraction * right - side * SPRING_HALF_WIDTH * down / length,
    y + fraction * down + side * SPRING_HALF_WIDTH * right / length,
  ];
  const corner = k => at(STRAIGHT + (1 - 2 * STRAIGHT) * (k + 0.5) / TURNS, k % 2 ? -1 : 1);
  const inside = Array.from({length: TURNS}, (_, k) => corner(k));
  return [at(0, 0), at(STRAIGHT, 0), ...inside, at(1 - STRAIGHT, 0), at(1, 0)];
}

class Stage {
  // `scene`: dimension; lines as [colour, numbers of points]; thin and springs, as numbers of lines; marks, fixed and
  // traced, as numbers of points; in space `up` and the two directions of the picture, `view`. `changed()` is called
  // when the view is turned.
  constructor(canvas, scene, changed) {
    Object.assign(this, {canvas, scene, changed, pen: canvas.getContext("2d"), view: scene.view});
    this.measured = false;  // whether width and height are known: to ask for them makes the browser lay out the page
    new ResizeObserver(() => { this.measured = false; changed(); }).observe(canvas);
    this.follows = null;  // whether the picture follows the points, if the reader has chosen
    if (scene.dimension === 3) this.listen();
  }

  listen() {
    this.canvas.classList.add("deep");
    this.canvas.addEventListener("pointerdown", event => this.canvas.setPointerCapture(event.pointerId));
    this.canvas.addEventListener("pointermove", event => {
      if (event.buttons) this.turn(event.movementX, event.movementY);
    });
    const steps = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]};
    this.canvas.addEventListener("keydown", event => {
      if (!(event.key in steps)) return;
      event.preventDefault();
      this.turn(...steps[event.key].map(step => KEY_TURN * step));
    });
  }

  turn(right, down) {
    const [spin, tilt] = [-right * TURN, -down * TURN], {up} = this.scene;
    const level = turned(this.view[0], up, spin);
    this.view = [level, turned(turned(this.view[1], up, spin), level, tilt)];
    this.changed();
  }

  // Chooses the scale by the positions of all points at some times, one array for each time: the whole motion is
  // visible, or, where it goes far, the points at one time, which the picture then follows.
  fit(rows) {
    this.whole = this.box(rows);
    const alone = rows.map(row => this.box([row]).extent).filter(Number.isFinite);
    this.own = alone.reduce((a, b) => Math.max(a, b), 0);
    this.travels = this.own > 0 && this.whole.extent > FAR * this.own;
  }

  // The centre and the half height of the box around all positions.
  box(rows) {
    const d = this.scene.dimension, low = new Array(d).fill(Infinity), high = new Array(d).fill(-Infinity);
    for (const row of rows) {
      row.forEach((x, i) => {
        if (x < low[i % d]) low[i % d] = x;
        if (x > high[i % d]) high[i % d] = x;
      });
    }
    const sides = low.map((x, i) => (high[i] - x) / 2);
    const extent = d === 3 ? Math.hypot(...sides) : Math.max(sides[0] * 3 / 4, sides[1]);
    return {centre: low.map((x, i) => (x + high[i]) / 2), extent};
  }

  // Moves the picture: to the points, if it follows them, or to the whole motion.
  aim(points) {
    const following = this.follows ?? this.travels, {centre, extent} = following ? this.box([points]) : this.whole;
    if (!centre.every(Number.isFinite)) return;
    this.centre = centre;
    this.extent = (following ? 1.4 * this.own : extent) || 1;
  }

  place(points, k) {
    const d = this.scene.dimension, scale = 0.44 * this.height / this.extent;
    const away = this.centre.map((x, i) => points[k * d + i] - x);
    const [right, up] = d === 3 ? this.view.map(axis => inner(axis, away)) : away;
    return [this.width / 2 + scale * right, this.height / 2 - scale * up];
  }

  // `points`: all positions now; `paths`: the earlier positions of all points, one array for each time.
  draw(points, paths) {
    const {pen, scene} = this;
    this.clear();
    this.aim(points);
    pen.lineJoin = pen.lineCap = "round";
    pen.lineWidth = 1.2;
    pen.globalAlpha = 0.55;
    scene.traced.forEach((k, i) => {
      pen.strokeStyle = styleColour(`colour-${scene.marks.length > 1 ? i % COLOUR_COUNT : 0}`);
      this.stroke([...paths, points].map(all => this.place(all, k)));
    });
    pen.globalAlpha = 1;
    scene.lines.forEach(([colour, line], i) => {
      const isSpring = scene.springs.includes(i);
      pen.lineWidth = isSpring || scene.thin.includes(i) ? 1.6 : 3.5;
      pen.strokeStyle = colour === null ? styleColour("faint") : styleColour(`colour-${colour % COLOUR_COUNT}`);
      const places = line.map(k => this.place(points, k));
      this.stroke(isSpring ? zigzag(places) : places);
    });
    for (const k of scene.marks) this.mark(...this.place(points, k), scene.fixed.includes(k));
  }

  // Makes the canvas as sharp as the screen, and empty.
  clear() {
    const ratio = globalThis.devicePixelRatio || 1, {canvas} = this;
    if (!this.measured) [this.width, this.height] = [canvas.clientWidth, canvas.clientHeight];
    this.measured = true;
    const [width, height] = [Math.round(this.width * ratio), Math.round(this.height * ratio)];
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, {width, height});
    this.pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.pen.clearRect(0, 0, this.width, this.height);
  }

  stroke(places) {
    this.pen.beginPath();
    places.forEach((place, i) => i ? this.pen.lineTo(...place) : this.pen.moveTo(...place));
    this.pen.stroke();
  }

  mark(x, y, fixed) {
    this.pen.fillStyle = styleColour("ink");
    this.pen.beginPath();
    if (fixed) this.pen.rect(x - 4, y - 4, 8, 8);
    else this.pen.arc(x, y, 5.5, 0, 2 * Math.PI);
    this.pen.fill();
  }
}
