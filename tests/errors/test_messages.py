"""One test per message: what must hold, what was found, what to do."""

import pickle

import diffrax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp
from scipy.interpolate import CubicSpline

import dalembert as da
from helpers import pendulum, skate_particle

x, y, z = da.coordinates("x y z")
xd = x.diff(da.t)
k = da.parameters("k")
G = {"g": 9.81}


def system(**changes) -> da.System:
    fields = {"coordinates": (x, y), "mass_matrix": sp.eye(2), "applied_force": (0, 0)}
    return da.System(**(fields | changes))


MODELS = {
    r"`coordinates` must hold at least one": lambda: system(coordinates=()),
    r"`coordinates` must be functions of `da.t`; got `k`": lambda: system(coordinates=(x, k)),
    r"`coordinates` must differ from one another; given twice: `x`": lambda: system(coordinates=(x, x)),
    r"`mass_matrix` must have shape \(2, 2\).*got \(3, 3\)": lambda: system(mass_matrix=sp.eye(3)),
    r"`mass_matrix` must be symmetric; entry \(1, 0\) is `2` and entry \(0, 1\) is `0`": lambda: system(
        mass_matrix=[[1, 0], [2, 1]]
    ),
    r"`applied_force` must have one entry per coordinate \(2: `x`, `y`\); got 3": lambda: system(
        applied_force=(0, 0, 0)
    ),
    r"`applied_force` must give a value for every coordinate; missing: `y`": lambda: system(applied_force={"x": 1}),
    r"`applied_force` must not contain accelerations; got `x''`": lambda: system(applied_force=(x.diff(da.t, 2), 0)),
    r"`applied_force` must write time as `da.t`": lambda: system(applied_force=(sp.Symbol("t", real=True), 0)),
    r"constraint `c` must use only the system's coordinates \(`x`, `y`\); unknown: `z`": lambda: system(
        constraints=da.Constraint(x - z, name="c")
    ),
    r"constraint `c` must be linear in the accelerations; `x''\*\*2` is not": lambda: system(
        constraints=da.Constraint(x.diff(da.t, 2) ** 2 + x.diff(da.t, 2), name="c")
    ),
    r"constraint `c` must not contain `da.ideal_force`": lambda: system(
        constraints=da.Constraint(x - da.ideal_force(x), name="c")
    ),
    r"constraint names must be unique; given twice: `c`": lambda: system(
        constraints=[da.Constraint(x, name="c"), da.Constraint(y, name="c")]
    ),
    r"a constraint must not have the name of a coordinate; got `x`": lambda: system(
        constraints=da.Constraint(x, name="x")
    ),
    r"a parameter must not have the name of a coordinate; got `x`": lambda: system(applied_force=(sp.Symbol("x"), 0)),
    r"`constraints` must hold `da.Constraint` objects; got x\(t\)": lambda: system(constraints=[x]),
    r"`nonideal` must have one entry per coordinate": lambda: system(nonideal=(0, 0, 0)),
    r"the nonideal law Prescribed must not contain accelerations": lambda: system(nonideal=(x.diff(da.t, 2), 0)),
    r"an unnamed constraint must contain a coordinate made by `da.coordinates`; got `k`": lambda: da.Constraint(k),
    r"constraint `c` must be an equation.*always True": lambda: da.Constraint(sp.Eq(x, x), name="c"),
    r"constraint `c` must be one SymPy expression.*got list": lambda: da.Constraint([x, y], name="c"),
    r"must not contain derivatives beyond the second": lambda: da.Constraint(x.diff(da.t, 3)),
    r"`matrix` must have one column per coordinate \(2\); got 3": lambda: da.pfaffian((x, y), [[1, 2, 3]]),
    r"`vector` must have one entry per row of `matrix` \(1\); got 2": lambda: da.pfaffian((x, y), [[1, 2]], [1, 2]),
    r"`names` must have one entry per row of `matrix` \(1\); got 2": lambda: da.pfaffian((x, y), [[1, 2]], names="ab"),
    r"`applied_force` must use functions that can be computed; `fresnels` has no numerical form": lambda: da.motion(
        da.System((x,), [[1]], (sp.fresnels(x),)), (0.5,), (0,)
    ),
    r"`applied_force` must use functions that can be computed; `KroneckerDelta` has no": lambda: da.motion(
        da.System((x,), [[1]], (sp.KroneckerDelta(x, 1),)), (0.5,), (0,)
    ),
    r"`applied_force` must use functions that can be computed; `zeta` has no numerical form": lambda: da.build(
        system(applied_force=(sp.zeta(x), 0))
    ),
    r"`constraints` must hold `da.Constraint` objects; got x\(t\) - y\(t\)": lambda: system(constraints=x - y),
    r"`nonideal` must be a law, several laws, or one expression per coordinate; got 0": lambda: system(nonideal=0),
    r"`mass_matrix` must be rows of expressions, all of one length; got \[\[1, 0\], \[1\]\]": lambda: system(
        mass_matrix=[[1, 0], [1]]
    ),
    r"`mass_matrix` must have one row and one column per coordinate; got the shape \(2, 0\)": lambda: system(
        mass_matrix=[[], []]
    ),
    r"`applied_force` must be an expression; got the text '1 \+'": lambda: system(applied_force=("1 +", 0)),
    r"`applied_force` must not contain `da.ideal_force`": lambda: system(applied_force=(da.ideal_force(x), 0)),
    r"`applied_force` must have its derivatives evaluated; call `.doit\(\)`": lambda: system(
        applied_force=(sp.Derivative(x**2, da.t), 0)
    ),
    r"unknown: `z`": lambda: system(mass_matrix=[[1, z], [2 * z, 1]]),
    r"`coordinates` must be functions of `da.t`; got `x`": lambda: da.System.from_lagrangian(x, ("x",)),
    r"`constraints` must hold `da.FunctionConstraint` objects": lambda: da.FunctionSystem(
        jnp.eye, jnp.zeros, constraints=(jnp.sum,)
    ),
    r"`mass_matrix` must be a function; got 1": lambda: da.FunctionSystem(1, jnp.zeros),
    r"`coordinates` must differ from one another; given twice: `a`": lambda: da.FunctionSystem(
        jnp.eye, jnp.zeros, coordinates="a a"
    ),
    r"must name its `coordinates` and `parameters` before it is built": lambda: da.build(
        da.FunctionSystem(jnp.eye, jnp.zeros)
    ),
    r"either `mass_matrix` and `applied_force` or a `lagrangian`": lambda: da.FunctionSystem(),
    r"`applied_force` must be given along with `mass_matrix`": lambda: da.FunctionSystem(mass_matrix=jnp.eye),
    r"`level` must be one of": lambda: da.FunctionConstraint(jnp.sum, "speed"),
}


