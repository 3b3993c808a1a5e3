"""Functions written in Python, by `da.function`: values, derivatives, jumps in time, and every refusal."""

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp

import dalembert as da

X, Y = da.coordinates("x y")
SINE = da.function("sine", lambda x, t: jnp.sin(x) * (1 + t))
TABLE = da.function("table", lambda x: float(np.interp(x, [-10, 10], [-30, 30])))  # 3 x


def particle(force):
    return da.System((X,), [[1]], (force,))


def test_a_force_and_a_constraint_equal_those_of_expressions():
    """Terms of the same system written by expressions: M, Q, A, b contain first and second derivatives."""
    for written, given in ((sp.sin(X) * (1 + da.t), SINE(X, da.t)), (sp.sin(X + Y) * 4, SINE(X + Y, sp.Integer(3)))):
        answers = [
            da.motion(
                da.System((X, Y), sp.diag(2, 1), (3 * f - Y, X.diff(da.t)), da.Constraint(Y - f, name="rail")),
                (0.3, 0.7),
                (-0.4, 1.1),
                0.6,
            )
            for f in (written, given)
        ]
        for name in ("acceleration", "constraint_matrix", "constraint_rhs", "applied_force", "multipliers"):
            assert getattr(answers[1], name) == pytest.approx(getattr(answers[0], name), rel=1e-13), name


def test_an_answer_needs_a_program_of_the_terms_alone():
    """Its solution by NumPy equals that by JAX, whose compilation takes ten times as long."""
    rail = da.Constraint(Y - SINE(X, da.t), name="rail")
    system = da.System((X, Y), sp.diag(2, 1), (-TABLE(X), X.diff(da.t)), (rail, da.Constraint(2 * rail.expression)))
    state = (0.3, 0.7), (-0.4, 1.1), 0.6
    found, dynamics = da.motion(system, *state), da.build(system)
    assert [key[0].__name__ for key in dynamics.programs] == ["compiled_terms"]
    numbers = (*map(np.asarray, state[:2]), np.asarray(state[2]), ())
    for formulation in (da.Factored(), da.PseudoInverse(), da.SingularMass()):
        answers = da.motion(system, *state, formulation=formulation), dynamics.answer(*numbers, formulation)
        for name in ("acceleration", "ideal_force", "reactions", "rank", "gauss", "free_acceleration"):
            one, other = (getattr(answer, name) for answer in answers)
            assert one == pytest.approx(np.asarray(other), rel=1e-12, abs=1e-14), name
    assert found.rank == 1
    assert [key[0].__name__ for key in dynamics.programs] == ["compiled_terms"]


def test_motion_work_and_expressions_of_a_traced_function():
    """x'' = −x by a function: cos t; its work is −x²/2, and the function may be asked for along the run."""
    spring = da.function("spring", lambda x: -x)
    run = da.simulate(particle(spring(X)), (1,), (0,), [0, 1, 2])
    assert run.q[:, 0] == pytest.approx(np.cos(run.t), abs=1e-9)
    assert run.evaluate(spring(X)) == pytest.approx(-np.cos(run.t), abs=1e-9)
    ledger = run.ledger()
    assert ledger["applied forces"] == pytest.approx(np.sin(run.t) ** 2 / 2, abs=1e-9)
    assert abs(ledger.audit).max() < 1e-10


def test_a_potential_by_a_function_is_differentiated():
    lagrangian = X.diff(da.t) ** 2 / 2 - SINE(X, da.t)
    system = da.System.from_lagrangian(lagrangian, coordinates=(X,))
    assert da.motion(system, (0.4,), (0,), 0.5).acceleration == pytest.approx(-np.cos(0.4) * 1.5, rel=1e-14)


def test_a_function_of_numpy_serves_as_a_force():
    run = da.simulate(particle(-TABLE(X)), (1,), (0,), [0, 1, 2])
    assert run.q[:, 0] == pytest.approx(np.cos(np.sqrt(3) * run.t), abs=1e-9)


