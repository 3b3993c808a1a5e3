// SPDX-License-Identifier: BSD-3-Clause
// A motion that is computed while the page is in use: steps, outputs at any time, and why it ends.

const FIRST_ROOM = 16;  // steps of the first batch
const BATCH_TIME = 2;  // milliseconds that a batch should take: a page must stay responsive
const MOST_PROJECTIONS = 50;
const SETTLED = 1e-14;  // a projection that moves the state by less than this part of its size has converged
const AT_REST = 0.5;  // a flag of the compiled code below this is zero
const UNRELIABLE = 0.25;  // the validity of an output whose error estimate exceeds the tolerance
const SINGULAR = 1e-13;  // a pivot that is a smaller part of its diagonal entry is rounding error

const SIGNS = {
  "positive": x => x > 0, "negative": x => x < 0, "positive or zero": x => x >= 0, "negative or zero": x => x <= 0,
  "other than zero": x => x !== 0,
};

const LOOKED_AHEAD = [1e-12, 1e-9, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3];  // parts of the span

const NOT_SOLVABLE = "the equations are no longer well conditioned: constraints become dependent there (a singular " +
  "position), or a mass or a force is not defined.";
const GOES_ON = "The integrator of this page stops here; da.simulate goes on with its general integrator, or says " +
  "why no motion follows.";

// Whether a symmetric matrix, row by row, is positive definite: its Cholesky decomposition has positive pivots.
function isPositiveDefinite(matrix, n) {
  const a = Float64Array.from(matrix);
  for (let k = 0; k < n; k++) {
    if (!(a[k * n + k] > SINGULAR * Math.abs(matrix[k * n + k]))) return false;
    for (let i = k + 1; i < n; i++) {
      const factor = a[i * n + k] / a[k * n + k];
      for (let j = k + 1; j < n; j++) a[i * n + j] -= factor * a[k * n + j];
    }
  }
  return true;
}

class Motion {
  static MOST_NUMBERS = 6e6;  // numbers that the steps may take: 48 MB

  // `numbers`: the values of the parameters p, the start y, the first and the last time.
  constructor(machine, numbers) {
    Object.assign(this, {machine, model: machine.model, ...numbers});
    this.times = new Rows(1);
    this.states = new Rows(machine.size);
    this.given = Float64Array.from(this.y);
    this.rejected = this.h = this.place = 0;
    this.room = FIRST_ROOM;  // the number of steps in the next batch
    this.ended = false;
    this.refusal = "";
    this.notes = [];
    machine.p.set(this.p);
    this.begin();
  }

  begin() {
    this.refusal = this.parameterRefusal() || this.massRefusal() || this.startRefusal();
    if (this.refusal) { this.ended = true; return; }
    const found = this.machine.program("start", this.y, this.t0);
    const {atol, n} = this.model;
    this.atol = found.slice(2, 2 + 2 * n).map(scale => atol === null ? this.model.usualAtol * scale : atol);
    this.segments = segmentsOf(this.timeFunctions(), this.t0, this.t1);
    this.keep(this.t0, this.y);
  }

  timeFunctions() {
    if (!this.model.timeFunctions) return null;
    const {machine, model, y} = this;
    return t => machine.program("time_functions", y, t).subarray(0, model.timeFunctions);
  }

  // Returns a sentence if a coefficient or a parameter has a sign that it must not have.
  parameterRefusal() {
    const {machine, model} = this;
    if (!model.conditions.length) return "";
    const values = machine.program("conditions", this.y, this.t0);
    const broken = model.conditions.findIndex(({sign}, k) => !SIGNS[sign](values[k]));
    return broken < 0 ? "" : `${model.conditions[broken].sentence}; it is ${shown(values[broken])}.`;
  }

  // Returns a sentence if the equations cannot be solved at the start because of the mass matrix.
  massRefusal() {
    const {machine, model: {n}} = this;
    if (this.isWellConditioned(this.y, this.t0)) return "";
    const masses = machine.program("mass_matrix", this.y, this.t0).slice(0, n * n);
    if (isPositiveDefinite(masses, n)) return "";
    return "The mass matrix is not positive definite for these values. Choose other masses or another start.";
  }

  // Puts the start on the constraints, and returns a sentence if there is no such start nearby.
  startRefusal() {
    const {model} = this;
    const [fine, exact] = this.startFlags();
    if (!(fine && (exact || !model.projected)) && !(model.allowViolation && !model.projected)) {
      const converged = this.project();
      if (!converged) return "No start on the constraints was found near these values. Choose others, nearer to them.";
      if (!this.startFlags()[0]) {
        return "The start violates a constraint that the selected ones do not imply, or a term is not finite there.";
      }
    }
    return "";
  }

  startFlags() {
    const found = this.machine.program("start", this.y, this.t0);
    return [found[0] === 1, found[1] === 1];
  }

  // Projects the start onto the constraints until it no longer moves; returns whether it converges.
  project() {
    const {machine} = this;
    for (let k = 0; k < MOST_PROJECTIONS; k++) {
      const next = Float64Array.from(machine.program("restore", this.y, this.t0).subarray(0, machine.size));
      if (!next.every(Number.isFinite)) return false;
      const size = Math.max(...next.map(Math.abs), 1e-300);
      const moved = Math.max(...next.map((x, i) => Math.abs(x - this.y[i])));
      this.y = next;
      if (moved <= SETTLED * size) return true;
    }
    return false;
  }

