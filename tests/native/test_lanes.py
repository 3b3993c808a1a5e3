"""Ensemble members side by side in the lanes of vectors: elementary functions, and independence of the neighbours."""

import ctypes

import mpmath
import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.equation.dynamics import native_of
from dalembert.lowering.build import build
from dalembert.native import batch
from dalembert.native.assembly import POINTER, MachineCode, load, store
from dalembert.native.elementary import IN_DOUBLE, IN_SINGLE, sine_and_cosine
from dalembert.native.lanes import GpuModule, LaneModule, rounded, widened
from dalembert.native.writer import Writer
from helpers import CHAIN_NUMBERS, chain, chain_state


@pytest.fixture(scope="module", params=[LaneModule(1), LaneModule(4), GpuModule()], ids=["1", "4", "gpu"])
def sincos(request):
    """Sine and cosine of numbers by the code for ensembles."""
    module, width = request.param, request.param.width
    w = Writer(module, "both", (POINTER, POINTER))
    x, out = w.function.args
    for place, value in enumerate(sine_and_cosine(w.b, load(w.b, x, 0))):
        store(w.b, value, out, place)
    w.b.ret_void()
    code = MachineCode(module)
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(code.address("both"))

    def found(values):
        memory, blocks = _aligned(3 * width), []
        for part in np.asarray(values, float).reshape(-1, width):
            memory[:width] = part
            run(memory.ctypes.data, memory[width:].ctypes.data)
            blocks.append(memory[width:].reshape(2, -1).copy())
        return np.concatenate(blocks, axis=1)

    found.code, found.most_units = code, 1.5 if isinstance(module, GpuModule) else 1.0
    return found


def _aligned(count):
    """Memory at an address that vectors need."""
    whole = np.empty(count + 8)
    return whole[-(whole.ctypes.data // 8) % 8 :][:count]


def test_sine_and_cosine_to_one_unit_in_the_last_place(sincos):
    """Small and large angles, and the doubles nearest to multiples of π/2, against 200 digits; to 1.5 on a GPU."""
    rng = np.random.default_rng(3)
    near = np.arange(-200, 200) * (np.pi / 2)
    far = np.round(rng.uniform(0, 2e9, 200)) * (np.pi / 2)
    angles = [rng.uniform(-1, 1, 400), rng.uniform(-1e3, 1e3, 400), rng.uniform(-3e9, 3e9, 400), near, far]
    angles += [np.nextafter(near, np.inf), [0.0, -0.0, 1e-300, 5e-324], 10.0 ** -rng.uniform(0, 300, 200)]
    x = np.concatenate(angles)
    with mpmath.workdps(200):
        expected = [[function(mpmath.mpf(float(a))) for a in x] for function in (mpmath.sin, mpmath.cos)]
        for values, exact in zip(sincos(x), expected, strict=True):
            units = [
                float(abs(mpmath.mpf(float(v)) - e)) / np.spacing(abs(float(e)))
                for v, e in zip(values, exact, strict=True)
            ]
            assert max(units) < sincos.most_units


def test_angles_that_are_not_reduced_are_nan(sincos):
    assert np.isnan(sincos([np.inf, -np.inf, np.nan, 1.1 * IN_DOUBLE.largest_angle])).all()


def test_sine_and_cosine_in_single_precision():
    module = LaneModule(1, single=True)
    w = Writer(module, "both", (POINTER, POINTER))
    x, out = w.function.args
    with module.in_double():
        value = load(w.b, x, 0)
    both = [widened(w.b, found) for found in sine_and_cosine(w.b, rounded(w.b, value))]
    with module.in_double():
        for place, found in enumerate(both):
            store(w.b, found, out, place)
    w.b.ret_void()
    code = MachineCode(module)
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(code.address("both"))
    rng = np.random.default_rng(3)
    angles = np.concatenate([rng.uniform(-size, size, 300) for size in (1e-3, 1, 1e3, 1e6)])
    angles = np.append(angles, np.arange(-200, 200) * np.pi / 2).astype(np.float32).astype(float)
    memory = np.empty(3)
    for angle in [*angles, 1.1 * IN_SINGLE.largest_angle, np.inf]:
        memory[0] = angle
        run(memory.ctypes.data, memory[1:].ctypes.data)
        if abs(angle) > IN_SINGLE.largest_angle:
            assert np.isnan(memory[1:]).all()
        else:
            units = np.spacing(np.abs([np.sin(angle), np.cos(angle)]).astype(np.float32))
            assert (abs(memory[1:] - [np.sin(angle), np.cos(angle)]) < units).all()


def rotor():
    """A point driven around by a motor that turns fast: angles beyond those that are reduced."""
    x, w = da.coordinates("x w")
    return da.System((x, w), sp.eye(2), (sp.sin(w), 0), ())


def test_members_with_angles_that_are_not_reduced_are_handed_over():
    many = da.simulate_ensemble(rotor(), [(0, 0), (0, 4e9)], [(0, 1), (0, 0)], [0, 1])
    assert many.attrs["handed_over"] == 1 and not many["reason"].values.any()
    np.testing.assert_allclose(many["q"][:, -1, 0], [1 - np.sin(1), np.sin(4e9) / 2], rtol=1e-8)


def moved(starts, **given):
    return da.simulate_ensemble(chain(2), *starts, [0, 0.5, 1], parameters=CHAIN_NUMBERS, **given)


@pytest.mark.parametrize("step", [None, 0.01])
def test_a_member_does_not_depend_on_its_neighbours(step):
    """Exactly: among others, alone, in another order, and beside one that fails."""
    starts = np.array([chain_state(2, k) for k in range(9)]).transpose(1, 0, 2)
    every = moved(starts, step=step)
    for chosen in ([4], [8, 4, 0], list(range(8, -1, -1))):
        some = moved(starts[:, chosen], step=step)
        np.testing.assert_array_equal(some["q"], every["q"][chosen])
    starts[:, 3] = np.nan
    others = [k for k in range(9) if k != 3]
    beside = moved(starts, step=step)
    np.testing.assert_array_equal(beside["qd"][others], every["qd"][others])
    assert "not finite" in beside["reason"].values[3]


@pytest.mark.parametrize("width", [1, 2, 8])
def test_the_width_of_vectors_changes_rounding_only(monkeypatch, width):
    starts = np.array([chain_state(2, k) for k in range(5)]).transpose(1, 0, 2)
    usual = moved(starts)
    monkeypatch.setattr(batch, "processor_width", lambda: width)
    compiled = native_of(build(chain(2))).motions
    compiled.cache_clear()
    other = moved(starts)
    compiled.cache_clear()
    np.testing.assert_allclose(other["q"], usual["q"], rtol=1e-12, atol=1e-13)


def test_functions_without_vector_code_are_called_for_each_lane():
    """A pendulum in a field with exp, atan2 and a signal, in ensembles and alone."""
    x, y = da.coordinates("x y")
    force = (sp.exp(-(x**2)) + sp.atan2(y, 1 + x**2), -9.81 * sp.tanh(1 + y**2))
    system = da.System((x, y), sp.eye(2), force, da.Constraint(x**2 + y**2 - 1, name="rod"))
    angle = np.linspace(0, 1, 6)
    starts = np.stack([np.cos(angle), -np.sin(angle)], axis=1)
    many = da.simulate_ensemble(system, starts, (0, 0), [0, 1])
    for k in (0, 5):
        np.testing.assert_allclose(many["q"][k], da.simulate(system, starts[k], (0, 0), [0, 1]).q, atol=1e-12)
    assert many.attrs["handed_over"] == 0
