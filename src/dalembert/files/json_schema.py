# SPDX-License-Identifier: BSD-3-Clause
"""The JSON schema of model files, with which editors complete and check them. ``schema.json`` holds its text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from dalembert.files.control_settings import CONTROL_NUMBERS, LAYERS
from dalembert.files.run_settings import DRIFTS, FORMULATIONS, TOLERANCES
from dalembert.mechanisms.mechanism_document import BODIES, FORCES, JOINTS
from dalembert.model.document import Fields
from dalembert.model.law_document import CONTACT_KEYS, LAWS
from dalembert.model.signal import EXTENSIONS, INTERPOLATIONS
from dalembert.model.value_document import ASSUMPTIONS, FORMAT, ORDER

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_NUMBER: Schema = {"type": "number"}
_BOOLEAN: Schema = {"type": "boolean"}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name.replace(' ', '-')}"}


def _array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _either(*choices: Schema) -> Schema:
    return {"anyOf": list(choices)}


def _table(properties: Mapping[str, Schema], required: tuple[str, ...] = ()) -> Schema:
    table: Schema = {"type": "object", "properties": dict(properties), "additionalProperties": False}
    return table | ({"required": list(required)} if required else {})


def _by_name(values: Schema) -> Schema:
    return {"type": "object", "additionalProperties": values}


def _objects(kinds: Mapping[str, tuple[Any, Fields]]) -> Schema:
    """Return the schema of tables that name their ``type``."""
    return _either(*(_object(name, make, own) for name, (make, own) in kinds.items()))


def _object(name: str, make: Any, own: Fields) -> Schema:
    required = [one.name for one in fields(make) if one.name in own and one.default is MISSING]
    properties = {"type": {"const": name}, **{key: _ref(kind.shape) for key, kind in own.items()}}
    return _table(properties, ("type", *required))


def _definitions() -> dict[str, Schema]:
    expression, law = _ref("expression"), _objects(LAWS)
    return {
        "text": _TEXT,
        "boolean": _BOOLEAN,
        "expression": {"type": ["string", "number"]},
        "vector": _array(expression),
        "nested": _either(expression, _array(_ref("nested"))),
        "several": _either(expression, _array(expression)),
        "point": _either(_TEXT, _array(expression)),
        "by-coordinate": _either(_array(expression), _by_name(expression)),
        "start": _either(_array(expression), _by_name(_ref("several"))),
        "law": law,
        "laws": _either(_ref("law"), _array(_ref("law")), _ref("by-coordinate")),
        "equation": _either(_TEXT, _table({"name": _TEXT, "equation": _TEXT}, ("name", "equation"))),
        "times": _either(_TEXT, _array(expression)),
    }


def _settings() -> Schema:
    names = [one.name for cure in DRIFTS.values() for one in fields(cure)]
    arguments = {name: _ref("several") if name == "conserve" else _NUMBER for name in names}
    drift = _table({"type": {"enum": list(DRIFTS)}, **arguments}, ("type",))
    formulation = _table({"type": {"enum": list(FORMULATIONS)}, "weight": _ref("nested")}, ("type",))
    return _table(
        {"q0": _ref("start"), "qd0": _ref("start"), "times": _ref("times")}
        | dict.fromkeys(TOLERANCES, _ref("expression"))
        | {
            "keep": _either(_TEXT, _array(_TEXT)),
            "allow_violation": _BOOLEAN,
            "drift": _either({"enum": list(DRIFTS)}, drift),
        }
        | {"formulation": _either({"enum": list(FORMULATIONS)}, formulation)}
        | {"events": _array(_event()), "control": _control()}
    )


def _event() -> Schema:
    names = _either(_TEXT, _array(_TEXT))
    change = _table({"values": _by_name(_ref("expression")), "on": names, "off": names})
    own = {"name": _TEXT, "expression": _ref("expression"), "direction": {"enum": [-1, 0, 1]}, "stop": _BOOLEAN}
    return _table(own | {"then": change}, ("expression",))


def _control() -> Schema:
    layers = {key: _table(dict.fromkeys(known, _ref("expression"))) for key, (_, known) in LAYERS.items()}
    own = {"parameters": _by_name(_ref("expression")), **layers, "noise": _ref("several")}
    own |= dict.fromkeys(CONTROL_NUMBERS, _ref("expression"))
    # the model of a controller has the entries of a file, of which the schema is recursive
    return _table(own | {"model": {"type": "object"}})


def _of_arrays(terms: Mapping[str, Schema]) -> list[Schema]:
    """Return the schemas of the terms of a system stated by arrays: along its coordinates, and groups with ``over``."""
    along, over = _by_name(_ref("several")), _by_name(_ref("nested"))
    groups = [_table({key: own, "over": over}, (key, "over")) for key, own in terms.items()]
    return [along, _array(_either(*groups, along))]


def _parts() -> dict[str, Schema]:
    """Return the schemas of the entries of systems and mechanisms."""
    expression = _ref("expression")
    contact = {key: _ref(kind.shape) for key, kind in CONTACT_KEYS.items()}
    stated = {"name": _TEXT, "nonideal": _ref("laws"), "over": _by_name(_ref("nested")), **contact}
    constraint = _either(
        _table({"equation": _TEXT, **stated}, ("equation",)), _table({"inequality": _TEXT, **stated}, ("inequality",))
    )
    actuator = {"name": _TEXT, "along": _either(_TEXT, _ref("by-coordinate")), "limit": expression}
    requirement = _either(_ref("equation"), _array(_ref("equation")))
    servo = {"name": _TEXT, "requirement": requirement, "by": _either(_TEXT, _array(_TEXT))}
    servo |= {"settle": _ref("nested"), "cost": _ref("nested"), "metric": {"enum": ["mass", "euclidean"]}}
    extra = {"name": _TEXT, "coordinates": _array(_TEXT), "kinetic": expression, "potential": expression}
    extra |= {
        "determined_by": _ref("several"),
        "force": _ref("by-coordinate"),
        "start": _ref("vector"),
        "rates": _ref("vector"),
    }
    coefficient = {"owner": _TEXT, "name": _TEXT, "value": expression, "positive": _BOOLEAN, "otherwise": _TEXT}
    return {
        "coordinates": _array(_either(_TEXT, _table({"name": _TEXT, "count": _NUMBER}, ("name", "count")))),
        "mass_matrix": _either(
            _array(_ref("vector")),
            _table({"diagonal": _ref("vector")}, ("diagonal",)),
            _ref("nested"),
            *_of_arrays({"entries": _array(_array(expression))}),
        ),
        "applied_force": _either(
            _ref("by-coordinate"),
            expression,
            *_of_arrays({"components": _by_name(expression), "potential": expression}),
        ),
        "lagrangian": expression,
        "nonideal": _ref("laws"),
        "bodies": _array(_objects(BODIES)),
        "extra_coordinates": _array(_table(extra, ("name", "coordinates"))),
        "joints": _array(_objects(JOINTS)),
        "forces": _array(_objects(FORCES)),
        "constraints": _array(_either(_TEXT, constraint)),
        "actuators": _array(_table(actuator, ("name", "along"))),
        "servos": _array(_table(servo, ("name", "requirement"))),
        "coefficients": _array(_table(coefficient, ("owner", "name", "value"))),
    }


def schema() -> Schema:
    """Return the JSON schema of model files."""
    expression, assumptions = _ref("expression"), _table(dict.fromkeys(ASSUMPTIONS, _BOOLEAN))
    parameter = _table({"value": _ref("several"), "unit": _TEXT, "assumptions": assumptions, "count": _NUMBER})
    check = {"what": _TEXT, "expression": expression, "expected": expression, "tolerance": expression}
    texts = {"kind": {"enum": list(INTERPOLATIONS)}, "extend": {"enum": list(EXTENSIONS)}, "file": _TEXT}
    entries: dict[str, Schema] = {
        "format": {"const": FORMAT},
        **dict.fromkeys(("title", "about", "source"), _TEXT),
        "parameters": _either(_array(_TEXT), _by_name(_either(_ref("several"), parameter))),
        "signals": _by_name(_table({key: _either(_TEXT, _array(_NUMBER)) for key in ("times", "values")} | texts)),
        "definitions": _by_name(expression),
        **_parts(),
        "simulate": _settings(),
        "units": _by_name(_TEXT),
        "checks": _array(_table(check | {"at": expression}, ("expression", "expected", "tolerance"))),
        "drawing": _table({"points": _by_name(_ref("vector")), "links": _array(_array(_TEXT))}, ("points",)),
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "dalembert model file",
        **_table({key: entries[key] for key in ORDER}, ("format",)),
        "$defs": _definitions(),
    }


def schema_text() -> str:
    """Return the text of ``schema.json``."""
    return json.dumps(schema(), indent=1) + "\n"