@pytest.mark.parametrize("given", [jnp.where, lambda condition, a, b: a if condition else b])
def test_pulses_in_time_are_not_missed(given):
    """A push of 10 for 0.1 s in the middle of 100 s at rest gives the velocity 1."""
    pulse = da.function("pulse", lambda t: given((t > 50) & (t < 50.1), 10.0, 0.0))
    assert da.simulate(particle(pulse(da.t)), (0,), (0,), [0, 100]).qd[-1] == pytest.approx([1], abs=1e-9)


def test_jumps_beside_a_function_that_is_not_compiled_are_not_missed():
    pulse = sp.Heaviside(da.t - 50) * sp.Heaviside(sp.Rational(501, 10) - da.t) * 10
    system = da.System((X, Y), sp.eye(2), (pulse, -sp.polygamma(0, Y + 3)))
    assert da.simulate(system, (0, 0), (0, 0), [0, 50, 100]).qd[-1, 0] == pytest.approx(1, abs=1e-9)


def test_signals_keep_their_breakpoints_beside_a_function():
    """The integral of a record with kinks and of a constant function, to rounding."""
    gust = da.signal([0, 1, 2], [0, 3, 0], "linear", name="gust", extend="hold")
    run = da.simulate(particle(gust + da.function("two", lambda x: 2.0 + 0 * x)(X)), (0,), (0,), [0, 2, 4])
    assert run.qd[:, 0] == pytest.approx([0, 7, 11], abs=1e-12)


def test_events_contacts_and_ensembles():
    pull = da.function("pull", lambda y: -1.0 + 0 * y)
    floor = da.Constraint(sp.Ge(Y, 0), name="floor", restitution=0.5)
    system = da.System((Y,), [[1]], (pull(Y),), floor)
    run = da.simulate(system, (0.5,), (0,), [0, 1.5], events=[da.Event(pull(Y) + Y + 0.75, name="half")])
    assert [e.name for e in run.events[:2]] == ["half", "floor"]
    assert [e.t for e in run.events[:2]] == pytest.approx([np.sqrt(0.5), 1], abs=1e-12)
    members = da.simulate_ensemble(particle(pull(X)), [[0.0], [1.0]], [[0.0], [0.0]], [0, 2])
    assert members["q"].values[:, -1, 0] == pytest.approx([-2, -1], abs=1e-9)


def test_derivatives_of_a_flow():
    """x(1) = x0 cosh 1 for x'' = x."""
    flow = da.flow(particle(da.function("push", lambda x: x)(X)), [0, 1])
    slope = jax.jacfwd(lambda q: flow(q, np.zeros(1), {})[0][-1])(np.ones(1))
    assert slope == pytest.approx(np.cosh([[1.0]]), abs=1e-8)


def test_formulas():
    assert str(SINE(X, da.t)) == "sine(x(t), t)"
    assert str(SINE(X, da.t).diff(X)) == "sine(1,0)(x(t), t)"
    assert str(TABLE(X).diff(X)) == "table'(x(t))"
    assert r"\mathrm{sine}" in da.derive(particle(SINE(X, da.t))).to_latex()
    assert SINE(X, da.t) == SINE(X, da.t)
    assert SINE(X, da.t).subs({X: 0.5, da.t: 1}).evalf() == pytest.approx(2 * np.sin(0.5))


CURVED = da.System((X, Y), sp.eye(2), (0, -1), da.Constraint(Y - TABLE(X), name="rail"))
"""A constraint that needs derivatives of a function of NumPy."""