@pytest.mark.parametrize("message", MODELS)
def test_model_messages(message: str) -> None:
    with pytest.raises(da.ModelError, match=message):
        MODELS[message]()


def test_all_problems_of_a_model_come_in_one_error() -> None:
    with pytest.raises(da.ModelError, match="The model has 3 problems") as caught:
        system(mass_matrix=sp.eye(3), applied_force=(0,), constraints=da.Constraint(x - z, name="c"))
    assert len(caught.value.problems) == 3


def move(q=(0.6, -0.8), qd=(0, 0), t=0.0, parameters=G, **options):
    return da.motion(pendulum(), q, qd, t, parameters=parameters, **options)


INPUTS = {
    r"`parameters` must give a value for every parameter; missing: `g`": lambda: move(parameters={}),
    r"`parameters` must name only parameters of the model; `h` is unknown. The model has: `g`": lambda: move(
        parameters={"g": 1, "h": 2}
    ),
    r"`gg` is unknown. Did you mean `g`": lambda: move(parameters={"g": 1, "gg": 2}),
    r"`parameters` must be finite; `g` is not": lambda: move(parameters={"g": np.nan}),
    r"`parameters\[g\]` must hold numbers; got 'fast'": lambda: move(parameters={"g": "fast"}),
    r"`parameters\[g\]` must hold numbers below 1e308; it holds a larger one": lambda: move(parameters={"g": 10**400}),
    r"`parameters` must hold one number per name; `g` has shape \(2,\)": lambda: move(parameters={"g": [1, 2]}),
    r"`parameters` must be a mapping from names to numbers; got 9.81": lambda: move(parameters=9.81),
    r"`q` must have one entry per coordinate \(2: `x`, `y`\); got 3": lambda: move(q=(1, 2, 3)),
    r"`q` must give a value for every coordinate; missing: `y`": lambda: move(q={"x": 1}),
    r"`qd` must be finite; `y` is not": lambda: move(qd=(0, np.inf)),
    r"`q` must be a sequence or a mapping by name; got 1": lambda: move(q=1),
    r"`t` must be one finite number; got nan": lambda: move(t=np.nan),
    r"`t` must be one finite number; got \[0, 1\]": lambda: move(t=[0, 1]),
    r"`formulation` must be an object such as `da.Factored\(\)`; got 'fast'": lambda: move(formulation="fast"),
    r"`drift` must be a drift cure such as `da.Projection\(\)`, or None; got 'projection'": lambda: start(
        drift="projection"
    ),
    r"`rtol` must be one finite number": lambda: start(rtol=[1, 2]),
    r"the arguments must be arrays of numbers": lambda: da.constrained_motion("M", [0], [[1]], [0]),
    r"`applied_force` must be finite at this state; got \[inf\]": lambda: da.motion(
        da.System(x, [[1]], [1 / x]), [0], [0]
    ),
    r"`nonideal` must be finite at this state": lambda: da.motion(
        da.System(x, [[1]], [0], nonideal=[sp.sqrt(x)]), [-1], [0]
    ),
    r"`applied_force` must be finite at this state; got \[nan\]": lambda: da.simulate(
        da.System(x, [[1]], [sp.sqrt(x)]), [-1], [0], (0, 1)
    ),
    r"`parameters` must give a value for every parameter; missing: `h`": lambda: da.motion(
        da.FunctionSystem(lambda q, qd, t, p: jnp.eye(1), lambda q, qd, t, p: p["h"] * q), [0], [0]
    ),
    r"`mass_matrix` must be symmetric; got": lambda: da.motion(
        da.FunctionSystem(lambda q, qd, t, p: jnp.array([[2.0, 1], [0, 2]]), lambda q, qd, t, p: q), [1, 1], [0, 0]
    ),
    r"`q` must be a sequence or a mapping by name; got 0.0": lambda: da.motion(
        da.FunctionSystem(lambda q, qd, t, p: jnp.eye(1), lambda q, qd, t, p: q), 0.0, [0]
    ),
    r"`system` must be a `da.System`": lambda: da.motion(3, (0,), (0,)),
    r"`times` must increase; entry 2 is 0.5 after 1": lambda: start(times=(0, 1, 0.5)),
    r"`times` must be a sequence of at least two times": lambda: start(times=[0]),
    r"`times` must hold numbers": lambda: start(times=["now", "later"]),
    r"`rtol` must be a positive number; got -1": lambda: start(rtol=-1),
    r"`solver` must be `da.Implicit\(\)`, or a diffrax solver": lambda: start(solver=da.Implicit),
    r"`solver` must estimate its error; Euler does not. Wrap it in `diffrax.HalfSolver`": lambda: start(
        solver=diffrax.Euler()
    ),
    r"`solver` must be one for ordinary differential equations; SemiImplicitEuler is for": lambda: start(
        solver=diffrax.SemiImplicitEuler(), step=0.1
    ),
    r"`max_steps` must be a whole number, at least 1; got 10.5": lambda: start(max_steps=10.5),
    r"`alpha` must be positive": lambda: da.Baumgarte(0, 1),
    r"`iterations` must be a whole number, at least 1": lambda: da.Projection(0),
    r"`mass_matrix` must have shape \(..., 2, 2\).*got \(3, 3\)": lambda: da.constrained_motion(
        np.eye(3), [0, 0], [[1, 0]], [0]
    ),
    r"`applied_force` must be finite": lambda: da.constrained_motion(np.eye(2), [0, np.nan], [[1, 0]], [0]),
    r"`mass_matrix` must be symmetric": lambda: da.constrained_motion([[1, 2], [0, 1]], [0, 0], [[1, 0]], [0]),
    r"the batch axes of the arguments must fit together": lambda: da.constrained_motion(
        np.ones((2, 1, 1)), np.ones((3, 1)), [[1]], [0]
    ),
    r"`displacement` must have 2 components; got shape \(3,\)": lambda: move().virtual_work([1, 2, 3]),
    r"`displacement` must be virtual, A v = 0; row 0 gives": lambda: move().virtual_work([1, 1]),
    r"`weight` must have shape \(3,\) or \(3, 3\)": lambda: move(formulation=da.StackedLeastSquares(np.ones(5))),
    r"`weight` must be positive definite; its smallest eigenvalue is -1": lambda: move(
        formulation=da.StackedLeastSquares(np.array([1, 1, -1.0]))
    ),
}


