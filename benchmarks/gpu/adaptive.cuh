// SPDX-License-Identifier: BSD-3-Clause
// Adaptive steps for q'' = f(q, q'), each member its own. Only accelerations are kept: the velocities of the stages are
// sums of them, so that the positions need them with coefficients A A, b A and e A.
#pragma once
#include "systems.cuh"
#include "tableaus.cuh"

template <class Method>
struct Coefficients {
  static constexpr int S = Method::S;
  Method of{};
  double c[S]{}, aa[S][S]{}, ba[S]{}, ea[S]{}, coarse_a[S]{};

  constexpr Coefficients() {
    for (int i = 0; i < S; i++)
      for (int j = 0; j < S; j++) {
        c[i] += of.a[i][j];
        ba[j] += of.b[i] * of.a[i][j];
        ea[j] += of.e[i] * of.a[i][j];
        coarse_a[j] += of.coarse[i] * of.a[i][j];
        for (int k = 0; k < S; k++) aa[i][k] += of.a[i][j] * of.a[j][k];
      }
    // the last stage of the estimates is the new state itself
    for (int j = 0; j < S; j++) {
      ea[j] += of.e[S] * of.b[j];
      coarse_a[j] += of.coarse[S] * of.b[j];
    }
  }
};

DEVICE double scaled(double change, double value, double other, double rtol, double atol) {
  return change * reciprocal(fma(rtol, fmax(fabs(value), fabs(other)), atol));
}

// One try of a step: the new state, its acceleration in the place S of k, and the error over the tolerance.
template <class System, class Method>
DEVICE double attempt(const double *q, const double *v, double k[][System::N], const double *p, double h, double rtol,
                      double atol, double *q1, double *v1) {
  constexpr int N = System::N, S = Method::S;
  constexpr Coefficients<Method> T{};
#pragma unroll
  for (int i = 1; i < S; i++) {
#pragma unroll
    for (int x = 0; x < N; x++) {
      double turn = 0, move = 0;
#pragma unroll
      for (int j = 0; j < i; j++) {
        if (T.of.a[i][j] != 0) turn = fma(T.of.a[i][j], k[j][x], turn);
        if (T.aa[i][j] != 0) move = fma(T.aa[i][j], k[j][x], move);
      }
      v1[x] = fma(h, turn, v[x]);
      q1[x] = fma(h, fma(h, move, T.c[i] * v[x]), q[x]);
    }
    System::acceleration(q1, v1, p, k[i]);
  }
#pragma unroll
  for (int x = 0; x < N; x++) {
    double turn = 0, move = 0;
#pragma unroll
    for (int j = 0; j < S; j++) {
      if (T.of.b[j] != 0) turn = fma(T.of.b[j], k[j][x], turn);
      if (T.ba[j] != 0) move = fma(T.ba[j], k[j][x], move);
    }
    v1[x] = fma(h, turn, v[x]);
    q1[x] = fma(h, fma(h, move, v[x]), q[x]);
  }
  System::acceleration(q1, v1, p, k[S]);
  double fine = 0, coarse = 0;
#pragma unroll
  for (int x = 0; x < N; x++) {
    double ev = 0, eq = 0, cv = 0, cq = 0;
#pragma unroll
    for (int j = 0; j <= S; j++) {
      if (T.of.e[j] != 0) ev = fma(T.of.e[j], k[j][x], ev);
      if (j < S && T.ea[j] != 0) eq = fma(T.ea[j], k[j][x], eq);
      if (T.of.coarse[j] != 0) cv = fma(T.of.coarse[j], k[j][x], cv);
      if (j < S && T.coarse_a[j] != 0) cq = fma(T.coarse_a[j], k[j][x], cq);
    }
    ev = scaled(ev * h, v[x], v1[x], rtol, atol);
    eq = scaled(eq * h * h, q[x], q1[x], rtol, atol);
    fine = fma(ev, ev, fma(eq, eq, fine));
    if (Method::order == 8) {
      cv = scaled(cv * h, v[x], v1[x], rtol, atol);
      cq = scaled(cq * h * h, q[x], q1[x], rtol, atol);
      coarse = fma(cv, cv, fma(cq, cq, coarse));
    }
  }
  double mean = 1.0 / (2 * N);
  if (Method::order == 8) return fine == 0 ? 0 : fine * sqrt(mean / fma(0.01, coarse, fine));
  return sqrt(fine * mean);
}

template <class System, class Method, bool PROJECT>
DEVICE void adaptive(double *q, double *v, const double *p, double end, double rtol, double atol) {
  constexpr int N = System::N, S = Method::S;
  double k[S + 1][N], q1[N], v1[N], t = 0, h = 0.01;
  System::acceleration(q, v, p, k[0]);
#pragma unroll 1
  for (int tries = 0; t < end && tries < 100000; tries++) {
    bool last = t + h >= end;
    if (last) h = end - t;
    double error = attempt<System, Method>(q, v, k, p, h, rtol, atol, q1, v1);
    // the exponent needs no digits: single precision
    double factor = fmin(5.0, fmax(0.2, 0.9 * powf((float)fmax(error, 1e-10), -1.0f / Method::order)));
    if (error <= 1) {
      t = last ? end : t + h;
      if (PROJECT) System::project(q1, v1, p);
#pragma unroll
      for (int x = 0; x < N; x++) {
        q[x] = q1[x];
        v[x] = v1[x];
        k[0][x] = k[S][x];
      }
      if (PROJECT) System::acceleration(q, v, p, k[0]);
    } else {
      factor = fmin(factor, 1.0);
    }
    h *= factor;
  }
}
