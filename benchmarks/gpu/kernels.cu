// SPDX-License-Identifier: BSD-3-Clause
// The limit: kernels by hand. One thread per member, its state in registers, all steps in one launch, structs of
// arrays in memory. Built by nvcc as a library for ctypes; built by g++ as plain C++, it runs on one core for tests.
#include "systems.cuh"

struct Numbers {
  double p[4];
};

// Runge and Kutta's method of order 4 for q'' = f(q, q'): the positions' stages need no memory of their own.
template <class System>
DEVICE void step(double *q, double *v, const double *p, double h) {
  constexpr int N = System::N;
  double a1[N], a[N], sum[N], at[N], speed[N];
  System::acceleration(q, v, p, a1);
  for (int i = 0; i < N; i++) {
    at[i] = fma(0.5 * h, v[i], q[i]);
    speed[i] = fma(0.5 * h, a1[i], v[i]);
  }
  System::acceleration(at, speed, p, a);
  for (int i = 0; i < N; i++) {
    sum[i] = a[i];
    at[i] = fma(0.25 * h * h, a1[i], at[i]);
    speed[i] = fma(0.5 * h, a[i], v[i]);
  }
  System::acceleration(at, speed, p, a);
  for (int i = 0; i < N; i++) {
    at[i] = fma(0.5 * h * h, sum[i], fma(h, v[i], q[i]));
    sum[i] += a[i];
    speed[i] = fma(h, a[i], v[i]);
  }
  System::acceleration(at, speed, p, a);
  for (int i = 0; i < N; i++) {
    q[i] = fma(h * h / 6, a1[i] + sum[i], fma(h, v[i], q[i]));
    v[i] = fma(h / 6, fma(2.0, sum[i], a1[i] + a[i]), v[i]);
  }
}

template <class System>
DEVICE void load(double *q, double *v, const double *y, long count, long member) {
  for (int i = 0; i < System::N; i++) q[i] = y[i * count + member];
  for (int i = 0; i < System::N; i++) v[i] = y[(System::N + i) * count + member];
  System::enter(q);
  System::enter(v);
}

template <class System>
DEVICE void store(double *q, double *v, double *y, long count, long member) {
  System::leave(q);
  System::leave(v);
  for (int i = 0; i < System::N; i++) y[i * count + member] = q[i];
  for (int i = 0; i < System::N; i++) y[(System::N + i) * count + member] = v[i];
}

template <class System, bool PROJECT>
DEVICE void motion(double *y, long count, long member, int steps, double h, const double *p) {
  double q[System::N], v[System::N];
  load<System>(q, v, y, count, member);
#pragma unroll 1
  for (int k = 0; k < steps; k++) {
    step<System>(q, v, p, h);
    if (PROJECT) System::project(q, v, p);
  }
  store<System>(q, v, y, count, member);
}

#ifdef __CUDACC__
#include <cuda_runtime.h>

template <class System, bool PROJECT, int BLOCK, int BLOCKS>
__global__ void __launch_bounds__(BLOCK, BLOCKS) kernel(double *y, long count, int steps, double h, Numbers numbers) {
  long member = blockIdx.x * (long)BLOCK + threadIdx.x;
  if (member < count) motion<System, PROJECT>(y, count, member, steps, h, numbers.p);
}

template <class System, bool PROJECT, int BLOCK, int BLOCKS>
static void launch(double *y, long count, int steps, double h, Numbers numbers) {
  kernel<System, PROJECT, BLOCK, BLOCKS><<<(count + BLOCK - 1) / BLOCK, BLOCK>>>(y, count, steps, h, numbers);
}

// Threads per block, and blocks to fit in a multiprocessor, which limits the registers of a thread.
template <class System, bool PROJECT>
static int choose(int choice, double *y, long count, int steps, double h, Numbers numbers) {
  switch (choice) {
    case 0: launch<System, PROJECT, 64, 1>(y, count, steps, h, numbers); return 0;
    case 1: launch<System, PROJECT, 128, 1>(y, count, steps, h, numbers); return 0;
    case 2: launch<System, PROJECT, 256, 1>(y, count, steps, h, numbers); return 0;
    case 3: launch<System, PROJECT, 128, 6>(y, count, steps, h, numbers); return 0;
    case 4: launch<System, PROJECT, 128, 4>(y, count, steps, h, numbers); return 0;
  }
  return 1;
}

// Runs on state `y` of the host, (2n, count), in place; `ms` receives the times of `repeats` launches after one to warm
// up. Returns 0 or CUDA's error.
template <class System, bool PROJECT>
static int run(int choice, double *y, long count, int steps, double h, Numbers numbers, int repeats, float *ms) {
  size_t bytes = 2 * System::N * count * sizeof(double);
  double *state = nullptr, *start = nullptr;
  cudaEvent_t began, ended;
  cudaEventCreate(&began);
  cudaEventCreate(&ended);
  cudaMalloc(&state, bytes);
  cudaMalloc(&start, bytes);
  cudaMemcpy(start, y, bytes, cudaMemcpyHostToDevice);
  int unknown = 0;
  for (int k = -1; k < repeats; k++) {
    cudaMemcpy(state, start, bytes, cudaMemcpyDeviceToDevice);
    cudaEventRecord(began);
    unknown = choose<System, PROJECT>(choice, state, count, k < 0 ? 1 : steps, h, numbers);
    cudaEventRecord(ended);
    cudaEventSynchronize(ended);
    if (k >= 0) cudaEventElapsedTime(ms + k, began, ended);
  }
  cudaMemcpy(y, state, bytes, cudaMemcpyDeviceToHost);
  cudaFree(state);
  cudaFree(start);
  cudaEventDestroy(began);
  cudaEventDestroy(ended);
  int failed = cudaGetLastError();
  return failed ? failed : -unknown;
}
#else
#include <chrono>

template <class System, bool PROJECT>
static int run(int, double *y, long count, int steps, double h, Numbers numbers, int repeats, float *ms) {
  auto began = std::chrono::steady_clock::now();
  for (long member = 0; member < count; member++) motion<System, PROJECT>(y, count, member, steps, h, numbers.p);
  std::chrono::duration<float, std::milli> taken = std::chrono::steady_clock::now() - began;
  for (int k = 0; k < repeats; k++) ms[k] = taken.count();
  return 0;
}
#endif

#define ENTRY(NAME, SYSTEM)                                                                                           \
  extern "C" int NAME(int projected, int choice, double *y, long count, int steps, double h, const double *p,         \
                      int repeats, float *ms) {                                                                       \
    Numbers numbers = {{p[0], p[1], p[2], p[3]}};                                                                     \
    return projected ? run<SYSTEM, true>(choice, y, count, steps, h, numbers, repeats, ms)                            \
                     : run<SYSTEM, false>(choice, y, count, steps, h, numbers, repeats, ms);                          \
  }

ENTRY(pendulum, Pendulum)
ENTRY(four_bar, FourBar)
ENTRY(disc, Disc)
