// SPDX-License-Identifier: BSD-3-Clause
// The accelerations of three systems, solved by hand, and the shortest way back to their constraints.
//
// All are exact solutions of M q'' = Q + A^T lambda, A q'' = b at any state, on the constraints or not, so that they
// take the same steps as a general program. Also plain C++, so that they can be tested without a GPU.
#pragma once
#include <cmath>

#ifdef __CUDACC__
#define DEVICE __device__ __forceinline__
#else
#define DEVICE inline
#endif

// One cubic step from 20 bits; no special cases: what is divided by is never zero here.
DEVICE double reciprocal(double x) {
#ifdef __CUDA_ARCH__
  double r;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(x));
#else
  double r = 1.0f / (float)x;
#endif
  double e = fma(-x, r, 1.0);
  e = fma(e, e, e);
  return fma(r, e, r);
}

// Angles stay moderate, so that two parts of pi/2 are enough and no branch is needed. Polynomials of fdlibm.
DEVICE void sine_cosine(double x, double &s, double &c) {
  double k = rint(x * 0.6366197723675814);
  double y = fma(-k, 6.123233995736766e-17, fma(-k, 1.5707963267948966, x));
  double z = y * y;
  double p = fma(z, fma(z, fma(z, fma(z, fma(z, 1.58969099521155010221e-10, -2.50507602534068634195e-08),
      2.75573137070700676789e-06), -1.98412698298579493134e-04), 8.33333333332248946124e-03),
      -1.66666666666666324348e-01);
  double r = fma(z, fma(z, fma(z, fma(z, fma(z, -1.13596475577881948265e-11, 2.08757232129817482790e-09),
      -2.75573143513906633035e-07), 2.48015872894767294178e-05), -1.38888888888741095749e-03),
      4.16666666666666019037e-02);
  double sine = fma(y * z, p, y), cosine = fma(z * z, r, fma(z, -0.5, 1.0));
  int quarter = (int)k;
  s = (quarter & 1) ? cosine : sine;
  c = (quarter & 1) ? sine : cosine;
  if (quarter & 2) s = -s;
  if ((quarter + 1) & 2) c = -c;
}

// Two equal point masses on rods of equal length: x0 y0 x1 y1. Parameters g, l. Inside, the second mass is counted from
// the first: Runge and Kutta's steps are the same in all coordinates that are linear in one another.
struct Pendulum {
  static constexpr int N = 4;

  static DEVICE void enter(double *x) {
    x[2] -= x[0];
    x[3] -= x[1];
  }

  static DEVICE void leave(double *x) {
    x[2] += x[0];
    x[3] += x[1];
  }

  // The pull of both rods by the 2 x 2 Schur complement: r mu1 - d mu2 for the first mass, d mu2 for the second.
  static DEVICE void pull(const double *q, double first, double second, double *out) {
    double s11 = fma(q[0], q[0], q[1] * q[1]);
    double s12 = fma(q[0], q[2], q[1] * q[3]);
    double half = fma(q[2], q[2], q[3] * q[3]), s22 = half + half;
    double inverse = reciprocal(fma(s11, s22, -s12 * s12));
    double mu1 = fma(s22, first, s12 * second) * inverse;
    double mu2 = fma(s11, second, s12 * first) * inverse;
    double px = q[2] * mu2, py = q[3] * mu2;
    out[0] = fma(q[0], mu1, -px);
    out[1] = fma(q[1], mu1, -py);
    out[2] = px - out[0];
    out[3] = py - out[1];
  }

  static DEVICE void acceleration(const double *q, const double *v, const double *p, double *a) {
    double first = fma(p[0], q[1], -fma(v[0], v[0], v[1] * v[1]));
    double second = -fma(v[2], v[2], v[3] * v[3]);
    pull(q, first, second, a);
    a[1] -= p[0];
  }

  static DEVICE void project(double *q, double *v, const double *p) {
    double change[4], square = p[1] * p[1];
    for (int k = 0; k < 2; k++) {
      double first = 0.5 * (square - fma(q[0], q[0], q[1] * q[1]));
      double second = 0.5 * (square - fma(q[2], q[2], q[3] * q[3]));
      pull(q, first, second, change);
      for (int i = 0; i < 4; i++) q[i] += change[i];
    }
    pull(q, -fma(q[0], v[0], q[1] * v[1]), -fma(q[2], v[2], q[3] * v[3]), change);
    for (int i = 0; i < 4; i++) v[i] += change[i];
  }
};

