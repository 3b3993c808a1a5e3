# SPDX-License-Identifier: BSD-3-Clause
"""JAX, imported when it is first used: it takes long to come, and what runs in machine code does without it.

``from dalembert.later import jnp`` costs nothing; ``jnp.zeros(3)`` imports JAX, and lets it keep what it compiles.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from dalembert.compilation_cache import keep_compiled_programs

__all__ = ["jax", "jnp", "jsl", "jsp", "lax"]

if TYPE_CHECKING:
    import jax
    import jax.numpy as jnp
    import jax.scipy.linalg as jsl
    import jax.scipy.special as jsp
    from jax import lax
else:

    class _Later:
        """A module that is imported when something is taken from it."""

        def __init__(self, name: str):
            self._name = name

        def __getattr__(self, attribute: str) -> Any:
            if attribute == "_name" or attribute in ("__deepcopy__", "__getstate__", "__setstate__", "__wrapped__"):
                raise AttributeError(attribute)
            module = importlib.import_module(self._name)
            keep_compiled_programs()
            value = getattr(module, attribute)
            setattr(self, attribute, value)
            return value

    jax = _Later("jax")
    jnp = _Later("jax.numpy")
    jsl = _Later("jax.scipy.linalg")
    jsp = _Later("jax.scipy.special")
    lax = _Later("jax.lax")
