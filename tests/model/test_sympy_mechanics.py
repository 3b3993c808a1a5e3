"""Models of SymPy's mechanics have the same accelerations as here: those of SymPy's own equations are the reference."""

import warnings

import numpy as np
import pytest
import sympy as sp
from sympy.physics import mechanics as me
from sympy.physics.mechanics.models import multi_mass_spring_damper, n_link_pendulum_on_cart

import dalembert as da
from sympy_models import sympy_model

AGREE = 1e-10
"""Accelerations must agree with those of SymPy to this fraction of the largest."""


def numbers_for(system, seed=0):
    draw = np.random.default_rng(seed)
    return {name: float(draw.uniform(0.5, 1.5)) for name in system.parameter_names}


def consistent(system, parameters, q, seed=0):
    draw = np.random.default_rng(seed)
    n = len(system.coordinates)
    q = draw.uniform(0.2, 0.8, n) if q is None else q
    return da.consistent_state(system, q, draw.uniform(-1, 1, n), parameters=parameters)


def sympy_accelerations(method, names, q, qd, parameters):
    """Accelerations by name, from the mass matrix and the forcing vector that SymPy forms."""
    values = {da.coordinates(name): value for name, value in zip(names, q, strict=True)}
    rates = {da.coordinates(name).diff(da.t): value for name, value in zip(names, qd, strict=True)}
    known = {**{sp.Symbol(name): value for name, value in parameters.items()}, **values}

    def number(expression, given):
        return np.array(sp.Matrix([expression]).xreplace(given).evalf(30).tolist(), float)

    if isinstance(method, me.LagrangesMethod):
        given = {**known, **rates}
        found = np.linalg.solve(number(method.mass_matrix_full, given), number(method.forcing_full, given))
        return dict(zip(names, found[len(q) : 2 * len(q), 0], strict=True))
    # speeds from the rates: the kinematic equations, and the rates of further coordinates
    kinematics = sp.Matrix([rate - found for rate, found in method.kindiffdict().items()])
    further = [name for name in names if name.startswith("integral_")]
    extra = [
        sp.Function(name.removeprefix("integral_"))(da.t) - rates[da.coordinates(name).diff(da.t)] for name in further
    ]
    equations = sp.Matrix([*kinematics, *extra])
    slopes, rest = equations.jacobian(method.u), equations.xreplace(dict.fromkeys(method.u, 0))
    u = np.linalg.solve(number(slopes, {**known, **rates}), -number(rest, {**known, **rates}))[:, 0]
    given = {**known, **dict(zip(method.u, u, strict=True))}
    du = np.linalg.solve(number(method.mass_matrix, given), number(method.forcing, given))[:, 0]
    given = {**dict(zip(method.u.diff(da.t), du, strict=True)), **rates, **given}
    found = {}
    for rate, expression in method.kindiffdict().items():
        found[rate.expr.name] = float(number(expression.diff(da.t), given)[0, 0])
    changes = {speed.name: change for speed, change in zip(method.u, du, strict=True)}
    return {name: found[name] if name in found else changes[name.removeprefix("integral_")] for name in names}


def assert_same(method, formed=None, q=None, seed=0, parameters=None):
    """A model as a `da.System`, after a comparison of its accelerations with those of SymPy."""
    system = da.System.from_sympy(method)
    parameters = numbers_for(system, seed) if parameters is None else parameters
    state = consistent(system, parameters, q, seed)
    found = da.motion(system, state.q, state.qd, parameters=parameters).acceleration
    formed = method if formed is None else formed
    symbols = {s.name for s in formed.mass_matrix.free_symbols | formed.forcing.free_symbols}
    expected = sympy_accelerations(
        formed, system.coordinate_names, state.q, state.qd, {**dict.fromkeys(symbols - {"t"}, 1.0), **parameters}
    )
    expected = np.array([expected[name] for name in system.coordinate_names])
    assert np.abs(found - expected).max() <= AGREE * np.abs(expected).max()
    return system


