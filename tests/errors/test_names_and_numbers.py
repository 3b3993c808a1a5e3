"""Names that are none, another `t`, matrices that are not symmetric in a small block, parameters declared positive."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da

x, y, z = da.coordinates("x y z")


@pytest.mark.parametrize("names", ["", " ", (), ("x", ""), 3, None])
def test_names_must_be_given(names: object) -> None:
    with pytest.raises(da.ModelError, match=r'`names` must hold at least one name; got .*`da\.coordinates\("x y"\)`'):
        da.coordinates(names)  # pyright: ignore
    with pytest.raises(da.ModelError, match=r'`names` must hold .*`da\.parameters\("m g"\)`'):
        da.parameters(names)  # pyright: ignore


def test_names_that_sympy_cannot_read() -> None:
    with pytest.raises(da.ModelError, match="`names` must be names; got 'x,,y', in which there is a missing symbol"):
        da.coordinates("x,,y")


def test_names_as_before() -> None:
    assert tuple(da.coordinates(["a", "b"])) == da.coordinates("a b")
    assert da.parameters("m1:3") == sp.symbols("m1:3")


def test_a_coordinate_of_another_time() -> None:
    own = sp.Function("x")(sp.Symbol("t", real=True))
    with pytest.raises(
        da.ModelError, match=r"`x\(t\)` has another symbol named `t`, with assumptions\. Take `t = da\.t`"
    ):
        da.System((own,), [[1]], (0,))
    with pytest.raises(
        da.ModelError, match=r"must be functions of `da\.t`; got `u`\. Make them with `da\.coordinates`"
    ):
        da.System((sp.Symbol("u"),), [[1]], (0,))


@pytest.mark.parametrize("size", [1.0, 1e-12, 1e-15])
def test_a_small_block_must_be_symmetric_too(size: float) -> None:
    """Each entry is measured by √(Mᵢᵢ Mⱼⱼ), so that the unit of a coordinate does not decide."""
    M = np.diag([1.0, 2 * size, 2 * size])
    M[1, 2], M[2, 1] = 0.5 * size, 0.6 * size
    with pytest.raises(da.InputError, match="`mass_matrix` must be symmetric"):
        da.constrained_motion(M, np.zeros(3), np.eye(3)[:1], np.zeros(1))
    with pytest.raises(da.ModelError, match=r"`mass_matrix` must be symmetric; entry \(2, 1\)"):
        da.System((x, y, z), M.tolist(), (0, 0, 0))
    M[2, 1] = 0.5 * size * (1 + 1e-14)  # rounding
    assert np.isfinite(da.constrained_motion(M, np.zeros(3), np.eye(3)[:1], np.zeros(1)).acceleration).all()
    da.System((x, y, z), M.tolist(), (0, 0, 0))


def declared(**assumptions: bool) -> da.System:
    k = sp.Symbol("k", **assumptions)
    return da.System((x,), [[1]], (-sp.sqrt(k**2) * x,))


@pytest.mark.parametrize(
    ("assumption", "word", "value"),
    [("positive", "positive", -4), ("positive", "positive", 0), ("nonnegative", "positive or zero", -1)],
)
def test_parameters_must_be_what_they_were_declared_to_be(assumption: str, word: str, value: float) -> None:
    """√k² is simplified to k where k is declared positive: with k = −4 the oscillator would run away."""
    system = declared(**{assumption: True})
    said = f"`k` must be {word}, as its symbol was declared; got {value}. Give such a value, or declare"
    with pytest.raises(da.InputError, match=said):
        da.simulate(system, [1], [0], [0, 1], parameters={"k": value})
    with pytest.raises(da.InputError, match=said):
        da.motion(system, [1], [0], parameters={"k": value})
    found = da.simulate_ensemble(system, [1], [0], [0, 1], parameters={"k": np.array([4.0, value])})
    assert list(found["reason"].values) == ["", f"`k` must be {word}, as its symbol was declared; got {value}."]


def test_other_parameters_may_have_any_sign() -> None:
    run = da.simulate(declared(), [1], [0], [0, 1], parameters={"k": -4})
    assert run.q[-1, 0] == pytest.approx(np.cos(2), abs=1e-8)
    assert da.simulate(declared(positive=True), [1], [0], [0, 1], parameters={"k": 4}).q[-1, 0] == pytest.approx(
        np.cos(2), abs=1e-8
    )


def test_a_lagrangian_is_no_text() -> None:
    x = da.coordinates("x")
    with pytest.raises(da.ModelError, match="`lagrangian` must be an expression; got the text 'x-1'"):
        da.System((x,), [[1]], (0,), lagrangian="x-1")


def test_expressions_are_no_names() -> None:
    """SymPy makes three symbols of it."""
    with pytest.raises(
        da.ModelError, match=r"`names` must be names, each with a letter in it; got `\+`, `1` in 'x \+ 1'"
    ):
        da.parameters("x + 1")
    assert [str(symbol) for symbol in da.parameters("m_1 λ q.x")] == ["m_1", "λ", "q.x"]
