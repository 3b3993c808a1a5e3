// SPDX-License-Identifier: BSD-3-Clause
// Rows of numbers that grow, and numbers as text.

// Rows of numbers to which more can be added.
class Rows {
  constructor(width) {
    this.width = width;
    this.count = 0;
    this.numbers = new Float64Array(64 * width);
  }

  add(row) {
    const end = (this.count + 1) * this.width;
    if (end > this.numbers.length) {
      const larger = new Float64Array(2 * end);
      larger.set(this.numbers);
      this.numbers = larger;
    }
    this.numbers.set(row, this.count++ * this.width);
  }

  at(k) { return this.numbers.subarray(k * this.width, (k + 1) * this.width); }
  get last() { return this.at(this.count - 1); }
}

// The number of the last of some increasing times that is not later than t; -1 if there is none.
function lastBefore(rows, t) {
  let low = -1, high = rows.count;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (rows.numbers[middle] <= t) low = middle; else high = middle;
  }
  return low;
}

// A number for the reader, with the minus sign of print.
function shown(x, digits = 4) {
  if (x === 0) return "0";
  const size = Math.abs(x);
  const isExtreme = size >= 1e6 || size < 1e-3;
  const text = isExtreme ? x.toExponential(Math.max(digits - 2, 0)) : String(Number(x.toPrecision(digits)));
  return text.replace(/-/g, "−").replace("e+", "e");
}
