# SPDX-License-Identifier: BSD-3-Clause
"""One way to simulate, in a process of its own: measures its rows and prints each as a line of JSON.

In a process of its own a way that crashes, or compiles for ever, costs the table no more than its own rows.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.gpu import cuda_kernels, jax_programs, mjx_model
from benchmarks.gpu.ensemble_calls import ours
from benchmarks.gpu.gpu_problems import Problem, problems
from benchmarks.gpu.reference import checked

MARK = "ROW "
SIZES = (2**20, 2**17, 2**14)
"""The largest first: what a limit of time cuts off is least missed then."""
LARGEST = 2**22
SLOW_STEPS = 20
"""Steps of large ensembles by slow programs; the rates are per step."""
TOLERANCES = (1e-8, 1e-10)
"""Relative and absolute, of adaptive runs."""


def best(run: Callable[[], Any], repeats: int = 3) -> tuple[Any, float]:
    """The result, and the shortest of some times after a first call that compiles."""
    found, times = jax.block_until_ready(run()), []
    for _ in range(repeats):
        began = time.perf_counter()
        jax.block_until_ready(run())
        times.append(time.perf_counter() - began)
    return found, min(times)


def row(problem: Problem, q: Any, qd: Any, seconds: float, **more: Any) -> dict[str, Any]:
    """Return the entries of the table: the time, and the ends of the members that are checked."""
    some = list(checked(q.shape[1]))
    ends = [[np.asarray(x[:, i], float).tolist() for x in (q, qd)] for i in some]
    values = {"problem": problem.name, "members": q.shape[1], "steps": problem.steps, "seconds": seconds}
    return {**values, "checked": some, "ends": ends, **more}


def adaptive(count: int, rehearse: bool) -> bool:
    return rehearse or count == SIZES[0]


def by_cuda(problem: Problem, count: int, rehearse: bool) -> Iterator[dict[str, Any]]:
    """The best of some block sizes."""
    compiler, choices = (cuda_kernels.HOST, (0,)) if rehearse else (cuda_kernels.NVCC, range(len(cuda_kernels.CHOICES)))
    start = problem.starts(count)
    for projected in (False, True):
        asked = {"projected": projected, "repeats": 3, "compiler": compiler}
        found = {cuda_kernels.CHOICES[k]: cuda_kernels.run(problem, *start, choice=k, **asked) for k in choices}
        times = {choice: seconds for choice, (_, _, seconds) in found.items()}
        fastest = min(times, key=times.__getitem__)
        yield row(problem, *found[fastest], projected=projected, detail=fastest, choices=times)
    for k, method in enumerate(cuda_kernels.METHODS if adaptive(count, rehearse) else ()):
        asked = {"projected": True, "repeats": 3, "compiler": compiler}
        found = cuda_kernels.run_adaptive(problem, *start, *TOLERANCES, choice=k, **asked)
        yield row(problem, *found, projected=True, adaptive=True, detail=f"adaptive, {method}")


def by_us(problem: Problem, count: int, rehearse: bool) -> Iterator[dict[str, Any]]:
    start = problem.starts(count)
    for projected in (False, True):
        found = ours(problem, *start, projected=projected)
        whole, kernel = found["seconds"], found["kernel"]
        yield row(problem, found["q"], found["qd"], whole, projected=projected, detail="whole call")
        yield row(problem, found["q"], found["qd"], kernel, projected=projected, detail="kernel")
    if adaptive(count, rehearse):
        rtol, atol = TOLERANCES
        found = ours(problem, *start, projected=True, rtol=rtol, atol=atol)
        for detail, seconds in (("whole call", found["seconds"]), ("kernel", found["kernel"])):
            values = {"projected": True, "adaptive": True, "detail": f"adaptive, {detail}"}
            yield row(problem, found["q"], found["qd"], seconds, **values)


def by_jax(make: Callable[[Problem], jax_programs.Run], slow: bool = False) -> Callable[..., Iterator[dict[str, Any]]]:
    def rows(problem: Problem, count: int, rehearse: bool) -> Iterator[dict[str, Any]]:
        if slow and count > SIZES[-1]:
            problem = replace(problem, steps=SLOW_STEPS)
        q, qd = (jnp.asarray(x) for x in problem.starts(count))
        (q, qd), seconds = best(lambda run=make(problem): run(q, qd), repeats=2 if slow else 3)
        yield row(problem, q, qd, seconds)

    return rows


def by_pallas(problem: Problem, count: int, rehearse: bool) -> Iterator[dict[str, Any]]:
    """The best of some blocks and warps; one choice alone for smaller ensembles and the longest program."""
    choices = ((128, 4), (256, 8), (256, 4)) if count == SIZES[0] and problem.name != "four-bar" else ((128, 4),)
    for block, warps in choices:
        make = lambda problem, b=block, w=warps: jax_programs.pallas(problem, b, w, interpret=rehearse)  # noqa: E731
        for found in by_jax(make)(problem, count, rehearse):
            yield {**found, "detail": f"blocks of {block}, {warps} warps"}


def by_mjx(bits: int) -> Callable[..., Iterator[dict[str, Any]]]:
    def rows(problem: Problem, count: int, rehearse: bool) -> Iterator[dict[str, Any]]:
        if problem.name == "rolling disc":
            return
        jax.config.update("jax_enable_x64", bits == 64)
        if count > SIZES[-1]:
            problem = replace(problem, steps=SLOW_STEPS)
        joints = mjx_model.to_joints(problem, *problem.starts(count))
        joints = [jnp.asarray(x, f"float{bits}") for x in joints]
        end, seconds = best(lambda run=mjx_model.mjx_run(problem): run(*joints), repeats=2)
        yield row(problem, *mjx_model.from_joints(problem, *end), seconds, other_steps=True, detail=f"float{bits}")

    return rows


WAYS: dict[str, Callable[..., Iterator[dict[str, Any]]]] = {
    "CUDA by hand": by_cuda,
    "dalembert": by_us,
    "textbook, vmap": by_jax(jax_programs.textbook, slow=True),
    "XLA": by_jax(jax_programs.xla),
    "Pallas": by_pallas,
    "MJX, float32": by_mjx(32),
    "MJX, float64": by_mjx(64),
}


def sizes_for(program: str, problem: Problem) -> tuple[int, ...]:
    """JAX compiles anew for each size, which takes long: not all of them for all."""
    pendulum = problem.name == "double pendulum"
    if program in ("CUDA by hand", "dalembert"):
        return (*SIZES, LARGEST) if pendulum else SIZES
    if program.startswith("MJX"):
        return SIZES[0], SIZES[-1]
    return SIZES if pendulum else SIZES[:1]


def print_row(**values: Any) -> None:
    print(MARK + json.dumps(values), flush=True)


def main(program: str, rehearse: bool) -> None:
    for problem in (each for each in problems() if each.by_hand or program == "dalembert"):
        sizes = (256,) if rehearse else sizes_for(program, problem)
        problem = replace(problem, steps=20) if rehearse else problem
        for count in sizes:
            try:
                for found in WAYS[program](problem, count, rehearse):
                    print_row(program=program, **found)
            except Exception as error:
                reason = f"{type(error).__name__}: {error}"
                print_row(program=program, problem=problem.name, members=count, failed=reason[:500])


if __name__ == "__main__":
    main(sys.argv[1], "rehearse" in sys.argv[2:])
