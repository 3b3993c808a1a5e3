# SPDX-License-Identifier: BSD-3-Clause
"""A minimal interface to the CUDA driver: memory, copies and kernel launches."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any
from weakref import finalize

from dalembert.common.array_types import Floats
from dalembert.errors import DeviceError, InputError

WORTH_PINNING = 2**22
"""Bytes of an array from which on pinning it takes less time than it saves."""


NON_BLOCKING = 1
"""Flag of a stream that does not wait for other work on the GPU, for example that of JAX."""


class GpuKernel:
    """A kernel that has been loaded onto the GPU."""

    def __init__(self, function: ctypes.c_void_p):
        self.function = function


class GpuDevice:
    """The first GPU that the driver finds; its memory and programs are shared with JAX and others."""

    def __init__(self) -> None:
        self._driver = _driver()
        device = ctypes.c_int()
        self._do("cuInit", 0)
        self._do("cuDeviceGet", ctypes.byref(device), 0)
        # the primary context is the one that JAX uses too: a second one would take memory and time to create
        self._context = ctypes.c_void_p()
        self._do("cuDevicePrimaryCtxRetain", ctypes.byref(self._context), device)
        name = ctypes.create_string_buffer(100)
        self._do("cuDeviceGetName", name, 100, device)
        self.name = name.value.decode()

    def _do(self, function: str, *arguments: Any) -> None:
        code = getattr(self._driver, function)(*arguments)
        if code:
            text = ctypes.c_char_p()
            self._driver.cuGetErrorString(code, ctypes.byref(text))
            reason = text.value.decode() if text.value else f"error {code}"
            raise DeviceError(f"CUDA call `{function}` failed: {reason}.")

    def use(self) -> None:
        """Make this GPU the current device of the calling thread."""
        # contexts are current per thread, and ensembles may be run from any thread
        self._do("cuCtxSetCurrent", self._context)

    def load_kernel(self, ptx: str, name: str) -> GpuKernel:
        """Return a kernel, translated for this GPU by the driver; its memory is freed together with it."""
        program, function = ctypes.c_void_p(), ctypes.c_void_p()
        self._do("cuModuleLoadData", ctypes.byref(program), ptx.encode())
        kernel = GpuKernel(function)
        # not at the end of the process, when the driver may have been shut down before
        finalize(kernel, self._unload, program).atexit = False
        self._do("cuModuleGetFunction", ctypes.byref(function), program, name.encode())
        return kernel

    def _unload(self, program: ctypes.c_void_p) -> None:
        """Free a program; unchecked, since kernels are freed at any time, even while an error is handled."""
        self._driver.cuCtxSetCurrent(self._context)
        self._driver.cuModuleUnload(program)

    @contextmanager
    def memory(self, *counts: int) -> Generator[list[ctypes.c_uint64]]:
        """Allocate arrays of doubles of the given lengths, and free them at the end of the context."""
        places: list[ctypes.c_uint64] = []
        try:
            for count in counts:
                place = ctypes.c_uint64()
                # an allocation of zero bytes is an error, but a system without parameters has an array of none
                self._do("cuMemAlloc_v2", ctypes.byref(place), ctypes.c_size_t(8 * max(count, 1)))
                places.append(place)
            yield places
        finally:
            for place in places:
                self._driver.cuMemFree_v2(place)  # unchecked: it fails only after another error

    @contextmanager
    def pinned(self, array: Floats) -> Generator[None]:
        """Keep a large array in its place in memory, so that copies of it are several times as fast."""
        place, size = array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(array.nbytes)
        # the system may refuse, for example if a limit of locked memory is reached: copies are then slower
        locked = array.nbytes >= WORTH_PINNING and self._driver.cuMemHostRegister_v2(place, size, 0) == 0
        try:
            yield
        finally:
            if locked:
                self._driver.cuMemHostUnregister(place)  # unchecked: it fails only after another error

    @contextmanager
    def stream(self) -> Generator[GpuStream]:
        """Create a queue of work for the GPU; at the end of the context all of its work is done."""
        stream, events = ctypes.c_void_p(), [ctypes.c_void_p(), ctypes.c_void_p()]
        try:
            self._do("cuStreamCreate", ctypes.byref(stream), NON_BLOCKING)
            for event in events:
                self._do("cuEventCreate", ctypes.byref(event), 0)
            yield GpuStream(self._do, stream, *events)
        finally:
            # unchecked: these fail only after another error
            self._driver.cuStreamSynchronize(stream)
            for event in events:
                self._driver.cuEventDestroy_v2(event)
            self._driver.cuStreamDestroy_v2(stream)

    def busy_seconds(self, streams: Sequence[GpuStream]) -> float:
        """Wait for the work of streams, and return for how long one of their kernels at least was running."""
        total = until = 0.0
        for stream in streams:
            stream.wait()
            begin, end = (stream.milliseconds_since(streams[0], event) for event in (stream.began, stream.ended))
            total, until = total + max(end - max(begin, until), 0.0), max(until, end)
        return total / 1000


class GpuStream:
    """A queue of copies and one kernel: each begins once those before it are done, beside those of other queues."""

    def __init__(
        self, do: Callable[..., None], stream: ctypes.c_void_p, began: ctypes.c_void_p, ended: ctypes.c_void_p
    ):
        self._do, self._stream, self.began, self.ended = do, stream, began, ended

    def put(self, array: Floats, place: ctypes.c_uint64) -> None:
        """Copy an array to the GPU."""
        if array.nbytes:
            source, size = array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(array.nbytes)
            self._do("cuMemcpyHtoDAsync_v2", place, source, size, self._stream)

    def get(self, array: Floats, place: ctypes.c_uint64) -> None:
        """Copy an array from the GPU."""
        target, size = array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(array.nbytes)
        self._do("cuMemcpyDtoHAsync_v2", target, place, size, self._stream)

    def launch(self, kernel: GpuKernel, count: int, block: int, arguments: Sequence[Any]) -> None:
        """Run a kernel in ``count`` threads."""
        pointers = (ctypes.c_void_p * len(arguments))(*(ctypes.addressof(a) for a in arguments))
        grid = -(-count // block)
        self._do("cuEventRecord", self.began, self._stream)
        self._do("cuLaunchKernel", kernel.function, grid, 1, 1, block, 1, 1, 0, self._stream, pointers, None)
        self._do("cuEventRecord", self.ended, self._stream)

    def wait_for_kernel(self) -> None:
        """Wait until the work before the kernel is done."""
        self._do("cuEventSynchronize", self.began)

    def wait(self) -> None:
        """Wait until all work is done; errors of the kernel are reported here."""
        self._do("cuStreamSynchronize", self._stream)

    def milliseconds_since(self, first: GpuStream, event: ctypes.c_void_p) -> float:
        """Return the time of an event since the kernel of another stream began."""
        found = ctypes.c_float()
        self._do("cuEventElapsedTime", ctypes.byref(found), first.began, event)
        return found.value


def _driver() -> Any:
    name = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        return ctypes.CDLL(name)
    except OSError:
        raise InputError(
            f'`device` must be "cpu" on this machine: there is no driver of an NVIDIA GPU ({name}).'
        ) from None


@lru_cache
def gpu_device() -> GpuDevice:
    """Return the GPU; it is initialised on the first call."""
    return GpuDevice()
