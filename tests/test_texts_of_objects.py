"""Texts of objects in a terminal and in a notebook: short, escaped, and readable without matplotlib."""

import inspect
import re
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest
import sympy as sp

import dalembert as da

x, y, theta = da.coordinates("x y theta")
g, mu = da.parameters("g mu")
v, w = x.diff(da.t), y.diff(da.t)
ROD = da.Constraint(x**2 + y**2 - 1, name="rod")
SYSTEM = da.System((x, y), sp.eye(2), (0, -g), ROD, da.Viscous(mu), lagrangian=(v**2 + w**2) / 2 - g * y)
NUMBERS = {"g": 9.81, "mu": 0.1}
RUN = da.simulate(SYSTEM, (1, 0), (0, 0), np.linspace(0, 2, 21), parameters=NUMBERS)
BAR = da.PlanarBody("bar", mass=2, inertia=2 / 12, position=(0.5, 0))
BODY = da.Body("b", 1, (1, 2, 3), center=(0, 0.1, 0))
PIN = da.Revolute("pin", da.ground.at(0, 0), BAR.at(-0.5, 0), nonideal=da.Viscous(0.1))
MECHANISM = da.Mechanism((BAR,), (PIN,), (da.Gravity((0, -9.81)),))
SWING = da.simulate(MECHANISM.system, *MECHANISM.assemble(), np.linspace(0, 2, 21))
SERVO = da.Servo("follow", x - sp.sin(da.t), by=da.Actuator("motor", x, limit=20))
SEEN = da.Observation(RUN.t, {"x": RUN["x"] + 1e-3 * np.sin(37 * RUN.t)}, q0=(1, 0), qd0=(0, 0))
FIT = da.fit(SYSTEM, SEEN, ["mu"], guess={"mu": 0.2}, known={"g": 9.81})
O2, O3 = da.ground.at(0, 0), da.ground.at(0, 0, 0)


def vakonomic():
    blade = da.Constraint(v * sp.sin(theta) - w * sp.cos(theta), name="blade")
    energy = (v**2 + w**2 + theta.diff(da.t) ** 2) / 2
    return da.vakonomic(da.System.from_lagrangian(energy, (x, y, theta), constraints=blade))


