// SPDX-License-Identifier: BSD-3-Clause
// The functions of the C library that compiled systems call: those of Math, and those that Math lacks.

const MATH_NAMES = ["sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh",
  "atanh", "exp", "log", "pow", "floor", "ceil"];

const BERNOULLI = [1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156];
const STIRLING_FROM = 12;

// The error function by its power series; its terms do not cancel, because the factor exp(-x²) is taken out.
function erfSeries(x) {
  let term = x, sum = x;
  for (let k = 1; Math.abs(term) > 1e-17 * Math.abs(sum); k++) {
    term *= 2 * x * x / (2 * k + 1);
    sum += term;
  }
  return 2 / Math.sqrt(Math.PI) * Math.exp(-x * x) * sum;
}

// The complement by its continued fraction, for x > 2, evaluated from its end.
function erfcFraction(x) {
  let tail = 0;
  for (let k = 120; k > 0; k--) tail = k / 2 / (x + tail);
  return Math.exp(-x * x) / Math.sqrt(Math.PI) / (x + tail);
}

function erf(x) {
  if (Math.abs(x) < 2) return x === 0 ? x : erfSeries(x);
  return x > 0 ? 1 - erfcFraction(x) : erfcFraction(-x) - 1;
}

function erfc(x) {
  return x > 2 ? erfcFraction(x) : 1 - erf(x);
}

// The logarithm of |Γ|: by Stirling's series for large x, by the recurrence and the reflection for others.
function lgamma(x) {
  if (x < 0.5) return Math.log(Math.abs(Math.PI / Math.sin(Math.PI * x))) - lgamma(1 - x);
  let product = 1, z = x;
  for (; z < STIRLING_FROM; z++) product *= z;
  const series = BERNOULLI.reduce((sum, factor, k) => sum + factor / z ** (2 * k + 1), 0);
  return (z - 0.5) * Math.log(z) - z + Math.log(2 * Math.PI) / 2 + series - Math.log(product);
}

function tgamma(x) {
  if (x < 0.5) return Math.PI / (Math.sin(Math.PI * x) * tgamma(1 - x));
  if (Number.isInteger(x) && x < 20) return Array.from({length: x - 1}, (_, k) => k + 1).reduce((a, b) => a * b, 1);
  return Math.exp(lgamma(x));
}

// As in C, a number that is NaN is ignored.
function fmin(a, b) { return Number.isNaN(a) ? b : Number.isNaN(b) ? a : Math.min(a, b); }
function fmax(a, b) { return Number.isNaN(a) ? b : Number.isNaN(b) ? a : Math.max(a, b); }

const LIBRARY = {
  ...Object.fromEntries(MATH_NAMES.map(name => [name, Math[name]])),
  ...Object.fromEntries(["log10", "log2", "cbrt"].map(name => [name, Math[name]])),
  exp2: x => 2 ** x, exp10: x => 10 ** x, ldexp: (x, k) => x * 2 ** k,
  erf, erfc, lgamma, tgamma, fmin, fmax,
};
