# SPDX-License-Identifier: BSD-3-Clause
"""Contact modes: which contacts of a system are closed, which of them stick, and in which directions others slide."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dalembert.common.names import name_of
from dalembert.errors import InputError


@dataclass(frozen=True)
class ContactMode:
    """One way in which the contacts of a system are closed or open, and stick or slide.

    Within a mode the motion is smooth. An export of one mode, ``da.export_c(..., mode=...)``, also computes the
    quantities that are positive as long as the mode lasts.

    Parameters
    ----------
    closed      names of the one-sided constraints that are closed, and of the constraints with ``releases`` or
                ``active=False`` that hold; all others of these kinds are open
    sticking    names of the constraints whose dry friction sticks; at all other closed ones it slides
    sliding     directions at the start, by name: 1 or -1, or one component for each of the sliding velocity. Needed
                only where a contact starts to slide from rest; otherwise the velocity of the start gives them

    Raises
    ------
    InputError    arguments of another type, or a contact that both sticks and slides

    Examples
    --------
    >>> ContactMode(closed=["floor"], sticking=["floor"])
    ContactMode(closed=('floor',), sticking=('floor',), sliding={})
    """

    closed: Any = ()
    sticking: Any = ()
    sliding: Mapping[Any, Any] = field(default_factory=dict[Any, Any])

    def __post_init__(self) -> None:
        object.__setattr__(self, "closed", _names(self.closed, "closed"))
        object.__setattr__(self, "sticking", _names(self.sticking, "sticking"))
        if not isinstance(self.sliding, Mapping):
            raise InputError(f'`sliding` must map names to directions, as {{"floor": 1}}; got {self.sliding!r}.')
        object.__setattr__(self, "sliding", {name_of(key): value for key, value in self.sliding.items()})
        both = [name for name in self.sliding if name in self.sticking]
        if both:
            raise InputError(f"a contact must either stick or slide; `{both[0]}` is in `sticking` and in `sliding`.")


def _names(given: Any, argument: str) -> tuple[str, ...]:
    if isinstance(given, str):
        return (given,)
    if not isinstance(given, Iterable):
        raise InputError(f'`{argument}` must be names of constraints, as ("floor",); got {given!r}.')
    return tuple(dict.fromkeys(map(name_of, given)))
