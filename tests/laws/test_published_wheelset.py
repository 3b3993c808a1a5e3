"""The wheelset of the Test Set for IVP Solvers: creep forces that depend on the actual loads of both wheels.

B. Simeon, C. Führer, P. Rentrop, Surv. Math. Ind. 1 (1991) 1–37; problem `wheel` of the Test Set, straight track. The
contact points on a cone and a circle are known in closed form, so that four of its seventeen equations are not needed.
"""

import numpy as np
import pytest
import sympy as sp

import dalembert as da

MASS, GRAVITY, SPEED, RADIUS, SPIN, TURN = 16.08, 9.81, 30.0, 0.1, 0.0605, 0.366
FRICTION, ARM, LATERAL, LENGTHWISE = 0.12, 0.19, 6400.0, 6400.0
HERTZ, SHAPE, POISSON, SHEAR = 1.3537956, 0.7115218, 0.28, 7.92e10
KALKER = 4.72772197, 4.27526987, 1.97203505
CONE, HALF_GAUGE, RAIL = 0.0262, 0.1506, 0.06
"""Parameters of the Test Set, SI units."""

START = (0.14941e-02, 0.40089e-06, 0.11241e-05, -0.28573e-03, 0.26459e-03)
LOADS = np.array([-8.3593e-3, -7.4144e-3]) * 1e4
END = np.array(
    [
        *(0.86355386965811e-02, 0.13038281022727e-04, -0.93635784016818e-04, -0.13642299804033e-01),
        *(0.15292895005422e-02, -0.76985374142666e-01, -0.25151106429207e-03, 0.20541188079539e-02),
        *(-0.23904837703692e00, -0.13633468454173e-01, -0.24421377661131e00),
    ]
)
"""Positions x, y, z, θ, φ and velocities, then the rate of β, at t = 10."""

x, y, z, theta, phi, spin = COORDINATES = da.coordinates("x y z theta phi spin")
RATES = [q.diff(da.t) for q in COORDINATES]


class Contact:
    """The contact of one wheel, on the side s = ±1: parameters ψ and ξ of its point, and the row of its constraint."""

    def __init__(self, side):
        sit, cot, sip, cop = sp.sin(theta), sp.cos(theta), sp.sin(phi), sp.cos(phi)
        slope, tangent = -side * sp.tan(CONE), sp.tan(CONE)
        length = sp.sqrt((sit * sip) ** 2 + cot**2)
        self.psi = sp.asin(slope * sit * cop / length) - sp.atan(sit * sip / cot)
        sis, cos = sp.sin(self.psi), sp.cos(self.psi)
        steep = -(slope * cot * cop - cot * sip * cos + sit * sis) / (slope * sip + cop * cos)
        across = side * (-side * steep * RAIL / sp.sqrt(1 + steep**2) + HALF_GAUGE + np.sin(CONE) * RAIL)
        factor = cot * sip * cos - sit * sis
        self.xi = (across - x - (RADIUS + tangent * HALF_GAUGE) * factor) / (cot * cop - tangent * side * factor)
        self.radius = RADIUS + tangent * (HALF_GAUGE - side * self.xi)
        self.side, self.slope, self.steep, self.delta = side, slope, steep, sp.atan(side * steep)
        self.row = [
            steep,
            -1,
            0,
            steep * (self.radius * (-cot * sis - cos * sip * sit) - cop * sit * self.xi),
            -cos * self.radius * sip - cop * self.xi + steep * (cop * cos * cot * self.radius - cot * sip * self.xi),
        ]

    def creep(self, load):
        """The force on the wheel, in world axes."""
        xp, yp, zp, tp, pp, _ = RATES
        R, xi, sip, cop = self.radius, self.xi, sp.sin(phi), sp.cos(phi)
        sis, cos, sid, cod = sp.sin(self.psi), sp.cos(self.psi), sp.sin(self.delta), sp.cos(self.delta)
        sit, cot = sp.sin(theta / cod), sp.cos(theta / cod)
        w = SPEED / RADIUS + RATES[5] - sip * tp
        v = [
            -w * R * (sit * cos + cot * sip * sis)
            + xp
            - tp * (R * (sit * sip * cos + cot * sis) + xi * sit * cop)
            - pp * cot * (xi * sip - R * cop * cos),
            w * R * cop * sis + yp + pp * (xi * cop + R * sip * cos),
            -w * R * (cot * cos - sit * sip * sis)
            + SPEED
            + zp
            - tp * (xi * cot * cop + R * (cot * sip * cos - sit * sis))
            + pp * sit * (xi * sip - R * cop * cos),
        ]
        rolling = sp.sqrt((v[0] - 2 * xp) ** 2 + (v[1] - 2 * yp) ** 2 + (v[2] - 2 * zp - 2 * SPEED) ** 2) / 2
        along = (sit * v[0] + cot * v[2]) / rolling
        across = (cot * cod * v[0] + self.side * sid * v[1] - sit * cod * v[2]) / rolling
        twist = (-self.side * sid * w + cod * tp) / rolling
        curvature = sp.Rational(1, 2) / (R * sp.sqrt(1 + self.slope**2)) + 0.5 / RAIL
        ellipse = (3 * sp.Abs(load) * (1 - POISSON) * HERTZ / (2 * 3.1415926 * curvature * SHEAR * np.sqrt(SHAPE))) ** (
            sp.Rational(1, 3)
        )
        most = FRICTION * load
        c11, c22, c23 = KALKER
        unit = SHEAR * ellipse**2 / most
        lengthwise = -most * sp.tanh(unit * c11 * along)
        sideways = -most * sp.tanh(unit * (c22 * across + ellipse * c23 * twist))
        size = lengthwise**2 + sideways**2
        share = sp.Piecewise((sp.Abs(most) / sp.sqrt(size), size > most**2), (1, True))
        tx, ty = share * lengthwise, share * sideways
        return [sit * tx + cot * cod * ty, self.side * sid * ty, cot * tx - sit * cod * ty]

    def generalised(self, force):
        """The published moments of the force, in the rows of θ, φ and the spin."""
        T1, T2, T3 = force
        R, xi = self.radius, self.xi
        sit, cot, sip, cop = sp.sin(theta), sp.cos(theta), sp.sin(phi), sp.cos(phi)
        sis, cos = sp.sin(self.psi), sp.cos(self.psi)
        return [
            *force,
            -(xi * sit + R * sis * cot * cop) * T1 - R * sis * sip * T2 + (-xi * cot + R * sis * sit * cop) * T3,
            -(xi * cot * sip - R * cos * cot * cop) * T1
            + (xi * cop + R * cos * sip) * T2
            + (xi * sit * sip - R * cos * sit * cop) * T3,
            -R * (cos * sit + sis * cot * sip) * T1 + R * sis * cop * T2 - R * (cos * cot - sis * sit * sip) * T3,
        ]


