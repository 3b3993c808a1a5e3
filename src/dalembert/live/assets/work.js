// SPDX-License-Identifier: BSD-3-Clause
// The work of the forces along a motion, by quadrature within each of its steps.

// Nodes and weights of Gauss's quadrature of order 8 over the interval from 0 to 1, the order of the steps.
const [INNER, OUTER] = [-1, 1].map(sign => Math.sqrt(3 / 7 + sign * 2 / 7 * Math.sqrt(6 / 5)) / 2);
const GAUSS_NODES = [0.5 - OUTER, 0.5 - INNER, 0.5 + INNER, 0.5 + OUTER];
const GAUSS_WEIGHTS = [-1, 1, 1, -1].map(sign => (18 + sign * Math.sqrt(30)) / 72);

class Work {
  constructor(motion) {
    this.motion = motion;
    this.totals = new Rows(motion.model.powers);  // from the start to each step
    this.totals.add(new Float64Array(motion.model.powers));
  }

  get isComplete() { return this.totals.count >= this.motion.times.count; }

  // Adds the work within one more step.
  extend() {
    const {times} = this.motion, k = this.totals.count;
    this.totals.add(this.after(k - 1, times.at(k)[0]));
  }

  // The work of each force from the start to a time, or null if it has not been computed as far.
  until(t) {
    const k = lastBefore(this.motion.times, t);
    return k < this.totals.count ? this.after(k, t) : null;
  }

  // The work from the start to step k, and from there to a later time within the next step.
  after(k, t) {
    const {motion} = this, {model} = motion, begin = motion.times.at(k)[0], total = this.totals.at(k).slice();
    if (t <= begin) return total;
    const {outputs} = motion.outputsAt(GAUSS_NODES.map(node => begin + node * (t - begin)));
    const [first] = model.outputs.powers;
    GAUSS_WEIGHTS.forEach((weight, j) => {
      for (let i = 0; i < total.length; i++) {
        total[i] += (t - begin) * weight * outputs[j * model.outputLength + first + i];
      }
    });
    return total;
  }
}