  // By how much the start was moved onto the constraints: the largest change and its place in the state.
  get moved() {
    const changes = Array.from(this.y, (x, i) => Math.abs(x - this.given[i]));
    const most = Math.max(...changes, 0);
    return {most, place: changes.indexOf(most)};
  }

  keep(t, y) {
    this.times.add([t]);
    this.states.add(y);
  }

  get reached() { return this.times.count ? this.times.last[0] : this.t0; }
  get steps() { return Math.max(this.times.count - 1, 0); }

  // Takes some steps, for a few milliseconds.
  batch() {
    const segment = this.segments[this.place], {machine, model} = this;
    let t = this.reached;
    if (t < segment.start && !this.cross(segment.start)) return;
    t = this.reached;
    const longest = Math.min(segment.longest, model.longest ?? Infinity);
    machine.prepare(t, segment.end, model.rtol, this.atol, longest);
    machine.p.set(this.p);
    const began = performance.now();
    const {taken, ending, h, rejected} = machine.stepBatch(this.states.last, t, segment.end, this.h, this.room);
    this.room = performance.now() - began < BATCH_TIME ? Math.min(2 * this.room, ROOM) : Math.ceil(this.room / 2);
    const times = machine.stepTimes.slice(0, taken), states = machine.stepStates.slice(0, taken * machine.size);
    this.h = taken ? h : 0;
    this.rejected += rejected;
    this.keepSteps(times, states);
    if (this.ended) return;
    if (ending === FINISHED) this.finishSegment();
    else if (ending === HAND_OVER && !taken) this.end(this.handOver());
    else if (this.steps * machine.size > Motion.MOST_NUMBERS) {
      this.end(`The page stops at t = ${shown(this.reached)}: its memory is full after ${this.steps} steps.`);
    }
  }

  // Continues just after a jump of a function of time, unless a constraint jumps with it.
  cross(start) {
    const y = this.states.last, found = this.machine.program("start", y, start);
    if (found[0] !== 1) {
      this.end(`At t = ${shown(start)} a constraint jumps in time. The page cannot follow it; da.simulate can.`);
      return false;
    }
    this.keep(start, y);
    return true;
  }

  finishSegment() {
    this.place++;
    this.h = 0;
    if (this.place === this.segments.length) this.ended = true;
  }

  keepSteps(times, states) {
    const {size} = this.machine;
    times.forEach((t, k) => {
      if (this.ended) return;
      const y = states.subarray(k * size, (k + 1) * size);
      const stopped = this.stoppedContact(t);
      if (stopped) { this.end(stopped); return; }
      this.keep(t, y);
    });
  }

  end(sentence) {
    this.ended = true;
    this.notes.push(sentence);
  }

  // Returns a sentence if a contact under dry friction comes to rest within a step.
  stoppedContact(t) {
    if (!this.model.contacts.length) return "";
    const [first, last] = this.model.outputs.sliding;
    const [before, after] = [this.reached, t].map(time => this.outputsAt([time]).outputs.slice(first, last));
    for (const {name, places} of this.model.contacts) {
      const product = places.reduce((sum, i) => sum + before[i] * after[i], 0);
      if (!(product > 0)) {
        return `Near t = ${shown(t)} the contact ${name} comes to rest. The page computes sliding only; ` +
          "da.simulate decides whether it sticks, and goes on.";
      }
    }
    return "";
  }

  // States and outputs at some times; valid until the next call. The motion must have reached the step before them.
  outputsAt(times) {
    const {machine, model} = this, {size} = machine;
    machine.p.set(this.p);
    machine.settings[RTOL] = model.rtol;
    machine.settings.set(this.atol, ATOL);
    times.forEach((t, k) => {
      const before = lastBefore(this.times, t);
      machine.before[k] = this.times.numbers[before];
      machine.statesBefore.set(this.states.at(before), k * size);
      machine.times[k] = t;
    });
    machine.sample(times.length);
    return machine;
  }

  // The reason why no step can be taken, from what the compiled code says about the last state.
  handOver() {
    const {machine, model} = this, y = this.states.last, t = this.reached, begin = `At t = ${shown(t)}`;
    if (!this.isWellConditioned(y, t)) return `${begin} ${NOT_SOLVABLE} ${GOES_ON}`;
    if (model.leftOut.length && !(machine.program("agree", y, t)[0] > AT_REST)) {
      const names = model.leftOut.join(", ");
      return `${begin} the constraints that were selected at the start no longer imply ${names}. ${GOES_ON}`;
    }
    if (this.isSingularAhead(y, t)) return `Just after t = ${shown(t)} ${NOT_SOLVABLE} ${GOES_ON}`;
    return `${begin} no step is short enough: a force or a constraint jumps or has a kink there. ${GOES_ON}`;
  }

  isWellConditioned(y, t) {
    return this.machine.program("accelerate", y, t)[this.model.n] > AT_REST;
  }

  // Whether the equations are not well conditioned a little ahead, along the present velocities.
  isSingularAhead(y, t) {
    const {n} = this.model, qdd = this.machine.program("accelerate", y, t).slice(0, n);
    return LOOKED_AHEAD.some(part => {
      const h = part * (this.t1 - this.t0);
      const ahead = Float64Array.from(y, (x, i) => x + h * (i < n ? y[n + i] : qdd[i - n]));
      return !this.isWellConditioned(ahead, t + h);
    });
  }
}
