// SPDX-License-Identifier: BSD-3-Clause
// Division of the time span at jumps and onsets of explicit functions of time, as `da.simulate` divides it.
// An integrator evaluates a function of time only at the nodes of its steps: it could miss a short pulse or a jump.

const CELLS = 16384;  // intervals between samples
const JUMP = 1e-4;  // least change between samples, relative to the range of the function, that may be a jump
const STEEP = 8;  // least ratio of such a change to the smaller one beside it
const KEPT = 1e-2;  // part of the change that must remain between adjacent numbers for it to be a jump
const LEAST_TIME = 1e-290;  // the first time after a jump at zero
const JUMP_WIDTHS = [1, 4, 16, 64, 256];  // distances from a jump, in last places, at which its two sides are sought
const ISOLATED = 1e-6;  // change over such a distance, relative to the values, that no continuous function shows
const QUIET = 1e-8, QUIET_FRACTION = 1e-4, QUIET_CELLS = 8;  // what counts as constant or linear, and for how long
const ONSET_CELLS = 64, ONSET_STEP = 4;  // intervals after an onset with short steps, and their length in intervals
const MOST_EVENTS = 1000;  // more of them than this, and the error estimate sees the changes without help

// Returns spans {start, end, longest}: `functions(t)` are the values at one time, or null if none has such events.
function segmentsOf(functions, t0, t1) {
  if (functions === null) return [{start: t0, end: t1, longest: Infinity}];
  const times = Float64Array.from({length: CELLS + 1}, (_, k) => k === CELLS ? t1 : t0 + k * ((t1 - t0) / CELLS));
  const columns = changingColumns(functions, times);
  const jumps = allJumps(functions, times, columns);
  const near = 3 * (t1 - t0) / CELLS;  // a jump is an event already, and no onset as well
  const onsets = allOnsets(times, columns).filter(t => !jumps.some(([jump]) => Math.abs(t - jump) <= near));
  return divided(t0, t1, jumps, onsets);
}

// Returns the functions that change, each as {place, range, values}: its values at all times, relative to its range.
function changingColumns(functions, times) {
  const count = functions(times[0]).length;
  const columns = Array.from({length: count}, (_, place) => ({place, values: new Float64Array(times.length)}));
  times.forEach((t, k) => {
    const row = functions(t);
    for (const {place, values} of columns) values[k] = Number.isFinite(row[place]) ? row[place] : 0;
  });
  for (const column of columns) {
    column.range = column.values.reduce((a, b) => Math.max(a, b)) - column.values.reduce((a, b) => Math.min(a, b));
    if (column.range > 0) column.values = column.values.map(v => v / column.range);
  }
  return columns.filter(column => column.range > 0);
}

function allJumps(functions, times, columns) {
  const cells = [];
  for (const {place, range, values} of columns) {
    const change = k => k < 1 || k >= values.length ? 0 : Math.abs(values[k] - values[k - 1]);
    for (let k = 1; k < values.length; k++) {
      if (change(k) > Math.max(JUMP, STEEP * Math.min(change(k - 1), change(k + 1)))) {
        cells.push({k, size: change(k), value: t => (functions(t)[place] || 0) / range});
      }
    }
  }
  if (cells.length > MOST_EVENTS) return [];
  const found = cells.map(({k, size, value}) => located(value, times[k - 1], times[k], size));
  const places = columns.map(({place}) => place);
  const pairs = found.filter(pair => pair !== null)
    .map(([left, right]) => [settled(functions, places, left, -1), settled(functions, places, right, 1)])
    .sort((a, b) => a[0] - b[0]);
  return pairs.filter((pair, i) => i === 0 || pair[0] !== pairs[i - 1][0] || pair[1] !== pairs[i - 1][1]);
}

// Returns the adjacent numbers between which a function jumps, by bisection towards the larger change, or null.
function located(value, left, right, size) {
  let low = value(left), high = value(right);
  for (let middle = left + (right - left) / 2; middle > left && middle < right; middle = left + (right - left) / 2) {
    const found = value(middle);
    if (Math.abs(high - found) > Math.abs(found - low)) [left, low] = [middle, found];
    else [right, high] = [middle, found];
  }
  if (left === 0 && right < LEAST_TIME) right = LEAST_TIME;
  return Math.abs(high - low) > KEPT * size ? [left, right] : null;
}

// Returns a time, moved to a side (-1 or 1) where a function has a value that differs from those on both sides of it.
function settled(functions, places, t, side) {
  const unit = Math.max(spacing(t), LEAST_TIME), here = Array.from(functions(t));
  for (const distance of JUMP_WIDTHS) {
    const [before, after] = [-1, 1].map(sign => Array.from(functions(t + sign * distance * unit)));
    const isIsolated = place => {
      const sides = [before[place], after[place]], value = Number.isFinite(here[place]) ? here[place] : 0;
      if (!sides.every(Number.isFinite)) return false;  // where a function ends, there is no other side
      const least = ISOLATED * Math.max(Math.abs(value), ...sides.map(Math.abs));
      return sides.every(other => Math.abs(other - value) > least);
    };
    if (places.some(isIsolated)) return t + side * distance * unit;
  }
  return t;
}

// Returns the times at which a function begins to change after having been constant or linear.
function allOnsets(times, columns) {
  const found = new Set();
  for (const {values} of columns) {
    const second = Float64Array.from({length: values.length - 2}, (_, k) =>
      Math.abs(values[k + 2] - 2 * values[k + 1] + values[k]));
    let largest = 0, bend = 0;
    for (const v of values) largest = Math.max(largest, Math.abs(v));
    for (const v of second) bend = Math.max(bend, v);
    const quiet = Math.min(QUIET, QUIET_FRACTION * bend) + 16 * spacing(largest);
    let last = -1;
    second.forEach((v, k) => {
      if (!(v > quiet)) return;
      if (k - last > QUIET_CELLS) found.add(times[k]);
      last = k;
    });
  }
  return found.size <= MOST_EVENTS ? [...found].sort((a, b) => a - b) : [];
}

function divided(t0, t1, jumps, onsets) {
  const cell = (t1 - t0) / CELLS;
  const short = onsets.map(start => [start, Math.min(start + ONSET_CELLS * cell, t1)]);
  const ends = new Map([[t0, t0], ...short.flat().map(t => [t, t]), ...jumps]);
  const starts = [...ends.keys()].filter(t => t0 <= t && t < t1).sort((a, b) => a - b);
  const found = [];
  starts.forEach((here, i) => {
    const start = ends.get(here), end = i + 1 < starts.length ? starts[i + 1] : t1;
    const isShort = short.some(([a, b]) => a <= start && start < b);
    if (start < end) found.push({start, end, longest: isShort ? ONSET_STEP * cell : Infinity});
  });
  return found;
}