def start(q0=(0.6, -0.8), qd0=(0, 0), times=(0, 1), parameters=G, **options) -> da.Trajectory:
    return da.simulate(pendulum(), q0, qd0, times, parameters=parameters, **options)


@pytest.mark.filterwarnings("ignore:invalid value encountered in sqrt")
@pytest.mark.parametrize("message", INPUTS)
def test_input_messages(message: str) -> None:
    with pytest.raises(da.InputError, match=message):
        INPUTS[message]()


def test_inconsistent_start_names_constraint_violation_and_remedy() -> None:
    with pytest.raises(
        da.StateError, match=r"`rod` is violated by 2.1e-01 at `q0`.*da.consistent_state\(system, q0, qd0"
    ):
        start(q0=(1.1, 0))
    with pytest.raises(da.StateError, match=r"`rod` is violated by 2.0e\+00 at `qd0`"):
        start(q0=(1, 0), qd0=(1, 0))
    with pytest.raises(da.StateError, match=r"`skate` is violated by 1.0e\+00 at `qd0`"):
        da.simulate(skate_particle(), (0, 0, 0), (0, 1, 0), (0, 1), parameters={"a0": 0, "g": 1})


def test_no_consistent_state_names_the_culprits() -> None:
    impossible = da.System((x, y), sp.eye(2), (0, 0), da.Constraint(x**2 + y**2 + 1, name="imaginary"))
    with pytest.raises(da.StateError, match=r"`imaginary` remains violated by 1.0e\+00.*start from a guess nearer"):
        da.consistent_state(impossible, (1, 1), (0, 0))