U = da.coordinates("u")
OBJECTS = {
    "<System of x, y: constraints rod; laws Viscous; parameters g, mu>": lambda: SYSTEM,
    "Constraint(x**2 + y**2 - 1, name='rod')": lambda: ROD,
    "Constraint(x'*sin(y) - y'*cos(y))": lambda: da.Constraint(v * sp.sin(y) - w * sp.cos(y)),
    "Constraint(y, name='floor', nonideal=(Coulomb(0.3),))": lambda: da.Constraint(y, "floor", da.Coulomb(0.3)),
    "Constraint(y, name='floor', restitution=0.5, one_sided=True)": lambda: da.Constraint(
        sp.Ge(y, 0), "floor", restitution=0.5
    ),
    "Event(y - 1, direction=-1, name='y - 1')": lambda: da.Event(y - 1, -1),
    "Change(values=((\"x'\", -x'),), on=('rod',))": lambda: da.Change({v: -v}, on=ROD),
    "<ModelFile 'rod': system of x, y; values of g, mu>": lambda: da.ModelFile(
        system=SYSTEM, parameters=NUMBERS, title="rod"
    ),
    "<AppliedForce along u: 3 copies>": lambda: da.AppliedForce.over({U: -U}, {U: da.coordinates("x", 3)}),
    "<MassEntries at (u, u): 3 copies>": lambda: da.MassEntries.over({(U, U): 1}, {U: da.coordinates("x", 3)}),
    "<Case bead: Bead on a wire with sliding friction; coordinates x, z; 3 checks>": lambda: da.gallery.case("bead"),
    "Viscous(0.1)": lambda: da.Viscous(0.1),
    "Quadratic(mu)": lambda: da.Quadratic(mu),
    "Proportional(2)": lambda: da.Proportional(2),
    "Prescribed(((0, 0), (1, -x')))": lambda: da.Prescribed((0, -v)),
    "Coulomb(mu, smoothing=0.01)": lambda: da.Coulomb(mu, smoothing=0.01),
    "SlidingForce((-x',)": lambda: da.SlidingForce(-v),
    "Stribeck(0.3, 0.5, 0.1)": lambda: da.Stribeck(0.3, 0.5, 0.1),
    "Actuator('motor', x, limit=20)": lambda: da.Actuator("motor", x, limit=20),
    "Servo('follow', (Constraint(x - sin(t), name='follow'),), by=(Actuator('motor', x, limit=20),))": lambda: SERVO,
    "BoundedUncertainty(2, 0.001)": lambda: da.BoundedUncertainty(2, 1e-3),
    "AdaptiveBound(100, 0.1, 0.001)": lambda: da.AdaptiveBound(100, 0.1, 1e-3),
    "<Controller of x: inputs motor; servos follow; period 0.05, delay 0>": lambda: da.controller(
        da.System((x,), [[2]], (0,), servos=SERVO), period=0.05
    ),
    "FunctionConstraint('position', name='rod')": lambda: da.FunctionConstraint(len, "position", name="rod"),
    "<FunctionSystem of x, y: parameters g>": lambda: da.FunctionSystem(len, len, coordinates="x y", parameters="g"),
    "Factored()": da.Factored,
    "PseudoInverse()": da.PseudoInverse,
    "Multipliers()": da.Multipliers,
    "ExtendedDAlembert()": da.ExtendedDAlembert,
    "SingularMass()": da.SingularMass,
    "StackedLeastSquares(weight=None)": da.StackedLeastSquares,
    "Baumgarte(alpha=5, beta=5)": lambda: da.Baumgarte(5, 5),
    "Projection(iterations=2, conserve=())": da.Projection,
    "Implicit()": lambda: da.Implicit(),
    "MoreauJean(step=0.001, theta=0.5, tolerance=1e-10, max_sweeps=10000)": lambda: da.MoreauJean(1e-3),
    "<ConstrainedMotion: acceleration [ 0.   -9.81]; ideal force [0. 0.]; nonideal force [0. 0.]; rank 1; residual": (
        lambda: da.motion(SYSTEM, (1, 0), (0, 0), parameters=NUMBERS)
    ),
    "<ConstrainedMotion of 2 coordinates, batch of shape (3,)>": lambda: da.constrained_motion(
        *(np.ones((3, *shape)) * np.eye(2)[: shape[0]] if len(shape) == 2 else np.ones((3, *shape)) for shape in TERMS)
    ),
    "<Trajectory of x, y: 21 times, 0 to 2; ": lambda: RUN,
    "Work and energy from t = 0 to 2\n": lambda: RUN.ledger(),
    "The question is well posed.\n": lambda: da.check(SYSTEM),
    "constraint  level     holonomic": lambda: da.classify(SYSTEM),
    "<Derivation of x, y: constraints used rod; expanded formulas>": lambda: da.derive(SYSTEM),
    "<Dynamics of x, y: constraints rod; laws Viscous; parameters g, mu>": lambda: da.build(SYSTEM),
    "Small motions in `x`, `x'`": lambda: da.linearize(SYSTEM, (0, -1), parameters=NUMBERS),
    "<Vakonomic equations of x, y, theta: constraints blade>": vakonomic,
    "<Observation of x: 21 measured values; 21 times, 0 to 2>": lambda: SEEN,
    "    estimate  standard error": lambda: FIT,
    "        unknowns     noise": lambda: da.compare({"first": FIT, "second": FIT}),
    "Body('b', 1, ((1, 0, 0), (0, 2, 0), (0, 0, 3)), center=(0, 0.1, 0))": lambda: BODY,
    "PlanarBody('bar', 2, 0.166667, position=(0.5, 0))": lambda: BAR,
    "Particle('p', 1, (0, 0)": lambda: da.Particle("p", 1, (0, 0)),
    "ground": lambda: da.ground,
    "bar.at(0.5, 0)": lambda: BAR.at(0.5, 0),
    "Revolute('pin', ground.at(0, 0), bar.at(-0.5, 0), nonideal=Viscous(0.1))": lambda: PIN,
    "Prismatic('slide', ground.at(0, 0), bar.at(0, 0), axis=(1, 0))": lambda: da.Prismatic("slide", O2, BAR),
    "<PeriodicMotion of period 2; largest multipliers 0.5, 0.1>": lambda: da.PeriodicMotion(
        np.zeros(1), np.ones(1), 2.0, np.diag([0.5, 0.1]), np.array([0.5, 0.1]), 0.0, RUN
    ),
    "PlaneContact('floor', ground.at(0, 0), bar.at(0, 0), normal=(0, 1), radius=1, restitution=0)": lambda: (
        da.PlaneContact("floor", da.ground, BAR, radius=1, restitution=0)
    ),
    "RoundContact('hit', ground.at(0, 0), bar.at(0, 0), radius=1, other=2, restitution=0)": lambda: da.RoundContact(
        "hit", da.ground, BAR, radius=1, other=2, restitution=0
    ),
    "Rope('line', ground.at(0, 0), bar.at(0, 0), length=1, restitution=0)": lambda: da.Rope(
        "line", O2, BAR, length=1, restitution=0
    ),
    "Rod('link', ground.at(0, 0), bar.at(0, 0), length=1)": lambda: da.Rod("link", O2, BAR, length=1),
    "Weld('weld', ground.at(0, 0), bar.at(0, 0))": lambda: da.Weld("weld", O2, BAR),
    "Gear('gear', bar.at(0, 0), w.at(0, 0), ratio=2)": lambda: da.Gear("gear", BAR, da.PlanarBody("w", 1, 1), ratio=2),
    "PointOnCurve('on', ground.at(0, 0), bar.at(0, 0), curve=<<lambda>>)": lambda: da.PointOnCurve(
        "on", O2, BAR, curve=lambda a, b: b - a**2
    ),
    "Drive('drive', 'pin', sin(2*t))": lambda: da.Drive("drive", PIN, sp.sin(2 * da.t)),
    "Spherical('ball', ground.at(0, 0, 0), b.at(0, 0, 0))": lambda: da.Spherical("ball", O3, BODY),
    "Cylindrical('cyl', ground.at(0, 0, 0)": lambda: da.Cylindrical("cyl", O3, BODY, axis=(0, 0, 1)),
    "Universal('uni', ground.at(0, 0, 0)": lambda: da.Universal("uni", O3, BODY, axis=((1, 0, 0), (0, 1, 0))),
    "KnifeEdge('blade', ground.at(0, 0)": lambda: da.KnifeEdge("blade", O2, BAR),
    "RollingOnLine('wheel', ground.at(0, 0)": lambda: da.RollingOnLine("wheel", O2, BAR, radius=0.5),
    "RollingBall('ball', ground.at(0, 0, 0)": lambda: da.RollingBall("ball", O3, BODY, radius=0.5),
    "RollingDisc('disc', ground.at(0, 0, 0)": lambda: da.RollingDisc("disc", O3, BODY, radius=0.5),
    "RollingEllipsoid('egg', ground.at(0, 0, 0)": lambda: da.RollingEllipsoid("egg", O3, BODY, axes=(1, 1, 2)),
    "RollingOnCircle('ring', ground.at(0, 0), bar.at(0, 0), radius=0.5, circle=2, inside=True)": lambda: (
        da.RollingOnCircle("ring", O2, BAR, radius=0.5, circle=2, inside=True)
    ),
    "RollingOnProfile('hill', ground.at(0, 0), bar.at(0, 0), profile=<<lambda>>, radius=1)": lambda: (
        da.RollingOnProfile("hill", O2, BAR, radius=1, profile=lambda s: (s, s**2))
    ),
    "RollingOnSphere('bowl', ground.at(0, 0, 0)": lambda: da.RollingOnSphere("bowl", O3, BODY, radius=1, sphere=2),
    "RollingOnCylinder('tube', ground.at(0, 0, 0)": lambda: da.RollingOnCylinder(
        "tube", O3, BODY, radius=1, cylinder=2
    ),
    "Cam('cam', ground.at(0, 0), bar.at(0, 0), profile=<<lambda>>)": lambda: da.Cam(
        "cam", O2, BAR, profile=lambda s: 1
    ),
    "PointOnSurface('on', ground.at(0, 0, 0), b.at(0, 0, 0), surface=<<lambda>>)": lambda: da.PointOnSurface(
        "on", O3, BODY, surface=lambda x, y, z: z
    ),
    "Planar('table', ground.at(0, 0, 0)": lambda: da.Planar("table", O3, BODY),
    "Screw('screw', ground.at(0, 0, 0)": lambda: da.Screw("screw", O3, BODY, axis=(0, 0, 1), pitch=2),
    "Rotation((1, 0, 0, 0))": lambda: da.Rotation((1, 0, 0, 0)),
    "ExtraCoordinates('mode', (x,), kinetic=x'**2": lambda: da.ExtraCoordinates("mode", x, kinetic=v**2),
    "MasslessBody('frame')": lambda: da.MasslessBody("frame"),
    "Rotor(": lambda: da.Rotor(PIN, 2),
    "Transmission('belt', ": lambda: da.Transmission("belt", PIN, da.Prismatic("slide", O2, BAR), coefficients=(0, 2)),
    "<JointMotion of pin>": lambda: da.JointMotion({"pin": 0.1}, {"pin": 0}, {}),
    "Assembly without changes": lambda: MECHANISM.assemble(),
    "ContactMode(closed=('floor',), sticking=(), sliding={})": lambda: da.ContactMode("floor"),
    "Gravity((0, -9.81))": lambda: da.Gravity((0, -9.81)),
    "Force(bar.at(0.5, 0), (1, 0))": lambda: da.Force(BAR.at(0.5, 0), (1, 0)),
    "Torque(bar.at(0, 0), 2)": lambda: da.Torque(BAR, 2),
    "Spring(ground.at(0, 0), bar.at(0, 0), stiffness=3, length=0.5)": lambda: da.Spring(O2, BAR, 3, length=0.5),
    "TorsionSpring(Revolute('pin'": lambda: da.TorsionSpring(PIN, 2),
    "Drag(bar.at(0, 0), linear=0.1)": lambda: da.Drag(BAR, linear=0.1),
    "<Mechanism in the plane: bodies bar; joints pin; forces Gravity>": lambda: MECHANISM,
    "Largest reactions from t = 0 to 2\n": lambda: MECHANISM.reactions(SWING),
    "<Reaction at 21 times: force up to 46.99, torque up to 0.5234>": lambda: MECHANISM.reactions(SWING)["pin"],
    "<Animation of point: 50 frames, 2 s; `.save(path)` writes it>": lambda: RUN.animate(points={"point": ("x", "y")}),
    "<MechanismAnimation of bar from t = 0 to 2>": lambda: MECHANISM.animate(SWING),
}
TERMS = ((2, 2), (2,), (1, 2), (1,))


