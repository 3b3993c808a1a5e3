# SPDX-License-Identifier: BSD-3-Clause
"""Values of ensemble members side by side: gathered from memory, changed in some members, and their endings."""

from __future__ import annotations

from typing import Any

from dalembert.native.assembly import load, store
from dalembert.native.lanes import DOUBLE, joined, width_of
from dalembert.native.writer import Writer, whole

UNDER_WAY = -1.0
"""The ending of a member that has not ended yet."""


class MemberLanes:
    """Members in the lanes of vectors, of which the first ``present`` exist; the last of these fills further lanes."""

    def __init__(self, w: Writer, present: Any):
        self.w = w
        # the last of the members that are present stands in for those that are not: it takes the same steps twice
        last = w.b.sub(present, whole(1))
        self.lanes = [
            w.b.select(w.b.icmp_signed("<", whole(k), last), whole(k), last) for k in range(width_of(w.module))
        ]
        self.ending = w.variable(w.real, w.number(UNDER_WAY))

    def scalar(self, array: Any, place: Any) -> Any:
        """Return one double of an array."""
        index = whole(place) if isinstance(place, int) else place
        return self.w.b.load(self.w.b.gep(array, [index], source_etype=DOUBLE), typ=DOUBLE)

    def gathered(self, array: Any, j: Any, stride: Any) -> Any:
        """Return number j of each member; ``stride`` is the distance between two members."""
        b = self.w.b
        return joined(b, [self.scalar(array, b.add(b.mul(k, stride), j)) for k in self.lanes])

    def variable(self, value: Any) -> Any:
        """Allocate a variable of the type of a value."""
        return self.w.variable(value.type, value)

    def read(self, place: Any) -> Any:
        return self.w.get(place, place.type.pointee)

    def assign(self, place: Any, value: Any, chosen: Any) -> None:
        """Change a variable in the chosen members."""
        self.w.b.store(self.w.b.select(chosen, value, self.read(place)), place)

    def copy(self, source: Any, to: Any, count: int, chosen: Any) -> None:
        """Copy an array in the chosen members."""
        b = self.w.b
        for j in self.w.each(count):
            store(b, b.select(chosen, load(b, source, j), load(b, to, j)), to, j)

    @property
    def under_way(self) -> Any:
        """A condition: which members have not ended."""
        return self.w.b.fcmp_ordered("<", self.read(self.ending), self.w.number(0.0))

    def end(self, condition: Any, how: int) -> None:
        """End the members under way for which a condition holds."""
        self.assign(self.ending, self.w.number(float(how)), self.w.b.and_(condition, self.under_way))