def test_contradictory_constraints_are_named() -> None:
    left, right = da.Constraint(x.diff(da.t, 2) - 1, name="left"), da.Constraint(x.diff(da.t, 2) - 2, name="right")
    innocent = da.Constraint(y.diff(da.t, 2), name="innocent")
    torn = system(constraints=(left, innocent, right))
    with pytest.raises(da.ConstraintError, match=r"`left`, `right` contradict one another.*StackedLeastSquares"):
        da.motion(torn, (0, 0), (0, 0))
    with pytest.raises(da.ConstraintError, match="`left`, `right` contradict"):
        da.simulate(torn, (0, 0), (0, 0), (0, 1))
    point = da.motion(torn, (0, 0), (0, 0), throw=False)
    assert point.inconsistency > 0.1
    between = da.motion(torn, (0, 0), (0, 0), formulation=da.StackedLeastSquares())
    np.testing.assert_allclose(between.acceleration, [1.5, 0], atol=1e-14)
    with pytest.raises(da.ConstraintError, match=r"row 0, row 1 contradict one another in batch entry \(1,\)"):
        da.constrained_motion(np.eye(1), [0], [[1], [1]], [[0, 0], [0, 1]])


def test_a_constraint_that_cannot_be_met_at_all() -> None:
    """A zero row with a nonzero right side."""
    with pytest.raises(da.ConstraintError, match="row 0 has no gradient there"):
        da.constrained_motion(np.eye(2), [0, 0], [[0, 0]], [1])