@pytest.mark.parametrize("text", OBJECTS)
def test_the_text_of_an_object_is_short(text):
    shown = repr(OBJECTS[text]())
    assert shown.startswith(text)
    assert shown.count("\n") <= 12 and max(map(len, shown.splitlines())) <= 160


def test_every_public_class_has_such_a_text():
    public = {o for o in (getattr(da, name) for name in dir(da)) if inspect.isclass(o)}
    known = (Exception, sp.Basic)
    missing = {o for o in public if not issubclass(o, known)} - {type(make()) for make in OBJECTS.values()}
    assert missing == set()


def test_notes_are_in_the_text_of_a_run():
    from dataclasses import replace

    noted = replace(RUN, notes=("The rank changed.", "Something else."))
    assert repr(noted).splitlines()[1:] == ["  note: The rank changed.", "  note: Something else."]
    assert "<p" in noted._repr_html_() and "Note: The rank changed." in noted._repr_html_()


def test_a_run_of_many_coordinates_lists_some():
    many = da.coordinates("q1:13")
    run = da.simulate(da.System(many, sp.eye(12), [0] * 12), np.zeros(12), np.ones(12), [0, 1])
    assert repr(run).startswith("<Trajectory of q1, q2, q3, q4, q5, q6, q7, q8 and 4 more: 2 times")


