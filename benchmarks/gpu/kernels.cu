// SPDX-License-Identifier: BSD-3-Clause
// The limit: kernels by hand. One thread per member, its state in registers, all steps in one launch, structs of
// arrays in memory. Built by nvcc as a library for ctypes; built by g++ as plain C++, it runs on one core for tests.
#include "adaptive.cuh"

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

template <class System, class Method, bool PROJECT>
DEVICE void adaptive_motion(double *y, long count, long member, double end, double rtol, double atol, const double *p) {
  double q[System::N], v[System::N];
  load<System>(q, v, y, count, member);
  adaptive<System, Method, PROJECT>(q, v, p, end, rtol, atol);
  store<System>(q, v, y, count, member);
}

#ifdef __CUDACC__
#include <cuda_runtime.h>

template <class System, bool PROJECT, int BLOCK, int BLOCKS>
__global__ void __launch_bounds__(BLOCK, BLOCKS) kernel(double *y, long count, int steps, double h, Numbers numbers) {
  long member = blockIdx.x * (long)BLOCK + threadIdx.x;
  if (member < count) motion<System, PROJECT>(y, count, member, steps, h, numbers.p);
}

template <class System, class Method, bool PROJECT, int BLOCK>
__global__ void __launch_bounds__(BLOCK)
    adaptive_kernel(double *y, long count, double end, double rtol, double atol, Numbers numbers) {
  long member = blockIdx.x * (long)BLOCK + threadIdx.x;
  if (member < count) adaptive_motion<System, Method, PROJECT>(y, count, member, end, rtol, atol, numbers.p);
}

template <class System, bool PROJECT, int BLOCK, int BLOCKS>
static void launch(double *y, long count, int steps, double h, Numbers numbers) {
  kernel<System, PROJECT, BLOCK, BLOCKS><<<(count + BLOCK - 1) / BLOCK, BLOCK>>>(y, count, steps, h, numbers);
}

// Threads per block, and blocks to fit in a multiprocessor, which limits the registers of a thread.
template <class System, bool PROJECT>
static void fixed(int choice, double *y, long count, int steps, double h, Numbers numbers) {
  switch (choice) {
    case 0: return launch<System, PROJECT, 64, 1>(y, count, steps, h, numbers);
    case 1: return launch<System, PROJECT, 128, 1>(y, count, steps, h, numbers);
    case 2: return launch<System, PROJECT, 256, 1>(y, count, steps, h, numbers);
    case 3: return launch<System, PROJECT, 128, 6>(y, count, steps, h, numbers);
    case 4: return launch<System, PROJECT, 128, 4>(y, count, steps, h, numbers);
  }
}

template <class System, bool PROJECT>
static void varied(int choice, double *y, long count, double end, double rtol, double atol, Numbers numbers) {
  constexpr int BLOCK = 64;
  long blocks = (count + BLOCK - 1) / BLOCK;
  if (choice == 0) adaptive_kernel<System, Order5, PROJECT, BLOCK><<<blocks, BLOCK>>>(y, count, end, rtol, atol, numbers);
  if (choice == 1) adaptive_kernel<System, Order8, PROJECT, BLOCK><<<blocks, BLOCK>>>(y, count, end, rtol, atol, numbers);
}

// Runs on state `y` of the host, in place; `ms` receives the times of `repeats` launches after one to warm up. Returns 0
// or CUDA's error.
template <class Launch>
static int timed(double *y, size_t bytes, int repeats, float *ms, Launch launch) {
  double *state = nullptr, *start = nullptr;
  cudaEvent_t began, ended;
  cudaEventCreate(&began);
  cudaEventCreate(&ended);
  cudaMalloc(&state, bytes);
  cudaMalloc(&start, bytes);
  cudaMemcpy(start, y, bytes, cudaMemcpyHostToDevice);
  for (int k = -1; k < repeats; k++) {
    cudaMemcpy(state, start, bytes, cudaMemcpyDeviceToDevice);
    cudaEventRecord(began);
    launch(state);
    cudaEventRecord(ended);
    cudaEventSynchronize(ended);
    if (k >= 0) cudaEventElapsedTime(ms + k, began, ended);
  }
  cudaMemcpy(y, state, bytes, cudaMemcpyDeviceToHost);
  cudaFree(state);
  cudaFree(start);
  cudaEventDestroy(began);
  cudaEventDestroy(ended);
  return cudaGetLastError();
}
#else
#include <chrono>

template <class System, bool PROJECT>
static void fixed(int, double *y, long count, int steps, double h, Numbers numbers) {
  for (long member = 0; member < count; member++) motion<System, PROJECT>(y, count, member, steps, h, numbers.p);
}

template <class System, bool PROJECT>
static void varied(int choice, double *y, long count, double end, double rtol, double atol, Numbers numbers) {
  for (long member = 0; member < count; member++)
    choice ? adaptive_motion<System, Order8, PROJECT>(y, count, member, end, rtol, atol, numbers.p)
           : adaptive_motion<System, Order5, PROJECT>(y, count, member, end, rtol, atol, numbers.p);
}

template <class Launch>
static int timed(double *y, size_t, int repeats, float *ms, Launch launch) {
  auto began = std::chrono::steady_clock::now();
  launch(y);
  std::chrono::duration<float, std::milli> taken = std::chrono::steady_clock::now() - began;
  for (int k = 0; k < repeats; k++) ms[k] = taken.count();
  return 0;
}
#endif

template <class System>
static int run(int projected, int choice, double *y, long count, int steps, double h, const double *p, int repeats,
               float *ms) {
  Numbers numbers = {{p[0], p[1], p[2], p[3]}};
  return timed(y, 2 * System::N * count * sizeof(double), repeats, ms, [=](double *state) {
    projected ? fixed<System, true>(choice, state, count, steps, h, numbers)
              : fixed<System, false>(choice, state, count, steps, h, numbers);
  });
}

template <class System>
static int run_adaptive(int projected, int choice, double *y, long count, double end, double rtol, double atol,
                        const double *p, int repeats, float *ms) {
  Numbers numbers = {{p[0], p[1], p[2], p[3]}};
  return timed(y, 2 * System::N * count * sizeof(double), repeats, ms, [=](double *state) {
    projected ? varied<System, true>(choice, state, count, end, rtol, atol, numbers)
              : varied<System, false>(choice, state, count, end, rtol, atol, numbers);
  });
}

// For ctypes: the state (2n, count), four parameters, one time for each repeat.
#define ENTRY(NAME, SYSTEM)                                                                                           \
  extern "C" int NAME(int projected, int choice, double *y, long count, int steps, double h, const double *p,         \
                      int repeats, float *ms) {                                                                       \
    return run<SYSTEM>(projected, choice, y, count, steps, h, p, repeats, ms);                                        \
  }                                                                                                                   \
  extern "C" int NAME##_adaptive(int projected, int choice, double *y, long count, double end, double rtol,           \
                                 double atol, const double *p, int repeats, float *ms) {                              \
    return run_adaptive<SYSTEM>(projected, choice, y, count, end, rtol, atol, p, repeats, ms);                        \
  }

ENTRY(pendulum, Pendulum)
ENTRY(four_bar, FourBar)
ENTRY(disc, Disc)