def test_redundant_rows_with_multipliers() -> None:
    with pytest.raises(da.ConstraintError, match=r"`Multipliers` must have independent constraints; got 2 of rank 1"):
        da.constrained_motion(np.eye(2), [0, 0], [[1, 0], [1, 0]], [0, 0], formulation=da.Multipliers())


def test_mass_matrix_messages() -> None:
    with pytest.raises(da.MassMatrixError, match=r"singular: vᵀMv = 0 for v = \(0, 1\).*SingularMass"):
        da.constrained_motion(np.diag([1.0, 0]), [0, 0], [[1, 0]], [0])
    with pytest.raises(da.MassMatrixError, match=r"indefinite: vᵀMv = -2 for v = \(0, 1\).*Multipliers"):
        da.constrained_motion(np.diag([1.0, -2]), [0, 0], [[1, 0]], [0])
    with pytest.raises(da.MassMatrixError, match=r"the saddle matrix .* must be regular"):
        da.constrained_motion(np.diag([1.0, 0]), [0, 0], [[1, 0]], [0], formulation=da.Multipliers())
    with pytest.raises(da.MassMatrixError, match=r"\[M; A\] must have full column rank 2"):
        da.constrained_motion(np.diag([1.0, 0]), [0, 0], [[1, 0]], [0], formulation=da.SingularMass())


def test_function_system_messages() -> None:
    def motion(**fields) -> None:
        given = {"mass_matrix": lambda q, qd, t, p: jnp.eye(2), "applied_force": lambda q, qd, t, p: jnp.zeros(2)}
        da.motion(da.FunctionSystem(**(given | fields)), (0, 0), (0, 0))

    with pytest.raises(
        da.ModelError, match=r"`mass_matrix` must return shape \(2, 2\) for 2 coordinates; got \(3, 3\)"
    ):
        motion(mass_matrix=lambda q, qd, t, p: jnp.eye(3))
    with pytest.raises(da.ModelError, match="constraint `c` must be linear in the accelerations"):
        motion(constraints=da.FunctionConstraint(lambda q, qd, qdd, t, p: qdd[0] ** 2, "acceleration", "c"))
    with pytest.raises(da.ModelError, match=r"constraint `c` must return a number or a vector; got shape \(1, 2\)"):
        motion(constraints=da.FunctionConstraint(lambda q, t, p: q[None], "position", "c"))
    with pytest.raises(da.ModelError, match="constraint names must be unique; given twice: `c`"):
        motion(constraints=[da.FunctionConstraint(lambda q, t, p: q[0], "position", "c")] * 2)


def failure(model: da.System, q0, qd0, times, **options) -> da.SimulationError:
    with pytest.raises(da.SimulationError) as caught:
        da.simulate(model, q0, qd0, times, **options)
    return caught.value


def test_failure_by_blow_up_says_where_and_keeps_the_motion() -> None:
    """ẋ = 1/(1 − t): ẍ = ẋ² runs off to infinity at t = 1."""
    error = failure(da.System((x,), [[1]], [xd**2]), [0], [1], np.linspace(0, 2, 21))
    assert error.time == pytest.approx(1, abs=1e-6)
    assert "(a) the forces grow without bound" in str(error)
    assert "error.trajectory" in str(error)
    assert 11 <= len(error.trajectory) <= 12  # those up to 0.9 or 1.0, and the last state reached
    np.testing.assert_allclose(error.trajectory["x"][:9], -np.log(1 - error.trajectory.t[:9]), atol=1e-7)


