// SPDX-License-Identifier: BSD-3-Clause
// The ledger: the work of the forces and the change of the energies, as bars and numbers.

// Work and energy that are rounding, relative to the largest energy of the motion; shown as zero.
const ENERGY_ROUNDING = 1e-13;

class LedgerTable {
  // `rows`: {label, kind}; kinds are the numbers of powers, "kinetic", "potential" and "audit".
  constructor(rows) {
    this.changed = -Infinity;  // when numbers were last shown
    this.rows = rows.map(row => ({...row, bar: make("i"), number: make("td", {className: "number"})}));
    for (const {label, bar, number} of this.rows) {
      const heading = make("th", {textContent: label, scope: "row"});
      const cell = make("td", {ariaHidden: "true"}, make("div", {className: "bar"}, bar));
      document.getElementById("ledger").append(make("tr", {}, heading, cell, number));
    }
  }

  clear() {
    for (const {bar, number} of this.rows) {
      bar.style.width = "0";
      number.textContent = "";
    }
  }

  // `values`: one number for each row; `scale`: the size of the energies from which they are differences. The audit has
  // no bar: it is rounding, and would be invisible.
  show(values, scale) {
    this.changed = performance.now();
    const rounding = ENERGY_ROUNDING * Math.max(...values.map(Math.abs), scale);
    values = values.map((value, k) => this.rows[k].kind !== "audit" && Math.abs(value) < rounding ? 0 : value);
    const largest = Math.max(...values.map(Math.abs), 1e-300);
    this.rows.forEach(({kind, bar, number}, k) => {
      const part = kind === "audit" ? 0 : values[k] / largest * 50;
      bar.style.left = `${part < 0 ? 50 + part : 50}%`;
      bar.style.width = `${Math.abs(part)}%`;
      bar.className = part < 0 ? "loss" : "";
      number.textContent = shown(values[k]);
    });
  }
}
