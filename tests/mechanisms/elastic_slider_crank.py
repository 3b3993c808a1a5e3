"""The slider crank with an elastic connecting rod of the Test Set for IVP Solvers (Simeon 1996), in two forms.

``mechanism`` states it by bodies, joints and elastic modes; ``published`` has mass matrix, forces and constraints in
seven coordinates as the test set prints them. Linear stiffness, no damping, no gravity.
"""

import numpy as np
import sympy as sp

import dalembert as da

M1, M2, M3, L1, L2, J1, J2 = 0.36, 0.151104, 0.075552, 0.15, 0.30, 0.002727, 0.0045339259
PI, YOUNG, SIDE, DENSITY, OMEGA = 3.1415927, 0.2e12, 0.008, 7870.0, 150.0
VOLUME = SIDE * SIDE * L2
STIFF = YOUNG * SIDE * SIDE / L2

MASS = DENSITY * VOLUME * np.array([[0.5, 0, 0, 0], [0, 0.5, 0, 0], [0, 0, 8, 1], [0, 0, 1, 2]])
STIFFNESS = STIFF * np.array(
    [
        [PI**4 / 24 * (SIDE / L2) ** 2, 0, 0, 0],
        [0, PI**4 * 2 / 3 * (SIDE / L2) ** 2, 0, 0],
        [0, 0, 16 / 3, -8 / 3],
        [0, 0, -8 / 3, 7 / 3],
    ]
)
SPIN = np.zeros((4, 4))
SPIN[0, 2], SPIN[0, 3], SPIN[1, 3] = -16 / PI**3, 8 / PI**3 - 1 / PI, 0.5 / PI
SPIN = DENSITY * VOLUME * (SPIN - SPIN.T)
C1 = DENSITY * VOLUME * np.array([0, 0, 2 / 3, 1 / 6])
C2 = DENSITY * VOLUME * np.array([2 / PI, 0, 0, 0])
C12 = DENSITY * VOLUME * L2 * np.array([0, 0, 1 / 3, 1 / 6])
C21 = DENSITY * VOLUME * L2 * np.array([1 / PI, -0.5 / PI, 0, 0])

# the start near the smooth motion: φ₁, φ₂, x₃, q; their velocities; published accelerations and multipliers
START = (0, 0, 0.450016933, 0, 0, 0.103339863e-4, 0.169327969e-4)
RATES = (150, -74.9957670, -0.268938672e-5, 0.444896105, 0.463434311e-2, -0.178591076e-5, -0.268938672e-5)
ACCELERATIONS = (
    *(0, -1.344541576008661e-03, -5.062194923138079e03, -6.833142732779555e-05, 1.449382650173157e-08),
    *(-4.268463211410861, 2.098334687947376e-01),
)
MULTIPLIERS = (-6.397251492537153e-08, 3.824589508329281e02, -4.376060460948886e-09)
# the published end at t = 0.1: coordinates and velocities
END = (
    *(15.0, -3.311734987910881e-01, 1.697373326718410e-01, 1.893192460247178e-04, 2.375751865617931e-05),
    *(-5.323907988763734e-06, -8.363283141616840e-06),
)
END_RATES = (
    *(150.0, 6.025346682645789e01, -8.753116989887888, -3.005536801092212e-02, -5.500488291932075e-03),
    *(4.978243404809343e-04, 1.104933470696396e-03),
)


def dotted(row, q):
    return sum(float(a) * x for a, x in zip(row, q, strict=True) if a)


def quadratic(matrix, left, right):
    return sum(a * dotted(row, right) for a, row in zip(left, matrix, strict=True))


