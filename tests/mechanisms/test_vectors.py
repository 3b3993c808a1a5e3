"""Numbers and columns of numbers: plain ones are converted at once, with the same results as expressions."""

import numpy as np
import pytest
import sympy as sp

from dalembert.errors import ModelError
from dalembert.mechanisms.checking import tensor
from dalembert.mechanisms.vectors import constant_vector, number, product, quaternion_product, vector


@pytest.mark.parametrize("given", [0.5, 2.0, -0.0, 3, np.float64(0.25), 2**60, 1e300, 5e-324])
def test_plain_numbers_are_those_of_expressions(given):
    wanted = number(sp.sympify(given), "m")
    assert sp.srepr(number(given, "m")) == sp.srepr(wanted)
    assert sp.srepr(vector((given, 1), "v")) == sp.srepr(sp.ImmutableMatrix([wanted, 1]))


@pytest.mark.parametrize("given", [True, float("nan"), float("inf"), "x y"])
def test_other_objects_are_refused(given):
    with pytest.raises(ModelError, match=r"`m` must be a finite number"):
        number(given, "m")
    with pytest.raises(ModelError, match=r"`v` must be 2 or 3 finite numbers"):
        vector((given, 1), "v")
    with pytest.raises(ModelError, match=r"`v` must be 3 finite numbers"):
        constant_vector((1, 2), "v", (3,))


def test_inertia_of_expressions_is_that_of_numbers():
    exact, problems = tensor(((2, sp.sqrt(2) / 10, 0), (sp.sqrt(2) / 10, 2, 0), (0, 0, 3)), "body")
    assert problems == [] and exact[0, 1] == sp.sqrt(2) / 10
    for given in ((1, 1, 3), (1, 1, sp.Integer(3)), (1, 1, 9 / sp.Integer(3))):
        assert "may exceed the sum of the other two" in tensor(given, "body")[1][0]
    m = sp.Symbol("m")
    assert tensor((m, m, m), "body") == (sp.ImmutableMatrix(sp.diag(m, m, m)), [])


def test_product_of_quaternions_of_numbers():
    rng = np.random.default_rng(0)
    e, f = rng.normal(size=(2, 4, 5))
    wanted = [[float(x) for x in product(*pair)] for pair in zip(e.T, f.T, strict=True)]
    np.testing.assert_allclose(quaternion_product(e, f).T, wanted, rtol=0, atol=1e-14)