def test_failure_by_nan() -> None:
    """√x at x = 1 − t: not a number after t = 1."""
    error = failure(da.System((x,), [[1]], [sp.sqrt(x) / 1e9]), [1], [-1], (0, 2))
    assert error.time == pytest.approx(1, abs=1e-3)
    assert np.isfinite(error.trajectory.q).all()


def test_failure_by_contradiction_on_the_way() -> None:
    """Two drives that agree until t = 1 and no longer."""
    late = sp.Piecewise((0, da.t < 1), (da.t - 1, True))
    torn = da.System(
        (x,),
        [[1]],
        [0],
        (da.Constraint(x.diff(da.t, 2), name="rest"), da.Constraint(x.diff(da.t, 2) - late, name="drive")),
    )
    error = failure(torn, [0], [1], (0, 3))
    assert "`rest`, `drive` contradict one another" in str(error)
    assert 1 <= error.time <= 3
    assert len(error.trajectory) >= 1


def test_failure_by_a_mass_matrix_that_turns_indefinite() -> None:
    error = failure(da.System((x, y), sp.diag(x, 1), (0, 0)), (1, 0), (-1, 0), (0, 2))
    assert "`mass_matrix` must be positive definite; it is indefinite" in str(error)
    assert 1 <= error.time <= 2


def test_failure_by_too_many_steps() -> None:
    error = failure(pendulum(), (1, 0), (0, 0), (0, 100), parameters=G, max_steps=7)
    assert "after 7 steps: the limit of 7 steps was reached" in str(error)
    assert 0 < error.time < 100


def test_errors_survive_pickling() -> None:
    error = failure(pendulum(), (1, 0), (0, 0), (0, 100), parameters=G, max_steps=7)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.time) == (str(error), error.time)
    assert pickle.loads(pickle.dumps(da.ModelError(["one", "two"]))).problems == ("one", "two")


def test_asymmetric_mass_whose_entries_share_symbols() -> None:
    """x + y against x: what cancels in the difference must not be left without a value."""
    x, y = da.coordinates("x y")
    with pytest.raises(da.ModelError, match="symmetric"):
        da.System((x, y), [[1, x + y], [x, 1]], (0, 0))


def test_rows_redundant_only_on_the_constraints_need_projection() -> None:
    """x(x² + y² − 1) + x² + y² − 1 has the same zeros as the rod, but another gradient elsewhere."""
    x, y = da.coordinates("x y")
    off = da.Constraint((1 + x / 2) * (x**2 + y**2 - 1), name="bent rod")
    twice = pendulum(off)
    for drift in (None, da.Baumgarte(5, 5)):
        with pytest.raises(da.ConstraintError, match=r"`bent rod` would drift off.*drift=da.Projection\(\)"):
            da.simulate(twice, (1, 0), (0, 0), (0, 1), parameters={"g": 1}, drift=drift)
    start = {"q0": (1.01, 0), "qd0": (0, 0), "allow_violation": True}
    with pytest.raises(da.ConstraintError, match="`bent rod` would drift off"):
        da.simulate(twice, times=(0, 1), parameters={"g": 1}, drift=da.Baumgarte(5, 5), **start)
    run = da.simulate(twice, (1, 0), (0, 0), (0, 1), parameters={"g": 1})
    assert (run.rank == 1).all()


def test_entries_of_arrays_are_no_symbols() -> None:
    for entry in (sp.MatrixSymbol("A", 2, 2)[0, 1], sp.IndexedBase("A")[1]):
        with pytest.raises(
            da.ModelError, match=r"`applied_force` must be made of symbols; got `A\[.*\]`, an entry of an"
        ):
            da.System((da.coordinates("x"),), [[1]], (2 * entry,))


