# SPDX-License-Identifier: BSD-3-Clause
"""Addresses of arrays, for machine code."""

from __future__ import annotations

import ctypes
from typing import Any

from numpy.typing import NDArray

_NOTHING = ctypes.c_char * 0


def address_of(array: NDArray[Any]) -> int:
    """Return the address of an array; it is valid as long as the array exists."""
    # a third of the time of ``array.ctypes.data``, which makes an object in Python
    try:
        return ctypes.addressof(_NOTHING.from_buffer(array))  # pyright: ignore[reportArgumentType]
    except TypeError:  # memory that cannot be written to, as that of JAX's arrays
        return array.ctypes.data
