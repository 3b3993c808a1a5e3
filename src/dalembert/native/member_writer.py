# SPDX-License-Identifier: BSD-3-Clause
"""Code of ensemble members that fixed and adaptive steps share: starts, checks, outputs and endings."""

from __future__ import annotations

from typing import Any, NamedTuple

from llvmlite import ir

from dalembert.native.assembly import POINTER, element, load, store
from dalembert.native.integrator_parts import Parts
from dalembert.native.lane_step import LaneStep
from dalembert.native.lanes import DOUBLE, LaneModule, is_single, lane, rounded, spread, widened, width_of
from dalembert.native.member_lanes import MemberLanes
from dalembert.native.stepper import HAND_OVER
from dalembert.native.tape import HotPrograms, Program
from dalembert.native.writer import LONG, Writer, whole

BYTE = ir.IntType(8)
BYTES = BYTE.as_pointer()

MEMBER = (POINTER, POINTER, POINTER, LONG, LONG, POINTER, LONG, LONG, POINTER, POINTER, LONG, BYTES)
"""Arguments of ``member``: q, qd, p, own, present, times, outputs, every, out, settings, room, endings.

There are ``present`` members side by side; further lanes repeat the last of them. Each has parameters of its own if
``own`` is one; if it is zero, all share the same ones. States at ``outputs`` times go to
``out``: all of them if ``every`` is one, only the last if it is zero. For adaptive steps ``settings`` are those of
``step_control.settings_of`` and one more number, which is one if absolute tolerances are multiplied by the scales of
the member's start; for fixed steps they are the length of the step. ``room`` is the largest number of steps, and
``endings`` are bytes.
"""

ROOM = 10
"""The place of ``room`` among these arguments. In code that can be interrupted it is a pointer: once another thread
writes zero there, as for Ctrl-C, all members end within some steps."""

EXACT_START = 4
"""Added to the ending of a member whose start misses the constraints by rounding only."""


class MemberPrograms(NamedTuple):
    """The programs that integrate a member with n coordinates and some parameters; see ``Parts``.

    start       its first output is one if a motion may start at a state, else zero; its second output is one if the
                constraints hold up to rounding; the scales (2n) of the state follow
    sliding     the sliding velocity of each contact that can stick, and its time derivative; None without such contacts
    contacts    the number of components of each of these velocities
    """

    n: int
    parameters: int
    hot: HotPrograms
    start: Program
    sliding: Program | None = None
    contacts: tuple[int, ...] = ()


