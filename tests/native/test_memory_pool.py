"""Memory that is kept for further use, and arrays of a GPU's host memory in it; the driver is replaced."""

import gc
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pytest

from dalembert.errors import DeviceError
from dalembert.native import cuda
from dalembert.native.memory_pool import MemoryPool


@dataclass(eq=False)
class Piece:
    size: int


@pytest.fixture
def released() -> list[Piece]:
    return []


@pytest.fixture
def pool(released: list[Piece]) -> MemoryPool[Piece]:
    return MemoryPool(Piece, released.append, 100)


def test_a_returned_block_is_used_again(pool: MemoryPool[Piece]) -> None:
    first = pool.take(10)
    assert pool.take(10) is not first
    pool.give(first)
    assert pool.take(10) is first


def test_a_block_that_is_too_small_or_far_too_large_is_not_used(pool: MemoryPool[Piece]) -> None:
    small, large, fitting = Piece(9), Piece(21), Piece(20)
    for block in (small, large, fitting):
        pool.give(block)
    assert pool.take(10) is fitting
    assert pool.take(10) not in (small, large)


def test_the_block_of_the_least_sufficient_size_is_used(pool: MemoryPool[Piece]) -> None:
    for size in (20, 12, 16):
        pool.give(Piece(size))
    assert [pool.take(10).size for _ in range(4)] == [12, 16, 20, 10]


def test_blocks_above_the_limit_are_released_in_the_order_of_their_return(
    pool: MemoryPool[Piece], released: list[Piece]
) -> None:
    blocks = [Piece(40), Piece(50), Piece(60), Piece(101)]
    for block in blocks[:3]:
        pool.give(block)
    assert released == blocks[:2]
    pool.give(blocks[3])  # larger than the limit by itself
    assert released == [*blocks[:3], blocks[3]]


@pytest.mark.parametrize("error", [DeviceError("out of memory"), MemoryError()], ids=repr)
def test_free_blocks_are_released_where_memory_is_missing(released: list[Piece], error: Exception) -> None:
    free = 100

    def allocate(size: int) -> Piece:
        nonlocal free
        if size > free + sum(piece.size for piece in released):
            raise error
        return Piece(size)

    pool = MemoryPool(allocate, released.append, 1000)
    kept = [pool.take(size) for size in (30, 40)]
    free = 30
    for piece in kept:
        pool.give(piece)
    assert pool.take(90).size == 90
    assert released == kept
    with pytest.raises(type(error)):
        pool.take(200)


def test_no_block_is_in_use_twice(pool: MemoryPool[Piece]) -> None:
    def use(_: int) -> bool:
        block = pool.take(1)
        alone = not getattr(block, "taken", False)
        block.taken = True  # type: ignore[attr-defined]
        time.sleep(0)  # lets other threads run
        block.taken = False  # type: ignore[attr-defined]
        pool.give(block)
        return alone

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(use, range(5000)))


class Driver:
    """Counts the calls that pin memory, and their opposite."""

    def __init__(self, code: int) -> None:
        self.code, self.pinned = code, 0

    def cuCtxSetCurrent(self, *_: object) -> int:  # noqa: N802 (a name of CUDA)
        return 0

    def cuMemHostRegister_v2(self, *_: object) -> int:  # noqa: N802
        self.pinned += 1
        return self.code

    def cuMemHostUnregister(self, *_: object) -> int:  # noqa: N802
        self.pinned -= 1
        return 0


@pytest.fixture
def device_with(monkeypatch: pytest.MonkeyPatch) -> Callable[..., cuda.GpuDevice]:
    monkeypatch.setattr(cuda, "WORTH_PINNING", 800)

    def make(driver: Driver, kept: int) -> cuda.GpuDevice:
        device = cuda.GpuDevice.__new__(cuda.GpuDevice)
        device._driver, device._context = driver, None
        device._host_memory = MemoryPool(device._pinned, device._unpinned, kept)
        return device

    return make


def address(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


def test_memory_of_a_deleted_array_is_used_again(device_with: Callable[..., cuda.GpuDevice]) -> None:
    driver = Driver(0)
    device = device_with(driver, 10_000)
    array = device.host_array((10, 20))
    place = address(array)
    view = array[3:].reshape(-1)[::2]
    del array
    gc.collect()
    other = device.host_array((10, 20))  # the view is still there
    assert address(other) != place
    view[:] = 1.0
    other[:] = 2.0
    assert (view == 1.0).all()
    del view
    gc.collect()
    assert address(device.host_array((10, 20))) == place
    assert driver.pinned == 2


def test_memory_above_the_limit_is_given_back_to_the_system(device_with: Callable[..., cuda.GpuDevice]) -> None:
    driver = Driver(0)
    device = device_with(driver, 1000)
    array = device.host_array((200,))  # 1600 bytes
    assert driver.pinned == 1
    del array
    gc.collect()
    assert driver.pinned == 0


def test_memory_that_the_system_does_not_pin_is_used_unpinned(device_with: Callable[..., cuda.GpuDevice]) -> None:
    driver = Driver(1)
    device = device_with(driver, 1000)
    array = device.host_array((200,))
    array[:] = 3.0
    del array
    gc.collect()
    assert driver.pinned == 1  # the attempt; it is not undone


def test_a_small_array_has_ordinary_memory(device_with: Callable[..., cuda.GpuDevice]) -> None:
    driver = Driver(0)
    assert device_with(driver, 1000).host_array((3, 4)).shape == (3, 4)
    assert driver.pinned == 0