def wheelset(load):
    """The system; its last rate is that of β plus sin φ θ̇, with which the published mass matrix is diagonal."""
    left, right = sides = Contact(1), Contact(-1)
    names = ("left", "right")
    rows = [
        da.Constraint(sum(a * v for a, v in zip(side.row, RATES, strict=False)), name=name)
        for side, name in zip(sides, names, strict=True)
    ]
    E = [load(name) for name in names]
    across, down = (left.row[k] * E[0] + right.row[k] * E[1] for k in (0, 1))
    sid, cod = ([function(side.delta) for side in sides] for function in (sp.sin, sp.cos))
    determinant = -sid[0] * cod[1] - sid[1] * cod[0]
    normal = (cod[1] * across - sid[1] * down) / determinant, (-cod[0] * across - sid[0] * down) / determinant
    creep = [side.generalised(side.creep(N)) for side, N in zip(sides, normal, strict=True)]
    tp, pp = RATES[3], RATES[4]
    w, turning = SPEED / RADIUS + RATES[5] - sp.sin(phi) * tp, -2 * ARM**2 * LENGTHWISE * theta
    forces = [
        -2 * LATERAL * x,
        -MASS * GRAVITY,
        -2 * LENGTHWISE * z,
        TURN * tp * pp * sp.sin(phi) - SPIN * w * pp - (SPIN - TURN) * tp * sp.sin(phi) * pp + sp.cos(phi) * turning,
        SPIN * w * tp * sp.cos(phi) + (SPIN - TURN) * tp**2 * sp.sin(phi) * sp.cos(phi),
        sp.sin(phi) * turning,
    ]
    masses = sp.diag(MASS, MASS, MASS, TURN * sp.cos(phi), TURN, SPIN)
    return da.System(COORDINATES, masses, forces, rows, nonideal=[a + b for a, b in zip(*creep, strict=True)])


@pytest.mark.slow
def test_ten_seconds_of_the_published_wheelset():
    q0, rest = (*START, 0.0), np.zeros(6)
    actual, ideal = wheelset(da.reaction), wheelset(da.multiplier)
    point = da.motion(actual, q0, rest)
    assert point.acceleration[:5] == pytest.approx(
        [-1.975258894011285, -1.0898297102811276e-03, 7.8855083626142589e-02, -5.533362821731549, -0.3487021489546511],
        abs=2e-3,  # the published start has five digits, and so have its loads
    )
    assert point.reactions == pytest.approx(LOADS, rel=1e-4)
    ends = []
    for system in (actual, ideal):
        run = da.simulate(system, q0, rest, [0, 10], rtol=1e-9)
        beta = run.qd[-1, 5] - np.sin(run.q[-1, 4]) * run.qd[-1, 3]
        ends.append(np.concatenate([run.q[-1, :5], run.qd[-1, :5], [beta]]))
    errors = [np.abs(end - END) / np.abs(END) for end in ends]
    assert errors[0].max() < 1e-5
    assert errors[1].max() > 0.5  # with the loads of the ideal problem