def rolling_disc():
    q1, q2, q3, u1, u2, u3 = me.dynamicsymbols("q1:4 u1:4")
    r, m, g = sp.symbols("r m g")
    N = me.ReferenceFrame("N")
    Y = N.orientnew("Y", "Axis", [q1, N.z])
    lean = Y.orientnew("L", "Axis", [q2, Y.x])
    R = lean.orientnew("R", "Axis", [q3, lean.y])
    by_rates = R.ang_vel_in(N)
    R.set_ang_vel(N, u1 * lean.x + u2 * lean.y + u3 * lean.z)
    contact = me.Point("C")
    contact.set_vel(N, 0)
    centre = contact.locatenew("D", r * lean.z)
    centre.v2pt_theory(contact, N, R)
    disc = me.RigidBody("disc", centre, R, m, (me.inertia(lean, m * r**2 / 4, m * r**2 / 2, m * r**2 / 4), centre))
    kinematics = [me.dot(R.ang_vel_in(N) - by_rates, direction) for direction in lean]
    method = me.KanesMethod(N, [q1, q2, q3], [u1, u2, u3], kd_eqs=kinematics)
    method.kanes_equations([disc], [(centre, -m * g * Y.z)])
    return method


def sleigh(acceleration_constraints=None, **options):
    """A body on a blade, with speeds along and across it; the one across it is zero."""
    x, y, theta, u, v, w = me.dynamicsymbols("x y theta u v w")
    m, inertia, d = sp.symbols("m I d")
    N, origin = me.ReferenceFrame("N"), me.Point("O")
    B = N.orientnew("B", "Axis", [theta, N.z])
    B.set_ang_vel(N, w * N.z)
    origin.set_vel(N, 0)
    blade = origin.locatenew("P", x * N.x + y * N.y)
    blade.set_vel(N, u * B.x + v * B.y)
    centre = blade.locatenew("C", d * B.x)
    centre.v2pt_theory(blade, N, B)
    body = me.RigidBody("body", centre, B, m, (me.inertia(B, 0, 0, inertia), centre))
    velocity = x.diff() * N.x + y.diff() * N.y
    kinematics = [velocity.dot(B.x) - u, velocity.dot(B.y) - v, theta.diff() - w]
    method = me.KanesMethod(
        N, [x, y, theta], [u, w], kd_eqs=kinematics, u_dependent=[v], velocity_constraints=[v],
        acceleration_constraints=acceleration_constraints, **options,
    )  # fmt: skip
    method.kanes_equations([body], [(blade, -N.x - 2 * u * B.x)])
    return method


def four_bar_joints():
    """The links and joints of a four-bar, the sides of its loop equation, and its coordinates."""
    q = me.dynamicsymbols("q1:4")
    u = me.dynamicsymbols("u1:4")
    l1, l2, l3, l4, rho = sp.symbols("l1:5 rho")
    N = me.ReferenceFrame("N")
    links = []
    for k, length in enumerate((l1, l2, l3, l4), start=1):
        frame = N if k == 1 else me.ReferenceFrame(f"B{k}")
        links.append(me.RigidBody(f"link{k}", frame=frame, mass=rho * length))
        links[-1].central_inertia = me.inertia(N, 0, 0, rho * length**3 / 12)
    joints = [
        me.PinJoint(
            f"J{k + 1}", links[k], links[k + 1], coordinates=q[k], speeds=u[k], joint_axis=links[k].z,
            parent_point=(l1, l2, l3)[k] / 2 * links[k].x, child_point=-(l2, l3, l4)[k] / 2 * links[k + 1].x,
        )
        for k in range(3)
    ]  # fmt: skip
    loop = links[3].masscenter.pos_from(links[0].masscenter) + l1 / 2 * links[0].x + l4 / 2 * links[3].x
    return links, joints, [loop.dot(N.x), loop.dot(N.y)], q, u


FOUR_BAR = {"l1": 0.13, "l2": 0.24, "l3": 0.21, "l4": 0.34, "rho": 997.0}
FOUR_BAR_Q = (2.1, 0.6655470375077588, 2.527408138024188)


def test_n_link_pendulum_on_a_cart():
    system = assert_same(n_link_pendulum_on_cart(2, cart_force=False))
    assert system.coordinate_names == ("q0", "q1", "q2")
    assert system.constraints == ()


def test_masses_springs_and_dampers():
    assert_same(multi_mass_spring_damper(3, apply_gravity=True))


def test_rolling_disc_with_speeds_in_the_frame_of_the_disc():
    assert_same(rolling_disc())