def mechanism():
    """Bodies in the order crank, rod, slider; the rod's coordinates are those of its end at the crank."""
    crank = da.PlanarBody("crank", M1, J1 - M1 * (L1 / 2) ** 2, center=(L1 / 2, 0), spin=OMEGA)
    rod = da.PlanarBody(
        *("rod", M2, J2 - M2 * (L2 / 2) ** 2),
        position=(L1, 0),
        velocity=(0, OMEGA * L1),
        spin=RATES[1],
        center=(L2 / 2, 0),
    )
    slider = da.Particle("slider", M3, (START[2], 0), velocity=(RATES[2], 0))
    q = da.coordinates("q1 q2 q3 q4")
    qd = [own.diff(da.t) for own in q]
    # the velocity of the end at the crank, in the axes of the rod
    vx, vy = rod.rotation.T * rod.at(0, 0).velocity
    w = rod.turning
    kinetic = (
        quadratic(MASS, qd, qd) / 2
        + w**2 * quadratic(MASS, q, q) / 2
        + w * quadratic(SPIN, q, qd)
        + vx * (dotted(C1, qd) - w * dotted(C2, q))
        + vy * (dotted(C2, qd) + w * dotted(C1, q))
        + w * dotted(C21, qd)
        + w**2 * dotted(C12, q)
    )
    modes = da.ExtraCoordinates(
        "modes", q, kinetic=kinetic, potential=quadratic(STIFFNESS, q, q) / 2, start=START[3:], rates=RATES[3:]
    )
    end = rod.at(0, 0).position + (L2 + q[3]) * rod.turn(sp.Matrix([1, 0]))
    bearing = da.Revolute("bearing", da.ground.at(0, 0), crank)
    joints = bearing, da.Revolute("crank pin", crank.at(L1, 0), rod), da.Drive("motor", bearing, OMEGA * da.t)
    rows = [
        da.Constraint(end[0] - slider.coordinates[0], name="wrist pin x"),
        da.Constraint(end[1] - slider.coordinates[1], name="wrist pin y"),
        da.Constraint(slider.coordinates[1], name="guide"),
    ]
    return da.Mechanism((crank, rod, slider), joints, (), rows, extra_coordinates=modes)


OWN = (2, 5, 6, 8, 9, 10, 11)
"""Places of φ₁, φ₂, x₃ and q among the coordinates of the mechanism."""


def published():
    """In φ₁, φ₂, x₃ and four elastic coordinates."""
    coordinates = p1, p2, x, *q = da.coordinates("phi1 phi2 x3 u1 u2 u3 u4")
    v1, v2, _, *qd = [own.diff(da.t) for own in coordinates]
    c, s = sp.cos(p1 - p2), sp.sin(p1 - p2)
    c1q, c2q, c12q = dotted(C1, q), dotted(C2, q), dotted(C12, q)
    mass = sp.zeros(7)
    mass[0, 0], mass[2, 2] = J1 + M2 * L1**2, M3
    mass[0, 1] = L1 * L2 * M2 * c / 2 + L1 * (s * c2q + c * c1q)
    mass[1, 1] = J2 + quadratic(MASS, q, q) + 2 * c12q
    for i in range(4):
        mass[0, 3 + i] = L1 * (-s * C1[i] + c * C2[i])
        mass[1, 3 + i] = C21[i] + dotted(SPIN[:, i], q)
        for j in range(i, 4):
            mass[3 + i, 3 + j] = MASS[i, j]
    mass = sp.Matrix(7, 7, lambda i, j: mass[min(i, j), max(i, j)])
    force = [
        -L1 * L2 * M2 * v2**2 * s / 2
        + L1 * v2**2 * (-s * c1q + c * c2q)
        - 2 * L1 * v2 * (c * dotted(C1, qd) + s * dotted(C2, qd)),
        L1 * L2 * M2 * v1**2 * s / 2
        + L1 * v1**2 * (s * c1q - c * c2q)
        - 2 * v2 * dotted(C12, qd)
        - 2 * v2 * quadratic(MASS, qd, q)
        - quadratic(SPIN, qd, qd),
        0,
    ]
    for i in range(4):
        force.append(
            v2**2 * dotted(MASS[i], q)
            + v2**2 * C12[i]
            + L1 * v1**2 * (c * C1[i] + s * C2[i])
            + 2 * v2 * dotted(SPIN[i], qd)
            - dotted(STIFFNESS[i], q)
        )
    rows = [
        da.Constraint(L1 * sp.sin(p1) + (L2 + q[3]) * sp.sin(p2), name="across"),
        da.Constraint(x - L1 * sp.cos(p1) - (L2 + q[3]) * sp.cos(p2), name="along"),
        da.Constraint(p1 - OMEGA * da.t, name="motor"),
    ]
    return da.System(coordinates, mass, force, rows)