def test_a_function_of_numbers_is_no_expression() -> None:
    spline = CubicSpline([0, 1, 2, 3], [0, 1, 0, 1])
    with pytest.raises(da.ModelError, match=r"`applied_force` must be an expression; .* `da.signal\(times, values\)`"):
        da.System((da.coordinates("x"),), [[1]], (spline,))


def test_what_stands_in_the_place_of_a_constraint_gets_its_advice() -> None:
    x = da.coordinates("x")
    for given, advice in {
        x == 1: r"got False. An entry must be an equation .* Write `sympy.Eq\(left, right\)`",
        x >= 0: r"One-sided constraints are `da.Constraint\(.*restitution=...\)`",
        x - 1: r"Write `da.Constraint\(expression, name=...\)`",
    }.items():
        with pytest.raises(da.ModelError, match=f"`constraints` must hold `da.Constraint` objects; .*{advice}"):
            da.System((x,), [[1]], (0,), given)


def test_an_ensemble_recommends_no_argument_that_it_lacks() -> None:
    x, y = da.coordinates("x y")
    rod = da.Constraint(x**2 + y**2 - 1, name="rod")
    for last, remedy in ((-1, "Multipliers"), (0, "SingularMass")):
        system = da.System((x, y), sp.diag(1, last), (0, 0), rod)
        (reason,) = da.simulate_ensemble(system, np.array([[1.0, 0]]), (0, 0), [0, 1])["reason"].values
        assert f"run this member by `da.simulate` and pass `formulation=da.{remedy}()`" in reason


def test_an_overflow_is_among_the_causes_of_terms_that_are_not_finite():
    """The second derivative of this smooth step is e^2000/e^3000 long before it, a quotient of two overflows."""
    x = da.coordinates("x")
    drive = da.Constraint(x - 5 / (1 + sp.exp(-20 * (da.t - 50))), name="drive")
    with pytest.raises(da.InputError, match=r"`constraint_rhs` must be finite .* an exponential or a power that overf"):
        da.motion(da.System((x,), [[1]], (0,), drive), [0], [0])


ROW = lambda function: {"constraints": (da.FunctionConstraint(function, "position", name="rod"),)}  # noqa: E731
RETURNED = {
    "`applied_force` must return real numbers": {"applied_force": lambda q, qd, t, p: 1j * q},
    "`mass_matrix` must return real numbers": {"mass_matrix": lambda q, qd, t, p: (1 + 1j) * jnp.eye(2)},
    "constraint `rod` must return real numbers": ROW(lambda q, t, p: q[0] + 1j * q[1]),
    r"`nonideal` must return shape \(2,\); got shape \(1,\)": {"nonideal": lambda q, qd, t, p, F: jnp.ones(1)},
    "`lagrangian` must return one number": {"mass_matrix": None, "lagrangian": lambda q, qd, t, p: qd**2},
    r"`applied_force` must return shape \(2,\)": {
        "mass_matrix": None,
        "lagrangian": lambda q, qd, t, p: qd @ qd,
        "applied_force": lambda q, qd, t, p: jnp.ones(1),
    },
    "use `jax.numpy` in the place of NumPy; one of them raised Tracer": {
        "applied_force": lambda q, qd, t, p: np.sin(np.asarray(q))
    },
    "must accept arrays q and qd, .* raised TypeError: .* 3 positional": {"mass_matrix": lambda q, qd, t: jnp.eye(2)},
}


@pytest.mark.parametrize("message", RETURNED)
def test_functions_must_return_real_numbers_of_the_right_shape(message: str) -> None:
    lagrangian = "lagrangian" in RETURNED[message]
    force = None if lagrangian else lambda q, qd, t, p: jnp.zeros(2)
    given = {"mass_matrix": lambda q, qd, t, p: jnp.eye(2), "applied_force": force} | RETURNED[message]
    with pytest.raises(da.InputError, match=message):
        da.motion(da.FunctionSystem(**given), (1, 0), (0, 0))
