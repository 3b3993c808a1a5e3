# SPDX-License-Identifier: BSD-3-Clause
"""The beginning of an exported C file: what the model is, the layout of its arrays, and how to call its functions."""

from __future__ import annotations

from collections.abc import Sequence

import dalembert
from dalembert.export.exported_model import ExportedModel
from dalembert.export.identifiers import identifiers
from dalembert.export.output_groups import OutputGroup

KINDS = {
    "acceleration": "accelerations q''",
    "ideal_force": "ideal constraint forces",
    "nonideal_force": "nonideal constraint forces",
    "multipliers": "multipliers of the constraints; zero for those that are left out",
    "reactions": "the same with the contribution of the nonideal forces",
    "violation": "residuals of the constraints, each at its own level",
    "speed": "sliding velocities along their directions",
    "margin": "margins of sticking friction: one without load, zero at the static limit",
    "gap": "gaps of open contacts",
    "gap_rate": "rates of these gaps",
    "closing_force": "reactions of closed contacts",
    "energy": "energy",
    "inputs": "inputs of the actuators",
    "errors": "errors of the servo constraints",
}
"""Kinds of outputs, in words."""

STATE_ARGUMENTS = "const double y[], double t, const double p[]"
"""The arguments of functions at a state."""


def header(model: ExportedModel) -> str:
    """Return the comment at the top of the file."""
    left_out = [name for k, name in enumerate(model.constraints) if k not in model.rows]
    lines = [
        f"{model.name}: equations of motion, written by dalembert {dalembert.__version__}.",
        "",
        "    M q'' = Q + constraint forces,    A q'' = b",
        "",
        "All numbers are doubles; arrays do not have a size of their own, so each must be as long as stated here.",
        "",
        f"y[{2 * model.n}]    the state",
        *_indexed(model.states),
        f"p[{len(model.parameters)}]    the parameters" if model.parameters else "p       no parameters; pass 0",
        *_indexed(model.parameters),
        *(["", "Constraints:"] if model.constraints else []),
        *(f"    {name} ({level})" for name, level in zip(model.constraints, model.levels, strict=True)),
        *([f"    left out, since they follow from the others: {', '.join(left_out)}"] if left_out else []),
        "",
        f"Drift cure: {model.drift}",
        "",
        f"out[{len(model.output_names)}]    the outputs",
        *_groups(model.groups),
        *(["u[]     inputs and errors alone", *_groups(model.control_groups)] if model.control_groups else []),
        *_mode(model),
        "",
        "Each function returns 1, or 0 where its result is not valid: near a singular position, where constraints",
        "become dependent, or where a number is not finite. No function allocates memory or has a state of its own.",
    ]
    return "/*\n" + "\n".join(f" * {_plain(line)}".rstrip() for line in lines) + "\n */"


def _mode(model: ExportedModel) -> list[str]:
    """Return what an export of one contact mode adds."""
    if model.switching is None:
        return []
    return [
        "s[]     what is positive as long as the contact mode lasts; all files of one system have the same p",
        *_groups(model.switching_groups),
        *(f"    {label}: sliding velocity {text}" for label, text in model.sliding.items()),
    ]


def _plain(line: str) -> str:
    """Return a line that neither ends the comment nor contains a trigraph."""
    return line.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?")


def _indexed(names: Sequence[str]) -> list[str]:
    return [f"    [{i}] {name}" for i, name in enumerate(names)]


def _groups(groups: Sequence[OutputGroup]) -> list[str]:
    lines: list[str] = []
    first = 0
    for group in groups:
        lines.append(f"    [{first}] {KINDS[group.kind]}: {', '.join(group.names)}")
        first += len(group.names)
    return lines


def enumerations(model: ExportedModel) -> str:
    """Return the indices of all arrays as constants."""
    coordinates, parameters = identifiers(model.coordinates), identifiers(model.parameters)
    states = [*(f"q_{own}" for own in coordinates), *(f"qd_{own}" for own in coordinates)]
    blocks = [
        _enumeration(model.name, "the state y", [*states, "STATES"]),
        _enumeration(model.name, "the parameters p", [*(f"p_{own}" for own in parameters), "PARAMETERS"]),
        f"enum {{{model.name}_COORDINATES = {model.n}}};",
        _offsets(model.name, "the outputs, by the first of each kind", "OUT", "OUTPUTS", model.groups),
    ]
    if model.control_groups:
        blocks.append(_offsets(model.name, "inputs and errors alone", "CONTROL", "CONTROL", model.control_groups))
    if model.switching is not None:
        blocks.append(_offsets(model.name, "what ends the mode", "SWITCHING", "SWITCHING", model.switching_groups))
    return "\n\n".join(blocks)


def _enumeration(prefix: str, about: str, names: Sequence[str]) -> str:
    return f"/* indices of {about} */\nenum {{\n" + ",\n".join(f"    {prefix}_{name}" for name in names) + "\n};"


def _offsets(prefix: str, about: str, kind: str, total: str, groups: Sequence[OutputGroup]) -> str:
    entries: list[str] = []
    first = 0
    for group in groups:
        entries.append(f"{kind}_{group.kind.upper()} = {first}")
        first += len(group.names)
    return _enumeration(prefix, about, [*entries, f"{total} = {first}"])


def interface(model: ExportedModel) -> str:
    """Return the declarations of the functions, each with a comment."""
    name, state = model.name, STATE_ARGUMENTS
    entries = [
        ("accelerations at a state", f"int {name}_acceleration({state}, double qdd[])"),
        ("all outputs at a state", f"int {name}_outputs({state}, double out[])"),
        ("the state after projection onto the constraints", f"int {name}_project({state}, double projected[])"),
        (
            "replaces y by the state after a step h of the classical Runge-Kutta method and a projection; y is not\n"
            "   changed if the step fails",
            f"int {name}_step(double y[], double t, double h, const double p[])",
        ),
        (
            "integrates from *t to end by adaptive steps of the Dormand-Prince method of order 8, at most so many; h\n"
            "   is the step to try, zero if unknown; atol[] has one entry per component of y. If it returns 0, y and\n"
            "   t are the last state that was reached",
            f"int {name}_integrate(double y[], double *t, double end, double *h, const double p[], double rtol,\n"
            f"    const double atol[], int most)",
        ),
    ]
    if model.control is not None:
        entries.insert(
            2, ("inputs of the actuators and errors of the servos", f"int {name}_inputs({state}, double u[])")
        )
    if model.switching is not None:
        entries += _switching_entries(name)
    if model.start is not None:
        entries.insert(
            0, ("sets the initial state and the parameters", f"void {name}_start(double *t, double y[], double p[])")
        )
    return "\n\n".join(f"/* {about} */\n{declaration};" for about, declaration in entries)


def _switching_entries(name: str) -> list[tuple[str, str]]:
    """Return the functions that only an export of one contact mode has."""
    return [
        ("what is positive as long as the contact mode lasts", f"int {name}_switching({STATE_ARGUMENTS}, double s[])"),
        (
            "the same step; if the mode ends within it, y and *t are those of its end, and *ended is the index in s\n"
            "   of what has become negative, otherwise -1",
            f"int {name}_step_to_switch(double y[], double *t, double h, const double p[], int *ended)",
        ),
        (
            "the same adaptive steps, up to the end of the mode",
            f"int {name}_integrate_to_switch(double y[], double *t, double end, double *h, const double p[],\n"
            f"    double rtol, const double atol[], int most, int *ended)",
        ),
    ]