def test_a_dependent_speed_is_a_constraint_like_any_other():
    system = assert_same(sleigh())
    assert [constraint.level for constraint in system.constraints] == ["velocity"]


def test_a_given_derivative_of_a_constraint_is_recognised():
    v = me.dynamicsymbols("v")
    system = assert_same(sleigh(acceleration_constraints=[3 * v.diff()]))
    # three times the derivative states the same motion, but SymPy's numbers are those of this equation
    assert [constraint.level for constraint in system.constraints] == ["acceleration"]
    assert [c.level for c in da.System.from_sympy(sleigh(acceleration_constraints=[v.diff()])).constraints] == [
        "velocity"
    ]


def test_a_driven_acceleration_constraint():
    v = me.dynamicsymbols("v")
    assert_same(sleigh(acceleration_constraints=[v.diff() - sp.Rational(1, 4)]))


def test_four_bar_of_kanes_method_keeps_its_position_constraints_only():
    links, joints, loop, q, u = four_bar_joints()
    kinematics = sp.Matrix.vstack(*(joint.kdes for joint in joints))
    rates = sp.solve(kinematics, [one.diff() for one in q])
    method = me.KanesMethod(
        links[0].frame, q_ind=q[:1], u_ind=u[:1], q_dependent=q[1:], u_dependent=u[1:], kd_eqs=kinematics,
        configuration_constraints=loop, velocity_constraints=[row.diff(da.t).subs(rates) for row in loop],
        bodies=links,
    )  # fmt: skip
    method.kanes_equations()
    system = assert_same(method, q=FOUR_BAR_Q, parameters=FOUR_BAR)
    assert [constraint.level for constraint in system.constraints] == ["position", "position"]


def test_four_bar_of_a_system_needs_no_dependent_coordinates():
    links, joints, loop, q, u = four_bar_joints()

    def stated(dependent):
        system = me.System.from_newtonian(links[0])
        system.add_joints(*joints)
        if dependent:
            system.q_ind, system.q_dep, system.u_ind, system.u_dep = q[:1], q[1:], u[:1], u[1:]
        system.add_holonomic_constraints(*loop)
        system.apply_uniform_gravity(-sp.Symbol("g") * links[0].y)
        return system

    formed = stated(dependent=True)
    formed.form_eoms()
    numbers = {**FOUR_BAR, "g": 9.81}
    system = assert_same(stated(dependent=False), formed.eom_method, q=FOUR_BAR_Q, parameters=numbers)
    assert [constraint.level for constraint in system.constraints] == ["position", "position"]


def test_joints_method():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        q1, q2, u1, u2 = me.dynamicsymbols("q1:3 u1:3")
        m, arm, g = sp.symbols("m l g")
        wall, upper, lower = me.Body("wall"), me.Body("upper", mass=m), me.Body("lower", mass=m)
        first = me.PinJoint("J1", wall, upper, q1, u1, child_point=arm * upper.y, joint_axis=wall.z)
        second = me.PinJoint("J2", upper, lower, q2, u2, parent_point=-arm * upper.y, child_point=arm * lower.y,
                             joint_axis=upper.z)  # fmt: skip
        for body in (upper, lower):
            body.apply_force(-m * g * wall.y)
        method, formed = me.JointsMethod(wall, first, second), me.JointsMethod(wall, first, second)
        formed.form_eoms()
    assert_same(method, formed.method)
    assert method.method is None  # the object of the user has not changed


def test_lagranges_method_with_constraints_and_forces():
    x, y, theta = me.dynamicsymbols("x y theta")
    m, g, length, k = sp.symbols("m g l k")
    N, origin = me.ReferenceFrame("N"), me.Point("O")
    origin.set_vel(N, 0)
    bob = origin.locatenew("P", x * N.x + y * N.y)
    bob.set_vel(N, x.diff() * N.x + y.diff() * N.y)
    turned = N.orientnew("A", "Axis", [theta, N.z])
    L = m * (x.diff() ** 2 + y.diff() ** 2 + theta.diff() ** 2) / 2 - m * g * y
    loads = [(bob, -k * bob.vel(N)), (turned, 3 * N.z)]
    rows = {"hol_coneqs": [x**2 + y**2 - length**2], "nonhol_coneqs": [x.diff() - y * theta.diff()]}
    method = me.LagrangesMethod(L, [x, y, theta], forcelist=loads, frame=N, **rows)
    method.form_lagranges_equations()
    system = assert_same(method, q=(0.8, 0.6, 0.3))
    assert [constraint.level for constraint in system.constraints] == ["position", "velocity"]
    assert system.lagrangian == L


