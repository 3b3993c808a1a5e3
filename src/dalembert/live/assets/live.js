// SPDX-License-Identifier: BSD-3-Clause
// The page: a motion is computed again after every change of a number, a part of it in every frame.

const PLOT_SAMPLES = 600;
const RESOLVED = 5;  // steps for each sample up to which samples show the path of a point
const FARTHEST = 0.5;  // seconds of playing between two positions that are joined by a line
const FRAME_BUDGET = 7;  // milliseconds of computing in one frame
const LEDGER_PERIOD = 100;  // milliseconds between two changes of the ledger while the motion plays
const LONGEST_PLAY = 20, SHORTEST_PLAY = 4;  // seconds in which a motion is played at first
const SPEEDS = Array.from({length: 17}, (_, k) => 2 ** (k - 10));

class LivePage {
  constructor(machine) {
    this.machine = machine;
    this.model = machine.model;
    const {scene} = this.model;
    this.controls = new Controls(this.model, () => this.requestRestart());
    if (scene.count) this.prepareStage(scene);
    this.plots = this.model.plots.map(plot => new Plot(plot, document.getElementById("plots")));
    this.ledger = new LedgerTable(this.model.ledger);
    this.player = new Player(t => this.draw(t), {from: this.model.t0, to: this.model.t1, step: "any", rate: 1});
    this.chooseSpeed();
    document.getElementById("reset").onclick = () => this.reset();
    addEventListener("resize", () => this.drawAll());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.drawAll());
    if (location.hash === "#compact") this.beCompact();
    this.restart();
    if (!matchMedia("(prefers-reduced-motion: reduce)").matches) this.player.start();
  }

  prepareStage(scene) {
    const [canvas, follow] = ["stage", "follow"].map(id => document.getElementById(id));
    this.stage = new Stage(canvas, scene, () => this.player.show());
    canvas.hidden = false;
    follow.parentElement.hidden = scene.count < 2;
    follow.onchange = () => { this.stage.follows = follow.checked; this.player.show(); };
  }

  // Leaves out plots and ledger, and tells a page that embeds this one its height, so that it need not scroll in itself.
  beCompact() {
    document.body.classList.add("compact");
    const tell = () => parent.postMessage({dalembertHeight: document.documentElement.offsetHeight}, "*");
    new ResizeObserver(tell).observe(document.documentElement);
  }

  reset() {
    this.player.value = this.model.t0;
    this.controls.reset();
  }

  drawAll() {
    this.drawPlots();
    this.player.show();
  }

  chooseSpeed() {
    const select = document.getElementById("speed"), span = this.model.t1 - this.model.t0;
    const usual = span > LONGEST_PLAY ? span / LONGEST_PLAY : span < SHORTEST_PLAY ? span / SHORTEST_PLAY : 1;
    const off = speed => Math.abs(Math.log(speed / usual));
    const nearest = SPEEDS.reduce((a, b) => off(b) < off(a) ? b : a);
    const text = speed => speed < 1 ? `1/${1 / speed}` : `${speed}`;
    select.append(...SPEEDS.map(speed => make("option", {value: speed, textContent: text(speed)})));
    select.value = nearest;
    this.player.rate = nearest;
    select.onchange = () => { this.player.rate = Number(select.value); };
  }

  // Begins a new motion in the next frame: a slider may change several times before that.
  requestRestart() {
    document.body.dataset.state = "computing";
    if (this.restarting) return;
    this.restarting = true;
    requestAnimationFrame(() => { this.restarting = false; this.restart(); });
  }

  // Begins a motion with the numbers of the controls.
  restart() {
    const {p, y, t1} = this.controls, {t0, n, outputLength} = this.model;
    if (!(t1 > t0)) {
      this.say(`The motion must end after it begins, at t = ${shown(t0)}.`);
      document.body.dataset.state = "refused";
      return;
    }
    this.motion = new Motion(this.machine, {p: p.slice(), y: y.slice(), t0, t1});
    this.work = new Work(this.motion);
    this.samples = new Rows(1 + 2 * n + outputLength);
    Object.assign(this, {positions: [], visited: []});
    Object.assign(this.player, {to: t1, value: Math.min(this.player.value, t1)});
    Object.assign(this.player.slider, {max: t1});
    this.began = performance.now();
    this.compute();
  }

  // Computes for a part of a frame, draws what there is, and goes on in the next frame if anything is left.
  compute() {
    const stop = performance.now() + FRAME_BUDGET, known = this.samples.count;
    while (!this.isComplete && performance.now() < stop) this.computeMore();
    if (this.samples.count > known || this.motion.refusal) this.drawPlots();
    this.player.show();
    this.report();
    if (this.isComplete || this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => { this.pending = false; this.compute(); });
  }

  get isComplete() { return this.motion.ended && (this.work.isComplete || Boolean(this.motion.refusal)); }

  // Takes some steps, with the samples that they reach, or, once the motion has ended, finds the work within a step.
  computeMore() {
    if (this.motion.ended) { this.work.extend(); return; }
    this.motion.batch();
    this.takeSamples();
  }

  // Adds the samples up to the time that the motion has reached.
  takeSamples() {
    const {motion, samples, machine, model} = this;
    if (motion.refusal) return;
    while (samples.count < PLOT_SAMPLES + 1) {
      const times = [];
      for (let k = samples.count; k <= PLOT_SAMPLES && times.length < SAMPLES; k++) {
        const t = k === PLOT_SAMPLES ? motion.t1 : motion.t0 + k * ((motion.t1 - motion.t0) / PLOT_SAMPLES);
        if (t <= motion.reached) times.push(t);
      }
      if (!times.length) return;
      motion.outputsAt(times);
      times.forEach((t, k) => this.addSample(t, k, machine, model));
    }
  }

  addSample(t, k, machine, {outputLength, outputs, scene}) {
    const values = machine.outputs.slice(k * outputLength, (k + 1) * outputLength);
    this.samples.add([t, ...machine.states.subarray(k * machine.size, (k + 1) * machine.size), ...values]);
    if (scene.count) this.positions.push(values.slice(...outputs.points));
    if (machine.validity[k] === UNRELIABLE && !this.motion.doubtful) {
      this.motion.doubtful = true;
      this.motion.notes.push(`Near t = ${shown(t)} a step has missed an abrupt change of the forces; da.simulate ` +
        "repeats it with shorter steps.");
    }
  }

  drawPlots() {
    for (const plot of this.plots) plot.draw(this.samples, [this.motion.t0, this.motion.t1]);
    if (!this.stage || !this.positions.length) return;
    this.stage.fit(this.positions);
    document.getElementById("follow").checked = this.stage.follows ?? this.stage.travels;
  }

  // Draws the motion at a time, or at the last one that is known; returns the text of the clock.
  draw(time) {
    const {motion, model} = this, t = Math.min(time, motion.reached);
    if (motion.refusal) {
      this.stage?.clear();
      this.ledger.clear();
      return "";
    }
    const {outputs, states} = motion.outputsAt([t]), now = outputs.slice(0, model.outputLength);
    this.now = {t, y: states.slice(0, 2 * model.n), outputs: now};
    if (this.stage) {
      const points = now.slice(...model.outputs.points);
      this.stage.draw(points, this.pathUntil(t));
      this.visited.push({t, points});
    }
    for (const plot of this.plots) plot.mark(t);
    if (!this.player.playing || performance.now() - this.ledger.changed > LEDGER_PERIOD) this.showLedger(t, now);
    const digits = Math.max(0, 2 - Math.floor(Math.log10(motion.t1 - motion.t0)));
    return `t = ${t.toFixed(digits)}`.replace("-", "−");
  }

  // The earlier positions of the points: the samples, or, where these are too far apart, what has been shown before.
  pathUntil(t) {
    const {motion} = this;
    if (motion.steps <= RESOLVED * PLOT_SAMPLES) {
      return this.positions.slice(0, Math.floor((t - motion.t0) / (motion.t1 - motion.t0) * PLOT_SAMPLES) + 1);
    }
    const last = this.visited.at(-1), gap = FARTHEST * this.player.rate;
    if (last && (t < last.t || t - last.t > gap)) this.visited = [];  // the reader has moved the slider
    if (this.visited.length > PLOT_SAMPLES) this.visited.shift();
    return this.visited.map(({points}) => points);
  }

  // Shows the ledger from the start to a time, if the work has been computed as far.
  showLedger(t, now) {
    const {model} = this, work = this.work.until(t), first = this.samples.at(0);
    if (work === null) return;
    const gained = name => now[model.outputs[name][0]] - first[1 + 2 * model.n + model.outputs[name][0]];
    const [energy, kinetic] = [gained("energy"), gained("kinetic")];
    const further = {kinetic, potential: energy - kinetic, audit: energy - work.reduce((a, b) => a + b)};
    const scale = Math.max(...["energy", "kinetic"].map(name => Math.abs(now[model.outputs[name][0]])));
    this.ledger.show(model.ledger.map(({kind}) => typeof kind === "number" ? work[kind] : further[kind]), scale);
  }

  // Says how far the motion has come, by how much the start was moved, and why the motion ends early.
  report() {
    const {motion} = this;
    const state = motion.refusal ? "refused" : this.isComplete ? "ended" : "computing";
    document.body.dataset.state = state;
    const texts = {refused: "", computing: "Computing …", ended: `${this.movedText()} ${this.stepsText()}`};
    document.getElementById("status").textContent = texts[state];
    this.say([motion.refusal, ...motion.notes].filter(Boolean).join(" "));
  }

  movedText() {
    const {motion, model} = this, {most, place} = motion.moved;
    if (!(most > 0)) return "";
    const where = `${shown(most, 3)} in ${model.stateLabels[place]}, to ${shown(motion.y[place])}`;
    return `The start was moved onto the constraints, by up to ${where}.`;
  }

  stepsText() {
    const {steps, rejected, reached} = this.motion, took = shown(performance.now() - this.began, 2);
    return `Computed to t = ${shown(reached)}: ${steps} steps, ${rejected} rejected, in ${took} ms.`;
  }

  say(text) {
    document.getElementById("message").textContent = text;
  }
}

async function runPage() {
  try {
    const machine = await Machine.create(JSON.parse(document.getElementById("model").textContent));
    globalThis.livePage = new LivePage(machine);
  } catch (error) {
    document.getElementById("message").textContent = `This browser cannot run the page: ${error.message}`;
    throw error;
  }
}