// Three uniform bars in a loop, each x y theta: crank, coupler, rocker. Eight constraints leave one direction of
// motion, so that the 9 x 9 and 8 x 8 equations come down to a loop of two angles and one scalar equation along it.
struct FourBar {
  static constexpr int N = 9;
  static DEVICE void enter(double *) {}
  static DEVICE void leave(double *) {}
  static constexpr double l1 = 1.0, l2 = 2.5, l3 = 2.0, base = 2.5, g = 9.81;
  static constexpr double m1 = l1, m2 = l2, m3 = l3, h1 = l1 / 2, h2 = l2 / 2, h3 = l3 / 2;
  static constexpr double j1 = m1 * l1 * l1 / 12 + m1 * h1 * h1 + m2 * l1 * l1;
  static constexpr double j2 = m2 * l2 * l2 / 12 + m2 * h2 * h2, j3 = m3 * l3 * l3 / 12 + m3 * h3 * h3;
  static constexpr double j12 = m2 * l1 * h2;

  struct Pose {
    double c1, s1, c2, s2, c3, s3;
  };

  static DEVICE Pose pose(const double *q) {
    Pose u;
    sine_cosine(q[2], u.s1, u.c1);
    sine_cosine(q[5], u.s2, u.c2);
    sine_cosine(q[8], u.s3, u.c3);
    return u;
  }

  // Turns t1, t2, t3 that close the loop, l1 t1 n1 + l2 t2 n2 - l3 t3 n3 = (gx, gy), and of these the ones that meet
  // the scalar equation: the inertia along the loop times t1 equals `push` + `lever` k2 + `third` k3 less what the
  // given part of the motion does, with k2 and k3 the turns of coupler and rocker per turn of the crank.
  static DEVICE void turns(const Pose &u, double gx, double gy, double push, double lever, double third, double *t) {
    double s32 = fma(u.c2, u.s3, -u.s2 * u.c3);
    double s31 = fma(u.c1, u.s3, -u.s1 * u.c3);
    double s21 = fma(u.c1, u.s2, -u.s1 * u.c2);
    double c21 = fma(u.c1, u.c2, u.s1 * u.s2);
    // all times sin(theta3 - theta2): one reciprocal serves both divisions
    double k2 = -l1 / l2 * s31, k3 = -l1 / l3 * s21;
    double g2 = fma(gx, u.c3, gy * u.s3) * (1 / l2), g3 = fma(gx, u.c2, gy * u.s2) * (1 / l3);
    double across = j12 * c21 * s32;
    double inertia = fma(j1 * s32, s32, fma(j2 * k2, k2, fma(j3 * k3, k3, 2 * across * k2)));
    double moment = s32 * fma(push, s32, fma(lever, k2, third * k3));
    moment -= fma(j2 * k2, g2, fma(j3 * k3, g3, across * g2));
    double inverse = reciprocal(s32 * inertia);
    t[0] = moment * s32 * inverse;
    double rest = inertia * inverse;
    t[1] = fma(k2, t[0], g2) * rest;
    t[2] = fma(k3, t[0], g3) * rest;
  }

  static DEVICE void acceleration(const double *q, const double *v, const double *, double *a) {
    Pose u = pose(q);
    double w1 = v[2] * v[2], w2 = v[5] * v[5], w3 = v[8] * v[8];
    double gx = fma(l1 * w1, u.c1, fma(l2 * w2, u.c2, -l3 * w3 * u.c3));
    double gy = fma(l1 * w1, u.s1, fma(l2 * w2, u.s2, -l3 * w3 * u.s3));
    double s21 = j12 * fma(u.c1, u.s2, -u.s1 * u.c2);
    double push = fma(s21, w2, -g * (m1 * h1 + m2 * l1) * u.c1);
    double lever = fma(-s21, w1, -g * m2 * h2 * u.c2);
    double third = -g * m3 * h3 * u.c3;
    double t[3];
    turns(u, gx, gy, push, lever, third, t);
    // x'' and y'' of the bars' ends: t n - w u
    double ax = h1 * fma(-t[0], u.s1, -w1 * u.c1), ay = h1 * fma(t[0], u.c1, -w1 * u.s1);
    a[0] = ax;
    a[1] = ay;
    a[2] = t[0];
    a[3] = fma(h2, fma(-t[1], u.s2, -w2 * u.c2), ax + ax);
    a[4] = fma(h2, fma(t[1], u.c2, -w2 * u.s2), ay + ay);
    a[5] = t[1];
    a[6] = h3 * fma(-t[2], u.s3, -w3 * u.c3);
    a[7] = h3 * fma(t[2], u.c3, -w3 * u.s3);
    a[8] = t[2];
  }