def test_a_system_whose_speeds_are_rates_is_lagranges():
    q = me.dynamicsymbols("q")
    m, k, b = sp.symbols("m k b")
    wall, bob = me.RigidBody("W"), me.Particle("P", mass=m)
    bob.potential_energy = k * q**2 / 2
    system = me.System.from_newtonian(wall)
    system.add_joints(me.PrismaticJoint("J", wall, bob, q, q.diff()))
    system.add_loads((bob.masscenter, -b * q.diff() * system.x))
    found = da.System.from_sympy(system)
    assert found.applied_force[0] == -b * q.diff() - k * q
    assert system.eom_method is None


def test_potential_energies_of_bodies_give_the_energy():
    q, u = me.dynamicsymbols("q u")
    m, k = sp.symbols("m k")
    N, P = me.ReferenceFrame("N"), me.Point("P")
    P.set_vel(N, u * N.x)
    bob = me.Particle("P", P, m)
    bob.potential_energy = k * q**2 / 2
    method = me.KanesMethod(N, [q], [u], kd_eqs=[q.diff() - u], bodies=[bob], forcelist=[(P, -k * q * N.x)])
    system = da.System.from_sympy(method)
    assert sp.expand(system.lagrangian - m * q.diff() ** 2 / 2 + k * q**2 / 2) == 0
    run = da.simulate(system, (1,), (0,), [0, 2], parameters={"m": 1, "k": 4}, drift=da.Projection(conserve="energy"))
    assert run["q"][-1] == pytest.approx(np.cos(4), abs=1e-7)


def test_a_speed_without_a_coordinate_becomes_the_rate_of_a_further_one():
    x, u, spin = me.dynamicsymbols("x u spin")
    m, r, c = sp.symbols("m r c")
    N, P = me.ReferenceFrame("N"), me.Point("P")
    W = me.ReferenceFrame("W")
    W.set_ang_vel(N, spin * N.z)
    P.set_vel(N, u * N.x)
    wheel = me.RigidBody("wheel", P, W, m, (me.inertia(N, 0, 0, m * r**2 / 2), P))
    method = me.KanesMethod(N, [x], [u], kd_eqs=[x.diff() - u], u_dependent=[spin], velocity_constraints=[u + r * spin])
    method.kanes_equations([wheel], [(P, c * N.x)])
    system = assert_same(method)
    assert system.coordinate_names == ("x", "integral_spin")


def test_auxiliary_speeds_are_refused_by_name():
    q, u, normal = me.dynamicsymbols("q u normal")
    N, P = me.ReferenceFrame("N"), me.Point("P")
    P.set_vel(N, u * N.x + normal * N.y)
    method = me.KanesMethod(N, [q], [u], kd_eqs=[q.diff() - u], u_auxiliary=[normal], bodies=[me.Particle("P", P, 1)])
    with pytest.raises(da.ModelError, match="must have no auxiliary speeds; got `normal`"):
        da.System.from_sympy(method)
    system = me.System(N)
    system.add_coordinates(q)
    system.add_speeds(u)
    system.add_auxiliary_speeds(normal)
    with pytest.raises(da.ModelError, match="must have no auxiliary speeds; got `normal`"):
        da.System.from_sympy(system)


def test_what_cannot_be_solved_for_the_speeds_is_refused():
    x, y, u, v = me.dynamicsymbols("x y u v")
    N, P = me.ReferenceFrame("N"), me.Point("P")
    P.set_vel(N, u * N.x)
    bodies = [me.Particle("P", P, 1)]
    fewer = me.KanesMethod(N, [x, y], [u], kd_eqs=[x.diff() - u, y.diff() - 2 * u], bodies=bodies)
    with pytest.raises(da.ModelError, match="a generalised speed for each coordinate; got the speeds `u` for `x`, `y`"):
        da.System.from_sympy(fewer)
    same = me.KanesMethod(N, [x, y], [u, v], kd_eqs=[x.diff() - u - v, y.diff() - u - v], bodies=bodies)
    with pytest.raises(da.ModelError, match="`x`, `y` cannot be solved for `u`, `v`"):
        da.System.from_sympy(same)
    system = me.System(N)
    system.add_coordinates(x, y)
    system.add_speeds(u, v)
    system.add_kdes(x.diff() - u)
    with pytest.raises(da.ModelError, match=r"one kinematic equation for each coordinate.*got 1"):
        da.System.from_sympy(system)