class MemberWriter:
    """Writes what members do alike with fixed and adaptive steps: starts, checks, outputs and endings."""

    def __init__(
        self,
        module: LaneModule,
        parts: Parts,
        programs: MemberPrograms,
        start: ir.Function,
        sliding: ir.Function | None,
        *,
        interruptible: bool,
    ):
        self.module, self.parts, self.width = module, parts, width_of(module)
        self.sliding, self.contacts = sliding, programs.contacts
        self.interruptible = interruptible
        kinds = (*MEMBER[:ROOM], LONG.as_pointer(), *MEMBER[ROOM + 1 :]) if interruptible else MEMBER
        self.w = w = Writer(module, "member", kinds)
        q, qd, p, own_parameters, self.present, self.times, self.outputs, self.every, self.out, *rest = w.function.args
        self.settings, self._room, self.endings = rest
        n, numbers = programs.n, programs.parameters
        self.members = MemberLanes(w, self.present)
        with module.in_double():  # starts are checked before they are rounded
            state, parameters, checked = w.array(parts.size), w.array(numbers), w.array(parts.workspace)
            velocities, apart = element(w.b, state, n), w.b.mul(own_parameters, whole(numbers))
            for source, own, count, stride in (
                (q, state, n, whole(n)),
                (qd, velocities, n, whole(n)),
                (p, parameters, numbers, apart),
            ):
                for j in w.each(count):
                    store(w.b, self.members.gathered(source, j, stride), own, j)
            w.b.call(start, [state, spread(w.b, self.members.scalar(self.times, 0)), parameters, checked])
        self.state, self.p = self._rounded(state, parts.size), self._rounded(parameters, numbers)
        # the flags and the scales of the start; the rest of the memory is free
        self.work = self._rounded(checked, 2 + parts.size, parts.workspace)
        self.step = LaneStep(w, parts)
        self.begin = spread(w.b, self.members.scalar(self.times, 0))
        self.end_unless(load(w.b, self.work, 0))
        self.exact = w.b.fmul(w.number(float(EXACT_START)), load(w.b, self.work, 1))

    @property
    def room(self) -> Any:
        """The largest number of steps, read anew."""
        if not self.interruptible:
            return self._room
        # atomic, so that the optimiser does not read it once for all steps
        return self.w.b.load_atomic(self._room, "monotonic", 8, typ=LONG)

    def _rounded(self, array: Any, count: int, length: int | None = None) -> Any:
        """Return an array of doubles in the precision of the module; its ``length`` may exceed the numbers copied."""
        if not is_single(self.module):
            return array
        found = self.w.array(length or count)
        for j in self.w.each(count):
            with self.module.in_double():
                value = load(self.w.b, array, j)
            store(self.w.b, rounded(self.w.b, value), found, j)
        return found

    def end_unless(self, flag: Any) -> None:
        """Hand over members whose flag is not one."""
        # unordered: a flag of NaN hands over as well
        self.members.end(self.w.b.fcmp_unordered("<", flag, self.w.number(0.5)), HAND_OVER)

    def validity(self, state: Any, time: Any) -> Any:
        """Return one if the acceleration is well conditioned and the rows left out agree, else zero."""
        w, parts = self.w, self.parts
        w.b.call(parts.accelerate, [state, time, self.p, self.work])
        valid = load(w.b, self.work, parts.n)
        return valid if parts.agree is None else w.b.fmul(valid, self.agreement(state, time))

    def agreement(self, state: Any, time: Any) -> Any:
        """Return one if the rows left out agree with those in use, else zero."""
        w = self.w
        w.b.call(self.parts.agree, [state, time, self.p, self.work])
        return load(w.b, self.work, 0)

    def has_turned(self, before: Any, then: Any, after: Any, now: Any, *, controlled: bool) -> Any:
        """Return whether a contact may have come to rest or reversed in a step between two states.

        The sliding velocity is nearly the cubic with its values and derivatives at both ends. The cubic lies in the
        convex hull of its four Bézier control points, which must all point in the direction of sliding at the start.
        A step that is not ``controlled`` by an error estimate does not notice a jump of friction inside it; there the
        velocity extrapolated linearly to the end of the step must keep its direction as well.
        """
        w, total = self.w, sum(self.contacts)
        first, last = w.array(2 * total), w.array(2 * total)
        w.b.call(self.sliding, [before, then, self.p, first])
        w.b.call(self.sliding, [after, now, self.p, last])
        # the inner control points of a cubic are a third of the step away, along the slopes at its ends
        third = w.b.fdiv(w.b.fsub(now, then), w.number(3.0))
        place, turned = 0, w.number(False)
        for count in self.contacts:
            along: list[Any] = [w.number(0.0)] * 4
            for i in range(place, place + count):
                v0, a0, v1, a1 = (load(w.b, x, j) for x in (first, last) for j in (i, i + count))
                ahead = w.b.fmul(third if controlled else w.b.fsub(now, then), a0)
                points = v0, w.b.fadd(v0, ahead), w.b.fsub(v1, w.b.fmul(third, a1)), v1
                along = [w.b.fadd(x, w.b.fmul(v0, point)) for x, point in zip(along, points, strict=True)]
            place += 2 * count
            for x in along:
                turned = w.b.or_(turned, w.b.fcmp_unordered("<=", x, w.number(0.0)))
        return turned

    def put(self, state: Any, index: Any, chosen: Any) -> None:
        """Store a state of the chosen members as their output of an index; hand over those that are not finite."""
        w, b, size = self.w, self.w.b, self.parts.size
        nothing = self.members.variable(w.number(0.0))
        for j in w.each(size):  # x − x is NaN unless x is finite
            x = load(b, state, j)
            b.store(b.fadd(self.members.read(nothing), b.fsub(x, x)), nothing)
        kept = b.select(b.icmp_signed("==", self.every, whole(0)), whole(1), self.outputs)
        for k, member in enumerate(self.members.lanes):
            with b.if_then(lane(b, chosen, k)):
                place = b.mul(b.mul(lane(b, index, k), self.every), whole(size))
                own = b.mul(b.mul(member, kept), whole(size))
                for j in w.each(size):
                    at = b.add(own, b.add(place, j))
                    value = widened(b, lane(b, load(b, state, j), k))
                    b.store(value, b.gep(self.out, [at], source_etype=DOUBLE))
        infinite = b.fcmp_unordered("!=", self.members.read(nothing), w.number(0.0))
        self.members.end(b.and_(chosen, infinite), HAND_OVER)

    def finish(self) -> None:
        """Store the endings and return."""
        b = self.w.b
        endings = b.fadd(self.members.read(self.members.ending), self.exact)
        for k, member in enumerate(self.members.lanes):
            b.store(b.fptosi(lane(b, endings, k), BYTE), b.gep(self.endings, [member], source_etype=BYTE))
        b.ret_void()
