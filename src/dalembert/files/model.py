# SPDX-License-Identifier: BSD-3-Clause
"""Models: a system or a mechanism with the numbers to run it, as a model file holds them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from dalembert.common.keywords import require_keywords
from dalembert.common.names import listed, quoted, summary
from dalembert.errors import InputError
from dalembert.files.model_check import ModelCheck, values_of, write_check
from dalembert.files.run_settings import write_settings
from dalembert.integration.trajectory import Trajectory
from dalembert.mechanisms.cancelled_parameters import cancelled_parameters
from dalembert.mechanisms.mechanism import Mechanism
from dalembert.mechanisms.mechanism_assembly import Assembly
from dalembert.mechanisms.mechanism_document import mechanism_document
from dalembert.model.document import write_expression
from dalembert.model.system import System
from dalembert.model.system_document import system_document
from dalembert.model.value_document import array_statement, save_document, value_entries, values_by_name
from dalembert.verbs import simulate


def _frozen(given: Any) -> Any:
    return MappingProxyType(dict(given))


@dataclass(frozen=True, kw_only=True, repr=False)
class ModelFile:
    """A system, and the numbers to run it: the content of a model file.

    system          a ``da.System``
    mechanism       the ``da.Mechanism`` that defines the system; None if the file states the system itself
    parameters      values by name
    q0, qd0         the start; None if the file has none. That of a mechanism is then found by ``assemble``
    keep            quantities that ``assemble`` keeps at their given values, such as "spin of crank"
    times           of the output, None if the file has none
    settings        further arguments of ``da.simulate``: ``rtol``, ``drift`` and so on
    units           by name of a coordinate or parameter, and "t"
    title, about, source    texts
    checks          known properties of the motion
    points, links   for animations: two or three expressions by name, and pairs of names to connect
    """

    system: System
    mechanism: Mechanism | None = None
    parameters: Mapping[str, float] = field(default_factory=dict[str, float])
    q0: tuple[float, ...] | None = None
    qd0: tuple[float, ...] | None = None
    keep: tuple[str, ...] = ()
    times: Any = None
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    units: Mapping[str, str] = field(default_factory=dict[str, str])
    title: str = ""
    about: str = ""
    source: str = ""
    checks: tuple[ModelCheck, ...] = ()
    points: Mapping[str, tuple[Any, ...]] = field(default_factory=dict[str, "tuple[Any, ...]"])
    links: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        for name in ("parameters", "settings", "units", "points"):
            object.__setattr__(self, name, _frozen(getattr(self, name)))

    def __repr__(self) -> str:
        kind = "system" if self.mechanism is None else "mechanism"
        title = f" {self.title!r}" if self.title else ""
        return summary(
            f"ModelFile{title}",
            f"{kind} of {listed(self.system.coordinate_names)}",
            listed(self.parameters, "values of"),
            f"{len(self.checks)} checks" if self.checks else "",
        )

    def start(self, parameters: Any = None) -> tuple[Any, Any]:
        """Return the start (q0, qd0); that of a mechanism without one is found by ``assemble``.

        Raises
        ------
        InputError    if there is neither
        """
        if self.q0 is not None and self.qd0 is not None:
            return self.q0, self.qd0
        if self.mechanism is None:
            missing = [name for name, value in (("q0", self.q0), ("qd0", self.qd0)) if value is None]
            raise InputError(
                f"the model must have an initial state; there is no {quoted(missing)}. Give it in the table "
                f"`[simulate]` of the file, or pass it as an argument."
            )
        q, qd = self.assembly(parameters)
        return (q if self.q0 is None else self.q0), (qd if self.qd0 is None else self.qd0)

    def assembly(self, parameters: Any = None) -> Assembly:
        """Return the state found by ``assemble``, with the given quantities of bodies that it changed.

        Raises
        ------
        InputError    if the model is not a mechanism
        """
        if self.mechanism is None:
            raise InputError("the model must be a mechanism to be assembled; it is a system.")
        return self.mechanism.assemble(keep=self.keep, t=self._first_time, parameters=self._values(parameters))

    @property
    def _first_time(self) -> float:
        return 0.0 if self.times is None else float(self.times[0])

    def _values(self, parameters: Any) -> dict[str, float]:
        changed = {} if parameters is None else values_by_name(parameters, array_statement(self.system))
        return {**self.parameters, **changed}

    def simulate(
        self, *, parameters: Any = None, q0: Any = None, qd0: Any = None, times: Any = None, **settings: Any
    ) -> Trajectory:
        """Return the motion of the model, optionally with another initial state or other parameters, times or settings.

        Further arguments are those of ``da.simulate``.

        >>> import dalembert as da
        >>> x = da.coordinates("x")
        >>> falling = ModelFile(system=da.System((x,), [[1]], (-10,)), q0=(0,), qd0=(0,), times=(0, 1))
        >>> print(falling.simulate()["x"])
        [ 0. -5.]
        """
        require_keywords(settings, simulate, "da.simulate")
        if times is None and self.times is None:
            raise InputError("the model must have `times`; give them in `[simulate]` of the file or as an argument.")
        given = (None, None) if q0 is not None and qd0 is not None else self.start(parameters)
        return simulate(
            self.system,
            given[0] if q0 is None else q0,
            given[1] if qd0 is None else qd0,
            self.times if times is None else times,
            parameters=self._values(parameters),
            **{**self.settings, **settings},
        )

    def failed_checks(self, run: Trajectory) -> tuple[str, ...]:
        """Return a sentence about every check that a trajectory does not pass."""
        found: list[str] = []
        for check in self.checks:
            got, expected = check.values(self.system, run).T
            k = int(np.argmax(np.abs(got - expected)))
            if not abs(got[k] - expected[k]) <= check.tolerance:
                found.append(f"{check.what}: got {got[k]:.10g}, expected {expected[k]:.10g} ± {check.tolerance:g}.")
        return tuple(found)

    def points_along(self, run: Trajectory) -> dict[str, tuple[Any, ...]]:
        """Return the points for an animation along a trajectory, by name."""
        return {name: tuple(values_of(self.system, own, run).T) for name, own in self.points.items()}

    def save(self, path: str | Path) -> Path:
        """Write the model to a TOML file, which ``da.load`` reads, and return its path.

        Raises
        ------
        InputError    if the path has another extension or no directory, or a setting cannot be written
        ModelError    if an expression contains a function that the grammar of model files does not have
        """
        return save_document(path, model_document(self))


def model_document(model: ModelFile) -> dict[str, Any]:
    """Return a model as a document."""
    texts = {key: getattr(model, key) for key in ("title", "about", "source") if getattr(model, key)}
    parts = system_document(model.system) if model.mechanism is None else mechanism_document(model.mechanism)
    further = {name for event in model.settings.get("events", ()) for name in event.parameters}
    further |= {*(() if model.mechanism is None else cancelled_parameters(model.mechanism))}
    values = value_entries(model.system, model.parameters, model.q0, model.qd0, model.times, model.units, further)
    settings = write_settings(model.settings, model.system)
    settings |= {"keep": list(model.keep)} if model.keep else {}
    if settings:
        values["simulate"] = values.get("simulate", {}) | settings
    if model.checks:
        values["checks"] = [write_check(check) for check in model.checks]
    if model.points:
        points = {name: [write_expression(own) for own in pair] for name, pair in model.points.items()}
        values["drawing"] = {"points": points, "links": [list(link) for link in model.links]}
    return texts | parts | values
