# SPDX-License-Identifier: BSD-3-Clause
"""JAX modules that are imported on first use: JAX is slow to import, and natively compiled systems do not need it.

``from dalembert.common.lazy_jax import jnp`` costs nothing; ``jnp.zeros(3)`` imports JAX and sets up its compilation
cache.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import TYPE_CHECKING, Any

from dalembert.common.compilation_cache import keep_compiled_programs
from dalembert.common.extras import require
from dalembert.errors import DeviceError

__all__ = ["jax", "jnp", "jsl", "jsp", "lax", "refuse_forked_process"]

_forked: list[bool] = []  # not empty in a process that was forked from one in which JAX had been used


def refuse_forked_process() -> None:
    """Raise an error in a forked process, in which JAX would wait forever for threads that were not copied."""
    if _forked:
        raise DeviceError(
            "JAX must not be used in a process that was forked after JAX had been used; the call would not return. "
            'Start processes by `multiprocessing.get_context("spawn")`, or fork before the first call that needs JAX. '
            "`da.simulate` in machine code works in both."
        )


if TYPE_CHECKING:
    import jax
    import jax.numpy as jnp
    import jax.scipy.linalg as jsl
    import jax.scipy.special as jsp
    from jax import lax
else:

    class _LazyModule:
        """A module that is imported on the first access to one of its attributes."""

        def __init__(self, name: str):
            self._name = name

        def __getattr__(self, attribute: str) -> Any:
            if attribute == "_name" or attribute in ("__deepcopy__", "__getstate__", "__setstate__", "__wrapped__"):
                raise AttributeError(attribute)
            refuse_forked_process()
            require("jax")
            module = importlib.import_module(self._name)
            keep_compiled_programs()
            value = getattr(module, attribute)
            setattr(self, attribute, value)
            return value

    jax = _LazyModule("jax")
    jnp = _LazyModule("jax.numpy")
    jsl = _LazyModule("jax.scipy.linalg")
    jsp = _LazyModule("jax.scipy.special")
    lax = _LazyModule("jax.lax")


def _after_fork() -> None:
    """Mark a forked process in which JAX cannot be used."""
    bridge = sys.modules.get("jax._src.xla_bridge")
    if bridge is None or not bridge.backends_are_initialized():
        return  # JAX has not started any threads yet
    _forked.append(True)
    if not TYPE_CHECKING:
        for module in (jax, jnp, jsl, jsp, lax):  # clear cached attributes, so that the next access raises the error
            name = module._name
            vars(module).clear()
            module._name = name


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
