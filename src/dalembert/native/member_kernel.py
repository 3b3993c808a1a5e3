# SPDX-License-Identifier: BSD-3-Clause
"""The compiled integration of ensemble members through all times, for a processor or a GPU.

Some members are integrated side by side, one in each lane of the processor's vectors; on a GPU there is one member for
each thread. Every member takes steps of its own: a condition that differs between members selects values instead of
branching. Each attempt of a step and each output between two steps is one Runge–Kutta step, so that the same code
computes both, whichever a member needs. Members that have ended repeat their last state until all others have ended.

The numbers of a member are neighbours in memory. Neighbouring threads of a GPU thus read and write addresses that are
apart, but only at starts and outputs; the transposition of all results would take longer than the motions themselves.
"""

from __future__ import annotations

from llvmlite import ir

from dalembert.native.adaptive_members import AdaptiveMemberSteps
from dalembert.native.assembly import write_program
from dalembert.native.fixed_members import FixedMemberSteps
from dalembert.native.initial_step import write_first_step
from dalembert.native.integrator_parts import write_parts
from dalembert.native.lanes import LaneModule
from dalembert.native.member_writer import MemberPrograms, MemberWriter
from dalembert.native.tableau import Tableau


def write_member(
    module: LaneModule, programs: MemberPrograms, tableau: Tableau, *, interruptible: bool = False
) -> ir.Function:
    """Write member(…) with the steps of a method, fixed or adaptive.

    If it is ``interruptible``, another thread may end it: see ``member_writer.ROOM``.
    It stores how each motion ended: FINISHED, MORE or HAND_OVER of ``stepper``, and whether its start was exact.
    """
    parts = write_parts(module, programs.n, tableau, programs.hot)
    with module.in_double():
        start = write_program(module, "start", programs.start, hot=True)
    sliding = None if programs.sliding is None else write_program(module, "sliding", programs.sliding, hot=True)
    first_step = write_first_step(module, parts) if tableau.is_adaptive else None
    member = MemberWriter(module, parts, programs, start, sliding, interruptible=interruptible)
    if first_step is None:
        FixedMemberSteps(member).write()
    else:
        AdaptiveMemberSteps(member, first_step).write()
    return member.w.function