VOID = {"img", "input", "meta", "br"}


class Balance(HTMLParser):
    """Checks that elements are nested, and gathers their text."""

    def __init__(self):
        HTMLParser.__init__(self)
        self.open, self.text, self.seen = [], "", set()

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        self.open += [] if tag in VOID else [tag]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def parsed(html):
    page = Balance()
    page.feed(html)
    assert page.open == []
    return page


HTML = {
    "trajectory": (lambda: RUN, "Trajectory of x, y", "img"),
    "ledger": (lambda: RUN.ledger(), "rodreaction", "table"),
    "verdict": (lambda: da.check(SYSTEM), "The question is well posed.", "pre"),
    "classification": (lambda: da.classify(SYSTEM), "degrees of freedom: 1", "pre"),
    "mechanism": (lambda: MECHANISM, "Revoluteground.at(0, 0) to bar.at(-0.5, 0)", "table"),
    "reactions": (lambda: MECHANISM.reactions(SWING), "pin46.990.5234", "img"),
    "fit": (lambda: FIT, "21 measured values", "img"),
    "comparison": (lambda: da.compare({"first": FIT, "second": FIT}), "first", "table"),
    "animation": (lambda: RUN.animate(points={"point": ("x", "y")}, fps=5), "", "iframe"),
    "moving mechanism": (lambda: MECHANISM.animate(SWING, fps=5), "", "iframe"),
}


