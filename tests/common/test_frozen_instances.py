"""Instances of frozen dataclasses made without their ``__init__`` equal those of the usual way."""

import pickle
from dataclasses import dataclass, field, fields, replace

import pytest

from dalembert.common.frozen_instances import instance_of, replaced
from dalembert.equation.answer import ConstrainedMotion
from dalembert.integration.trajectory import Trajectory


@dataclass(frozen=True)
class Point:
    x: float
    y: float = 2.0
    marks: tuple[str, ...] = field(default_factory=tuple)


def test_instances_equal_those_of_the_constructor() -> None:
    made = instance_of(Point, {"x": 1.0, "marks": ()})
    assert made == Point(1.0) and hash(made) == hash(Point(1.0))
    assert replace(made, x=3.0) == Point(3.0) == replaced(made, {"x": 3.0})
    assert pickle.loads(pickle.dumps(made)) == made


@pytest.mark.parametrize("kind", [ConstrainedMotion, Trajectory])
def test_classes_that_are_made_so_check_nothing_in_their_constructor(kind: type) -> None:
    assert not hasattr(kind, "__post_init__")
    assert {f.name for f in fields(kind) if f.default_factory is not field().default_factory} == {
        "inputs",
        "servo_error",
    }
