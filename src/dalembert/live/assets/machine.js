// SPDX-License-Identifier: BSD-3-Clause
// The compiled system: its functions, and the memory that they share with this script.

const STACK_BYTES = 1 << 20;  // below it the data of the module, if there are any
const PAGE_BYTES = 1 << 16;
const ROOM = 256;  // most steps in one call
const SAMPLES = 64;  // most outputs in one call
const [MORE, FINISHED, HAND_OVER] = [0, 1, 2];  // the endings of a batch of steps
const [RTOL, LEAST_STEP, MOST_STEP, ATOL] = [0, 1, 2, 3];  // places in the settings

function decoded(text) {
  return Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
}

// The distance from a number to the next larger one.
function spacing(x) {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, Math.abs(x));
  view.setBigUint64(0, view.getBigUint64(0) + 1n);
  return view.getFloat64(0) - Math.abs(x);
}

class Machine {
  constructor(model) {
    this.model = model;
    this.size = 2 * model.n;
    const one = this.size + model.parameters.length + ATOL + this.size + model.workspace + 4 + model.scratch;
    const doubles = one + ROOM * (1 + this.size) + SAMPLES * (3 + 2 * this.size + model.outputLength);
    this.memory = new WebAssembly.Memory({initial: Math.ceil((STACK_BYTES + 8 * doubles) / PAGE_BYTES)});
    this.nextPlace = STACK_BYTES;
    this.y = this.array(this.size);
    this.p = this.array(model.parameters.length);
    this.settings = this.array(ATOL + this.size);
    this.work = this.array(model.workspace);
    this.clock = this.array(3);  // time, step to try, number of rejected steps
    this.found = this.array(model.scratch);
    this.stepTimes = this.array(ROOM);
    this.stepStates = this.array(ROOM * this.size);
    this.before = this.array(SAMPLES);
    this.statesBefore = this.array(SAMPLES * this.size);
    this.times = this.array(SAMPLES);
    this.states = this.array(SAMPLES * this.size);
    this.outputs = this.array(SAMPLES * model.outputLength);
    this.validity = this.array(SAMPLES);
  }

  static async create(model) {
    const machine = new Machine(model);
    const stack = new WebAssembly.Global({value: "i32", mutable: true}, STACK_BYTES);
    const env = {__linear_memory: machine.memory, __stack_pointer: stack, ...LIBRARY};
    machine.functions = (await WebAssembly.instantiate(decoded(model.binary), {env})).instance.exports;
    return machine;
  }

  array(count) {
    const found = new Float64Array(this.memory.buffer, this.nextPlace, count);
    this.nextPlace += 8 * count;
    return found;
  }

  // Returns the outputs of a program of the state y at a time; they are overwritten by the next call.
  program(name, y, t) {
    this.y.set(y);
    this.functions[name](this.y.byteOffset, t, this.p.byteOffset, this.found.byteOffset);
    return this.found;
  }

  // Sets the tolerances and the bounds of the step for an integration from t to end.
  prepare(t, end, rtol, atol, longest) {
    this.settings[RTOL] = rtol;
    this.settings[LEAST_STEP] = Math.max(4 * spacing(t), 1e-18 * (end - t));
    this.settings[MOST_STEP] = longest;
    this.settings.set(atol, ATOL);
  }

  // Takes up to `room` steps; returns their number, the ending, the step to try next and the number of rejected steps.
  stepBatch(y, t, end, h, room) {
    this.y.set(y);
    this.clock.set([t, h, 0]);
    const at = array => array.byteOffset, clock = at(this.clock);
    const code = Number(this.functions.step_batch(
      at(this.y), clock, end, clock + 8, at(this.p), at(this.settings), BigInt(room),
      at(this.stepTimes), at(this.stepStates), clock + 16, at(this.work)));
    return {taken: Math.floor(code / 3), ending: code % 3, h: this.clock[1], rejected: this.clock[2]};
  }

  // Computes states and outputs at the first `count` times, each reached by one step from the state before it.
  sample(count) {
    const at = array => array.byteOffset;
    this.functions.sample(
      BigInt(count), at(this.before), at(this.statesBefore), at(this.times), at(this.p), at(this.settings),
      at(this.states), at(this.outputs), at(this.validity), at(this.work));
  }
}
