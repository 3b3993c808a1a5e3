# SPDX-License-Identifier: BSD-3-Clause
"""A minimal interface to the CUDA driver: memory, copies and kernel launches."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.common.parallel import in_parallel
from dalembert.errors import DeviceError, InputError
from dalembert.native.memory_pool import MemoryPool

WORTH_PINNING = 2**22
"""Bytes of an array from which on pinned memory saves time."""

KEPT_HOST_BYTES, KEPT_GPU_BYTES = 2**30, 2**30
"""Largest amounts of pinned memory, and of memory on the GPU, that are kept for further calls."""

PAGE = 512
"""Doubles per page of memory."""

NON_BLOCKING = 1
"""Flag of a stream that does not wait for other work on the GPU, for example that of JAX."""


class GpuKernel:
    """A kernel that has been loaded onto the GPU."""

    def __init__(self, function: ctypes.c_void_p):
        self.function = function


@dataclass(eq=False)
class _GpuBlock:
    """Memory on the GPU."""

    place: ctypes.c_uint64
    size: int


@dataclass(eq=False)
class _HostBlock:
    """Memory of the host, which has been used once; ``pinned`` is whether the system agreed to keep it in its place."""

    memory: Floats
    pinned: bool

    @property
    def size(self) -> int:
        return self.memory.nbytes


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
        self._streams: list[GpuStream] = []  # not in use
        self._gpu_memory = MemoryPool(self._allocated, self._freed, KEPT_GPU_BYTES)
        self._host_memory = MemoryPool(self._pinned, self._unpinned, KEPT_HOST_BYTES)

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
    def memory(self, *sizes: int) -> Generator[list[ctypes.c_uint64]]:
        """Provide memory of the given sizes, in bytes, on the GPU during the context."""
        blocks: list[_GpuBlock] = []
        try:
            for size in sizes:
                # an allocation of zero bytes is an error, but a system without parameters has an array of none
                blocks.append(self._gpu_memory.take(max(size, 1)))
            yield [block.place for block in blocks]
        finally:
            for block in blocks:
                self._gpu_memory.give(block)

    def _allocated(self, size: int) -> _GpuBlock:
        place = ctypes.c_uint64()
        self._do("cuMemAlloc_v2", ctypes.byref(place), ctypes.c_size_t(size))
        return _GpuBlock(place, size)

    def _freed(self, block: _GpuBlock) -> None:
        # unchecked, since memory may be freed at any time, even while an error is handled
        self._driver.cuCtxSetCurrent(self._context)
        self._driver.cuMemFree_v2(block.place)

    def host_array(self, shape: tuple[int, ...]) -> Floats:
        """Return a new array; the GPU copies to and from a large one several times as fast as with ordinary memory.

        New memory is slow at its first use, and to pin it takes longer than some motions. The memory of large arrays is
        therefore kept when they are deleted.
        """
        count = prod(shape)
        if not WORTH_PINNING <= 8 * count <= KEPT_HOST_BYTES:
            return np.empty(shape)
        block = self._host_memory.take(8 * count)
        # the base of this array is no array: all views of it therefore refer to it, and it is deleted after them
        array = np.frombuffer(block.memory.data, count=count)
        finalize(array, self._host_memory.give, block).atexit = False
        return array.reshape(shape)

    def _pinned(self, size: int) -> _HostBlock:
        memory = np.empty(-(-size // 8))
        in_parallel(_touch, memory, PAGE)
        place = memory.ctypes.data_as(ctypes.c_void_p)
        # the system may refuse, for example if a limit of locked memory is reached: copies are then slower
        pinned = self._driver.cuMemHostRegister_v2(place, ctypes.c_size_t(memory.nbytes), 0) == 0
        return _HostBlock(memory, pinned)

    def _unpinned(self, block: _HostBlock) -> None:
        if block.pinned:
            # unchecked, since arrays may be deleted at any time, even while an error is handled
            self._driver.cuCtxSetCurrent(self._context)
            self._driver.cuMemHostUnregister(block.memory.ctypes.data_as(ctypes.c_void_p))

    @contextmanager
    def stream(self) -> Generator[GpuStream]:
        """Provide a queue of work for the GPU; at the end of the context all of its work is done."""
        try:
            stream = self._streams.pop()
        except IndexError:
            stream = self._new_stream()
        try:
            yield stream
        finally:
            # unchecked: it fails only after another error
            self._driver.cuStreamSynchronize(stream.handle)
            self._streams.append(stream)

    def _new_stream(self) -> GpuStream:
        handle, events = ctypes.c_void_p(), [ctypes.c_void_p(), ctypes.c_void_p()]
        self._do("cuStreamCreate", ctypes.byref(handle), NON_BLOCKING)
        for event in events:
            self._do("cuEventCreate", ctypes.byref(event), 0)
        return GpuStream(self._do, handle, *events)

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
        self, do: Callable[..., None], handle: ctypes.c_void_p, began: ctypes.c_void_p, ended: ctypes.c_void_p
    ):
        self._do, self.handle, self.began, self.ended = do, handle, began, ended

    def put(self, array: NDArray[Any], place: ctypes.c_uint64) -> None:
        """Copy an array to the GPU."""
        if array.nbytes:
            source, size = array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(array.nbytes)
            self._do("cuMemcpyHtoDAsync_v2", place, source, size, self.handle)

    def get(self, array: NDArray[Any], place: ctypes.c_uint64) -> None:
        """Copy an array from the GPU."""
        target, size = array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(array.nbytes)
        self._do("cuMemcpyDtoHAsync_v2", target, place, size, self.handle)

    def launch(self, kernel: GpuKernel, count: int, block: int, arguments: Sequence[Any]) -> None:
        """Run a kernel in ``count`` threads."""
        pointers = (ctypes.c_void_p * len(arguments))(*(ctypes.addressof(a) for a in arguments))
        grid = -(-count // block)
        self._do("cuEventRecord", self.began, self.handle)
        self._do("cuLaunchKernel", kernel.function, grid, 1, 1, block, 1, 1, 0, self.handle, pointers, None)
        self._do("cuEventRecord", self.ended, self.handle)

    def wait(self) -> None:
        """Wait until all work is done; errors of the kernel are reported here."""
        self._do("cuStreamSynchronize", self.handle)

    def milliseconds_since(self, first: GpuStream, event: ctypes.c_void_p) -> float:
        """Return the time of an event since the kernel of another stream began."""
        found = ctypes.c_float()
        self._do("cuEventElapsedTime", ctypes.byref(found), first.began, event)
        return found.value


def _touch(numbers: Floats) -> None:
    numbers[::PAGE] = 0.0


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