@pytest.mark.parametrize("kind", HTML)
def test_html_in_notebooks(kind):
    make, text, element = HTML[kind]
    html = make()._repr_html_()
    page = parsed(html)
    assert text in page.text and element in page.seen
    # colours are left to the page, which may be dark; only pictures and frames have a white ground
    assert "color" not in html.split("srcdoc=")[0]
    assert not re.search(r'(src|href)="(?!data:)', html)


def test_names_are_escaped():
    odd = "<script>alert(1)</script>&"
    system = da.System((x, y), sp.eye(2), (0, -g), da.Constraint(x**2 + y**2 - 1, name=odd))
    ledger = da.simulate(system, (1, 0), (0, 0), [0, 1], parameters={"g": 9.81}).ledger()
    page = parsed(ledger._repr_html_())
    assert odd in page.text and "script" not in page.seen


def test_equations_in_notebooks():
    assert ROD._repr_latex_() == r"$\displaystyle x^{2} + y^{2} - 1 = 0 \quad \text{(rod)}$"
    odd = da.Constraint(v - y, name="a_b {100%}")
    assert odd._repr_latex_() == r"$\displaystyle - y + \dot{x} = 0 \quad \text{(a\_b \{100\%\})}$"
    shown = SYSTEM._repr_latex_()
    assert shown.startswith(r"$\displaystyle \begin{aligned}") and shown.count(r"\\ ") == 2
    assert r"\ddot{x}" in shown and "+ Q^c" in shown and r"\text{laws: Viscous}" in shown
    assert r"\ddot{x}" in da.derive(SYSTEM)._repr_markdown_()


WITHOUT_MATPLOTLIB = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("matplotlib", "PIL"):
            raise ModuleNotFoundError("No module named " + repr(name), name=name)
sys.meta_path.insert(0, Absent())
import dalembert as da
x, y = da.coordinates("x y")
run = da.simulate(da.System((x, y), [[1, 0], [0, 1]], (0, 0)), (1, 0), (0, 1), [0, 1])
assert "img" not in run._repr_html_() and "Trajectory of x, y" in run._repr_html_()
assert "Animation of" in run.animate()._repr_html_()
"""


def test_without_matplotlib_a_notebook_shows_text():
    done = subprocess.run([sys.executable, "-c", WITHOUT_MATPLOTLIB], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_attributes_of_an_ensemble_are_readable():
    data = da.simulate_ensemble(SYSTEM, (1, 0), np.zeros((2, 2)), [0, 1], parameters=NUMBERS)
    assert {"device", "seconds", "handed_over", "notes"} <= set(data.attrs)
    assert all(isinstance(value, (str, int, float)) for value in data.attrs.values())