def moved(function):
    return lambda: da.motion(particle(da.function("f", function)(X)), (1.0,), (0,))


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: da.function("f", 3), "`function` must be callable, for `f`; got 3"),
        (lambda: da.function(abs, "f"), "`name` must be the name of the function, a text"),
        (lambda: da.function("f", lambda a, b: a)(X), "`f` must be called with the arguments of its Python function"),
        (lambda: da.function("f", abs)(), "`f` must be called with at least one expression"),
        (lambda: particle(SINE(X, 1) + da.function("sine", abs)(X)), "must have different names; given twice: `sine`"),
        (lambda: particle(sp.Function("u")(X, da.t)), r"undefined: `u`\. Make a Python function known by `u = da.func"),
        (lambda: particle(sp.Function("u")(da.t)), "or make them parameters, `da.signal` or `da.function`"),
        (moved(lambda x: jnp.stack([x, x])), r"function `f` must return one real number; it returns an array of sha"),
        (moved(lambda x: None), "function `f` must return one real number; it returns NoneType"),
        (moved(lambda x: x + 1j), "function `f` must return one real number; it returns complex128"),
        (moved(lambda x: missing), "function `f` must be a function of 1 numbers; it raised NameError"),  # noqa: F821
        (
            moved(lambda x: np.array([float(x)] * 2)),
            r"`f\(1\)` raised ValueError: it returned an array of shape \(2,\)",
        ),
        (moved(lambda x: jnp.log(-x)), r"must return a finite number at this state; `f\(1\)` is nan"),
        (moved(lambda x: [1 / (float(x) - 1)][0]), r"`f\(1\)` raised ZeroDivisionError"),
        (lambda: da.motion(CURVED, (0, 0), (0, 0)), "for constraint `rail` needs its derivatives; it is not"),
        (
            lambda: da.simulate(particle(TABLE(X)), (0,), (1,), [0, 1], solver=diffrax.Kvaerno5()),
            "function `table` must be one that JAX can differentiate, for this computation needs its derivatives",
        ),
        (lambda: da.linearize(particle(TABLE(X)), (0,), (0,)), "function `table` must be one that JAX can different"),
        (lambda: da.check(CURVED), "function `table` must be one that JAX can differentiate"),
        (
            lambda: da.simulate(particle(TABLE(X)), (0,), (1,), [0, 1], solver=da.Implicit()),
            "got a system with a function that cannot be compiled",
        ),
        (lambda: da.export_c(particle(SINE(X, 1)), "x.c"), "must use functions of the C library; `sine` is not one"),
        (lambda: da.page(particle(SINE(X, 1)), (0,), (0,), [0, 1], "x.html"), "machine code only; `sine` cannot be"),
        (lambda: particle(SINE(X, 1)).save("x.toml"), "must not need the Python function `sine`"),
    ],
)
def test_refusals(act, message):
    with pytest.raises(da.DalembertError, match=message):
        act()


def test_the_end_of_a_motion_names_the_function_that_failed():
    def limited(x):
        if float(x) > 1.2:
            raise ValueError("out of range")
        return 1.0

    with pytest.raises(da.SimulationError, match=r"`limited\(1\.2\)` raised ValueError: out of range") as caught:
        da.simulate(particle(da.function("limited", limited)(X)), (1,), (0,), [0, 1])
    assert caught.value.time == pytest.approx(np.sqrt(0.4), abs=1e-9)


def test_signals_are_checked_in_runs_with_events():
    gust = da.signal([0, 1, 2], [0, 3, 0], "linear", name="gust")
    with pytest.raises(da.InputError, match="must lie in the range of signal `gust`"):
        da.simulate(particle(gust), (0,), (0,), [0, 10], events=[da.Event(X - 1)])
    table = da.signal([0, 1, 2], [0, 3, 0], "linear", name="table", of=X)
    with pytest.raises(da.SimulationError, match="of signal `table` is 2"):
        da.simulate(particle(table), (1,), (0.1,), [0, 10], events=[da.Event(X - 100)])
    with pytest.raises(da.InputError, match="of signal `table` must lie in its range"):
        da.simulate(particle(table), (3,), (0.1,), [0, 10], events=[da.Event(X - 100)])


def test_events_of_special_functions():
    """The digamma function is zero at 1.461632144968362 (Gauss's x0)."""
    run = da.simulate(particle(sp.S.Zero), (1,), (1,), [0, 1], events=[da.Event(sp.polygamma(0, X), name="zero")])
    assert run.events[0].before[0] == pytest.approx(1.4616321449683623, abs=1e-12)


def test_a_function_that_ends_on_the_way_is_named() -> None:
    """The last state before x = 1 still has a value."""
    root = da.function("root", lambda u: jnp.sqrt(u))
    with pytest.raises(da.SimulationError, match=r"Just ahead `root\(-.*\)` is nan\."):
        da.simulate(da.System((X,), [[1]], (root(1 - X),)), (0,), (2,), [0, 3])