  // Add the shortest change x whose residuals are the negatives of o (bearing), p (crank pin), r (rocker pin), d (base).
  static DEVICE void meet(const Pose &u, const double *o, const double *p, const double *r, const double *d, double *x) {
    double e1x = -o[0], e1y = -o[1], e2x = e1x - p[0], e2y = e1y - p[1], e3x = -d[0], e3y = -d[1];
    double push = -m1 * h1 * fma(-u.s1, e1x, u.c1 * e1y) - m2 * l1 * fma(-u.s1, e2x, u.c1 * e2y);
    double lever = -m2 * h2 * fma(-u.s2, e2x, u.c2 * e2y);
    double third = -m3 * h3 * fma(-u.s3, e3x, u.c3 * e3y);
    double t[3];
    turns(u, e3x - e2x - r[0], e3y - e2y - r[1], push, lever, third, t);
    x[0] += fma(-h1 * t[0], u.s1, e1x);
    x[1] += fma(h1 * t[0], u.c1, e1y);
    x[2] += t[0];
    x[3] += fma(-l1 * t[0], u.s1, fma(-h2 * t[1], u.s2, e2x));
    x[4] += fma(l1 * t[0], u.c1, fma(h2 * t[1], u.c2, e2y));
    x[5] += t[1];
    x[6] += fma(-h3 * t[2], u.s3, e3x);
    x[7] += fma(h3 * t[2], u.c3, e3y);
    x[8] += t[2];
  }

  static DEVICE void project(double *q, double *v, const double *) {
    for (int k = 0; k < 2; k++) {
      Pose u = pose(q);
      double ax = h1 * u.c1, ay = h1 * u.s1, bx = h2 * u.c2, by = h2 * u.s2, cx = h3 * u.c3, cy = h3 * u.s3;
      double o[2] = {q[0] - ax, q[1] - ay}, p[2] = {q[3] - bx - q[0] - ax, q[4] - by - q[1] - ay};
      double r[2] = {q[3] + bx - q[6] - cx, q[4] + by - q[7] - cy}, d[2] = {q[6] - cx - base, q[7] - cy};
      meet(u, o, p, r, d, q);
    }
    Pose u = pose(q);
    double ax = -h1 * v[2] * u.s1, ay = h1 * v[2] * u.c1, bx = -h2 * v[5] * u.s2, by = h2 * v[5] * u.c2;
    double cx = -h3 * v[8] * u.s3, cy = h3 * v[8] * u.c3;
    double o[2] = {v[0] - ax, v[1] - ay}, p[2] = {v[3] - bx - v[0] - ax, v[4] - by - v[1] - ay};
    double r[2] = {v[3] + bx - v[6] - cx, v[4] + by - v[7] - cy}, d[2] = {v[6] - cx, v[7] - cy};
    meet(u, o, p, r, d, v);
  }
};

// A thin uniform disc that rolls: x y of its centre, yaw, lean, turn. Parameters 4g/5r, r. In axes that yaw and lean
// with the disc its equations are known in closed form.
struct Disc {
  static constexpr int N = 5;
  static DEVICE void enter(double *) {}
  static DEVICE void leave(double *) {}

  static DEVICE void acceleration(const double *q, const double *v, const double *p, double *a) {
    double r = p[1], sy, cy, sl, cl;
    sine_cosine(q[2], sy, cy);
    sine_cosine(q[3], sl, cl);
    double yaw = v[2], lean = v[3];
    double tilt = yaw * sl, up = yaw * cl, axle = v[4] + tilt;
    double a_lean = fma(1.2 * axle, up, fma(-0.2 * tilt, up, p[0] * sl));
    double a_axle = -2.0 / 3.0 * lean * up;
    double a_yaw = lean * (2 * (tilt - axle)) * reciprocal(cl);
    double turning = lean * up;
    double ahead = a_axle + turning, aside = fma(a_lean, cl, -fma(axle, yaw, lean * lean * sl));
    a[0] = r * fma(ahead, cy, aside * sy);
    a[1] = r * fma(ahead, sy, -aside * cy);
    a[2] = a_yaw;
    a[3] = a_lean;
    a[4] = fma(-a_yaw, sl, a_axle - turning);
  }

  // In these axes the mass metric is diagonal: rolling ahead and leaning sideways are put right one by one.
  static DEVICE void project(double *q, double *v, const double *p) {
    double r = p[1], sy, cy, sl, cl;
    sine_cosine(q[2], sy, cy);
    sine_cosine(q[3], sl, cl);
    double along = fma(v[0], cy, v[1] * sy) - r * fma(v[2], sl, v[4]);
    double aside = fma(v[0], sy, -v[1] * cy) - r * v[3] * cl;
    double inertia = fma(sl, sl, 0.25), share = aside * reciprocal(fma(cl, cl, inertia));
    double back = -along * (1.0 / 3.0), across = -share * inertia;
    v[0] += fma(back, cy, across * sy);
    v[1] += fma(back, sy, -across * cy);
    v[3] += cl * share * reciprocal(r);
    v[4] += 2.0 / 3.0 * along * reciprocal(r);
  }
};
