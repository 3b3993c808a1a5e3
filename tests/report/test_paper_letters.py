"""The matrices of the papers: the symbols agree with the numbers, and both with the papers' equations."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from helpers import CHAIN_NUMBERS, chain, chain_state

LETTERS = ("B", "B_plus", "e", "a_s", "c_s", "T", "N", "D", "J")
NAMES = {
    "B": "scaled_constraint_matrix",
    "B_plus": "pseudo_inverse",
    "e": "misfit",
    "a_s": "scaled_free_acceleration",
    "c_s": "scaled_nonideal",
    "z": "scaled_nonideal",
    "T": "range_projector",
    "N": "null_projector",
    "V": "null_basis",
    "D": "range_gram",
    "E": "null_gram",
    "J": "extended_inverse",
}


def particle() -> tuple[da.System, dict, tuple, tuple]:
    case = da.gallery.case("particle")
    return case.system, dict(case.parameters), (0.1, 0.2, 0.7), (1.0, 0.49, -0.3)


def pendulum() -> tuple[da.System, dict, tuple, tuple]:
    return chain(1), CHAIN_NUMBERS, *chain_state(1)


def at(matrix: sp.Matrix, system: da.System, q, qd, numbers: dict) -> np.ndarray:
    names = system.coordinates
    state = {**dict(zip([x.diff(da.t) for x in names], qd, strict=True)), **dict(zip(names, q, strict=True))}
    values = {sp.Symbol(name): number for name, number in numbers.items()}
    return np.array(matrix.subs(state).subs(values), float)


@pytest.mark.parametrize("example", [particle, pendulum])
@pytest.mark.parametrize("letter", LETTERS)
def test_symbols_agree_with_numbers(example, letter: str) -> None:
    system, numbers, q, qd = example()
    point, derivation = da.motion(system, q, qd, parameters=numbers), da.derive(system)
    expected = np.asarray(getattr(point, letter))
    if letter == "J":  # depends on the basis of the null space; its product with Bᵀ does not
        found = at(derivation.J * derivation.B.T, system, q, qd, numbers)
        expected = point.J @ point.B.T
    else:
        found = at(getattr(derivation, letter), system, q, qd, numbers)
    np.testing.assert_allclose(found.reshape(expected.shape), expected, atol=1e-12)


@pytest.mark.parametrize("example", [particle, pendulum])
def test_equations_of_the_papers(example) -> None:
    """N-18 to 24, G-15, and E-20 to 22 with its appendix 2."""
    system, numbers, q, qd = example()
    point = da.motion(system, q, qd, parameters=numbers)
    values, vectors = np.linalg.eigh(point.mass_matrix)
    root = (vectors * np.sqrt(values)) @ vectors.T
    scaled = root @ point.acceleration
    np.testing.assert_allclose(
        scaled, point.N @ (point.a_s + point.c_s) + point.B_plus @ point.constraint_rhs, atol=1e-12
    )
    np.testing.assert_allclose(scaled - point.a_s, point.B_plus @ point.e + point.N @ point.z, atol=1e-12)
    np.testing.assert_allclose(point.J @ point.B.T, point.B_plus, atol=1e-12)
    ideal = root @ point.J @ (point.B.T @ point.constraint_rhs - point.D @ point.a_s)
    np.testing.assert_allclose(ideal, point.ideal_force, atol=1e-12)
    np.testing.assert_allclose(point.B @ point.V, 0, atol=1e-12)
    np.testing.assert_allclose(point.T + point.N, np.eye(len(q)), atol=1e-12)


@pytest.mark.parametrize(("letter", "name"), NAMES.items())
def test_letters_are_names(letter: str, name: str) -> None:
    system, numbers, q, qd = particle()
    for answer in (da.motion(system, q, qd, parameters=numbers), da.derive(system)):
        assert np.array_equal(np.asarray(getattr(answer, letter)), np.asarray(getattr(answer, name)))


def test_a_batch_has_no_letters() -> None:
    batch = da.constrained_motion(np.stack([np.eye(2)] * 3), np.ones((3, 2)), np.ones((3, 1, 2)), np.ones((3, 1)))
    with pytest.raises(da.InputError, match=r"belong to one state; got a batch of shape \(3,\)"):
        _ = batch.B_plus


def test_an_indefinite_mass_matrix_has_no_letters() -> None:
    case = da.gallery.case("indefinite-mass")
    point = da.motion(case.system, case.q0, case.qd0, formulation=da.Multipliers())
    with pytest.raises(da.MassMatrixError, match=r"must be positive definite, since scaled accelerations need M\^"):
        _ = point.N


def test_letters_that_are_too_long() -> None:
    with pytest.raises(da.ModelError, match="must be short to be written out; these are too long"):
        _ = da.derive(chain(4)).B_plus