def test_incomplete_methods_are_refused():
    q, u, f = me.dynamicsymbols("q u f")
    N, P = me.ReferenceFrame("N"), me.Point("P")
    P.set_vel(N, u * N.x)
    with pytest.raises(da.ModelError, match=r"must be a `KanesMethod`.*got int"):
        da.System.from_sympy(3)
    with pytest.raises(da.ModelError, match="must have kinematic equations"):
        da.System.from_sympy(me.KanesMethod(N, [q], [u], bodies=[me.Particle("P", P, 1)]))
    with pytest.raises(da.ModelError, match="must have bodies"):
        da.System.from_sympy(me.KanesMethod(N, [q], [u], kd_eqs=[q.diff() - u]))
    with pytest.raises(da.ModelError, match="must have a frame for its loads"):
        da.System.from_sympy(me.LagrangesMethod(q.diff() ** 2, [q], forcelist=[(P, N.x)]))
    driven = me.KanesMethod(
        N, [q], [u], kd_eqs=[q.diff() - u], bodies=[me.Particle("P", P, 1)], forcelist=[(P, f * N.x)]
    )
    with pytest.raises(da.ModelError, match="unknown: `f`"):
        da.System.from_sympy(driven)


SYMPYS_OWN = {
    "test_kane": ("test_one_dof", "test_two_dof", "test_pend", "test_rolling_disc", "test_input_format"),
    "test_kane4": ("test_replace_qdots_in_force",),
    "test_lagrange": (
        "test_disc_on_an_incline_plane",
        "test_simp_pen",
        "test_nonminimal_pendulum",
        "test_dub_pen",
        "test_rolling_disc",
    ),
    "test_lagrange2": ("test_lagrange_2forces",),
    "test_jointsmethod": (
        "test_complete_simple_double_pendulum",
        "test_two_dof_joints",
        "test_chaos_pendulum",
        "test_four_bar_linkage_with_manual_constraints",
    ),
    "test_linearize": (
        "test_linearize_pendulum_kane_nonminimal",
        "test_linearize_pendulum_lagrange_nonminimal",
        "test_linearize_rolling_disc_kane",
        "test_linearize_rolling_disc_lagrange",
    ),
}
"""Tests of SymPy's mechanics whose models are compared."""


@pytest.mark.slow
@pytest.mark.parametrize(("module", "test"), [(module, test) for module, tests in SYMPYS_OWN.items() for test in tests])
def test_models_of_sympys_own_tests(module, test):
    assert_same(sympy_model(module, test))


BICYCLE = """
WFrad=0.35 WRrad=0.3 htangle=1.2566 forkoffset=0.06 forklength=0.25 framelength=0.95 forkcg1=0.03 forkcg3=0.02
framecg1=0.4 framecg3=0.5 mfork=4 mframe=85 mwf=3 mwr=2 Iwr11=0.0603 Iwr22=0.12 Iwf11=0.1405 Iwf22=0.28 Ifork11=0.05892
Ifork22=0.06 Ifork33=0.00708 Ifork31=0.00756 Iframe11=9.2 Iframe22=11 Iframe33=2.8 Iframe31=-2.4 g=9.81
"""


@pytest.mark.slow
def test_bicycle_of_sympys_own_tests():
    """Two speeds belong to no coordinate, and one velocity constraint follows from the position constraint."""
    numbers = {name: float(value) for name, value in (part.split("=") for part in BICYCLE.split())}
    system = assert_same(sympy_model("test_kane3", "test_bicycle"), q=(0.1, 0.1, 0.1, 0, 0, 0), parameters=numbers)
    assert system.coordinate_names == ("q1", "q2", "q5", "q4", "integral_u3", "integral_u6")
    assert [constraint.level for constraint in system.constraints] == ["position", "velocity", "velocity"]
