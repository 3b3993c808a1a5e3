"""Derivations: the symbols agree with the numbers, read like a person's, and come out in every format."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
import sys
from functools import cache
from html.parser import HTMLParser
from importlib.resources import files

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.figures.html_page import document
from dalembert.report.angle_differences import with_angle_differences
from dalembert.report.blocks import block_root
from dalembert.report.common_factor import with_common_factor
from dalembert.report.decimals import exact
from dalembert.report.derivation_page import DERIVATION_STYLE, PAGE_STYLE
from dalembert.report.derivation_page import html as page
from dalembert.report.equations import Equation
from dalembert.report.name_typesetting import ambiguous_names, typeset
from dalembert.report.readable_sums import readable
from dalembert.report.steps import Step
from dalembert.report.tex import latex
from dalembert.report.tex_prose import READABLE, prose
from dalembert.report.tidy import tidy
from helpers import (
    CHAIN_NUMBERS,
    SKATE_NUMBERS,
    accelerations_and_forces,
    angle_pendulum,
    chain,
    chain_state,
    skate_particle,
)

t = da.t
VOID = {"meta", "br", "hr", "img", "link", "input"}


def rod(name: str = "rod", length: object = None) -> da.Constraint:
    x, y = da.coordinates("x y")
    return da.Constraint(x**2 + y**2 - (da.parameters("l") if length is None else length) ** 2, name=name)


def pendulum(*extra: da.Constraint, **changes: object) -> da.System:
    x, y = da.coordinates("x y")
    m, g = da.parameters("m g")
    return da.System((x, y), sp.diag(m, m), (0, -m * g), (rod(), *extra), **changes)


PENDULUM_NUMBERS = {"m": 1.3, "g": 9.81, "l": 0.8}


def bead() -> da.System:
    """A bead on the wire z = x² with friction from the ideal force."""
    x, z = da.coordinates("x z")
    mu, g = da.parameters("mu g")
    normal = sp.sqrt(da.ideal_force(x) ** 2 + da.ideal_force(z) ** 2)
    speed = sp.sqrt(x.diff(t) ** 2 + z.diff(t) ** 2)
    law = [-mu * normal * v.diff(t) / speed for v in (x, z)]
    return da.System((x, z), sp.eye(2), (0, -g), da.Constraint(z - x**2, name="wire"), law)


def coin() -> da.System:
    x, y, theta, phi = da.coordinates("x y theta phi")
    m, R, I, J = da.parameters("m R I J")  # noqa: E741
    roll = phi.diff(t) * R
    constraints = (
        da.Constraint(x.diff(t) - roll * sp.cos(theta), name="along x"),
        da.Constraint(y.diff(t) - roll * sp.sin(theta), name="along y"),
    )
    return da.System((x, y, theta, phi), sp.diag(m, m, I, J), (0, 0, 0, 0), constraints)


def lemos_2() -> da.System:
    q = da.coordinates("q1 q2 q3")
    v = [coordinate.diff(t) for coordinate in q]
    L = (v[0] ** 2 + v[1] ** 2 - v[2] ** 2) / 2 - sum(coordinate**2 for coordinate in q) / 2
    return da.System.from_lagrangian(L, q, constraints=da.Constraint(v[0] + q[2] * v[1], name="skate"))


def moving_support() -> da.System:
    x, theta = da.coordinates("x theta")
    M, m, l, g = da.parameters("M m l g")  # noqa: E741
    kinetic = (M + m) * x.diff(t) ** 2 / 2 + m * l * x.diff(t) * theta.diff(t) * sp.cos(theta)
    L = kinetic + m * l**2 * theta.diff(t) ** 2 / 2 + m * g * l * sp.cos(theta)
    return da.System.from_lagrangian(L, (x, theta), constraints=da.Constraint(x - sp.sin(3 * t), name="shaker"))


def massless() -> da.System:
    """A mass and a massless slider kept at a distance: M is singular, the saddle matrix is not."""
    x, y = da.coordinates("x y")
    m, k = da.parameters("m k")
    return da.System((x, y), sp.diag(m, 0), (-k * x, -k * y), da.Constraint(y - x**2, name="tie"), da.Viscous(k))


def scaled(coupling: int, n: int = 2) -> da.System:
    q = da.coordinates("x y z")[:n]
    m = da.parameters("m")
    mass = sp.Matrix(n, n, lambda i, j: 3 * m if i == j else coupling * m)
    law = da.Prescribed([-q[0].diff(t), *[0] * (n - 1)], scaled=True)
    return da.System(q, mass, [0] * n, da.Constraint(q[0] - q[1] ** 2, name="track"), law)


COMPARED = {
    "pendulum": (pendulum(), PENDULUM_NUMBERS, None),
    "nonideal particle": (skate_particle(), SKATE_NUMBERS, None),
    "friction": (bead(), {"mu": 0.2, "g": 9.81}, None),
    "coin": (coin(), {"m": 1.0, "R": 0.5, "I": 0.1, "J": 0.2}, None),
    "indefinite mass": (lemos_2(), {}, da.Multipliers()),
    "moving support": (moving_support(), {"M": 2.0, "m": 1.0, "l": 0.7, "g": 9.81}, None),
    "singular mass": (massless(), {"m": 2.0, "k": 3.0}, da.Multipliers()),
    "no constraint": (angle_pendulum(), {"g": 9.81}, None),
    "law without constraint": (
        da.System(da.coordinates("x y"), sp.eye(2), (0, 1), (), da.Viscous(2)),
        {},
        None,
    ),
    "law as z": (scaled(coupling=1), {"m": 2.0}, None),
    "rod twice": (pendulum(rod("rod again")), PENDULUM_NUMBERS, None),
    "double pendulum": (chain(2), CHAIN_NUMBERS, None),
    "chain": (chain(10), CHAIN_NUMBERS, None),
}


@pytest.mark.parametrize("case", COMPARED)
def test_the_formulas_agree_with_the_numbers(case):
    system, numbers, formulation = COMPARED[case]
    derivation = da.derive(system)
    rng = np.random.default_rng(3)
    q, qd = rng.normal(size=(2, 3, len(system.coordinates)))
    times = rng.uniform(size=3)
    expected = accelerations_and_forces(system, q, qd, times, numbers, formulation)
    for k in range(3):
        found = derivation.at(q[k], qd[k], times[k], numbers)
        for name in ("ideal_force", "nonideal_force", "acceleration"):
            scale = 1 + np.abs(expected[name][k]).max()
            np.testing.assert_allclose(getattr(found, name), expected[name][k], rtol=0, atol=1e-10 * scale)


def test_rows_redundant_only_where_the_constraints_hold():
    x, y = da.coordinates("x y")
    bent = da.Constraint((x**2 + y**2 - da.parameters("l") ** 2) * (2 + x), name="bent")
    system = pendulum(bent)
    derivation = da.derive(system)
    assert derivation.independent == ("rod",)
    assert derivation.notes == ("Constraints used: `rod`. Left out, as a consequence of these: `bent`.",)
    q, qd = da.consistent_state(system, (0.3, -0.7), (1, 2), parameters=PENDULUM_NUMBERS)
    expected = da.motion(system, q, qd, parameters=PENDULUM_NUMBERS)
    found = derivation.at(q, qd, parameters=PENDULUM_NUMBERS)
    np.testing.assert_allclose(found.acceleration, expected.acceleration, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.ideal_force, expected.ideal_force, rtol=0, atol=1e-9)


def test_the_earliest_rows_are_kept():
    x, y = da.coordinates("x y")
    derivation = da.derive(pendulum(rod("again"), da.Constraint(x - y, name="line"), da.Constraint(x + y, name="last")))
    assert derivation.independent == ("rod", "line")
    assert derivation.constraint_matrix.shape == (4, 2)


def test_closed_form_of_the_pendulum():
    x, y = da.coordinates("x y")
    m, g = da.parameters("m g")
    pull = m * (g * y - x.diff(t) ** 2 - y.diff(t) ** 2) / (x**2 + y**2)
    derivation = da.derive(pendulum())
    assert list(derivation.ideal_force) == [x * pull, y * pull]
    assert derivation.expanded and derivation.notes == () and derivation.independent == ("rod",)


def test_closed_form_of_the_particle():
    """Udwadia & Kalaba 2001, equations 15 to 17."""
    x, y, z = da.coordinates("x y z")
    a0 = da.parameters("a0")
    v = sp.Matrix([x, y, z]).diff(t)
    ideal = 2 * z * v[0] * v[2] / (1 + z**4) * sp.Matrix([-(z**2), 1, 0])
    along = v[0] + z**2 * v[1]
    nonideal = -a0 * sp.sqrt(v.dot(v)) * sp.Matrix([along / (1 + z**4), z**2 * along / (1 + z**4), v[2]])
    derivation = da.derive(skate_particle())
    assert derivation.ideal_force == ideal.as_immutable()
    assert derivation.nonideal_force == nonideal.as_immutable()


def test_friction_is_written_with_the_ideal_force_found():
    x, z = da.coordinates("x z")
    mu, g = da.parameters("mu g")
    xd, zd = x.diff(t), z.diff(t)
    force = da.derive(bead()).nonideal_force[0]
    expected = (
        -mu * (xd + 2 * x * zd) * sp.Abs(g + 2 * xd**2) / ((1 + 4 * x**2) ** sp.Rational(3, 2) * sp.sqrt(xd**2 + zd**2))
    )
    assert force == expected


def test_sines_and_cosines_meet():
    theta, phi = da.coordinates("theta phi")
    m, R = da.parameters("m R")
    rates = theta.diff(t) * phi.diff(t)
    assert list(da.derive(coin()).ideal_force) == [-R * m * rates * sp.sin(theta), R * m * rates * sp.cos(theta), 0, 0]


def test_parameters_keep_their_assumptions():
    x = da.coordinates("x")
    m = sp.Symbol("m", positive=True)
    derivation = da.derive(da.System((x,), [[m]], (-x,)))
    assert derivation.acceleration[0] == -x / m


def test_decimal_numbers_stay_as_they_are():
    x, y = da.coordinates("x y")
    system = da.System((x, y), sp.eye(2), (0, -9.81), da.Constraint(x - y, name="slope"))
    np.testing.assert_allclose([float(e) for e in da.derive(system).ideal_force], [-4.905, 4.905])


def uneven() -> da.System:
    """A bead on y = 0.1 x² with a coupled mass matrix of decimals."""
    x, y = da.coordinates("x y")
    return da.System((x, y), [[1.5, 0.25], [0.25, 2.5]], (0, -9.81), da.Constraint(y - 0.1 * x**2, name="wire"))


def test_decimal_numbers_leave_no_noise():
    derivation = da.derive(uneven())
    x = da.coordinates("x")
    numbers = [float(n) for e in derivation.acceleration for n in e.atoms(sp.Number)]
    assert min(abs(number) for number in numbers if number) > 1e-4
    assert sp.fraction(sp.together(derivation.acceleration[1]))[1] == x**2 + x + 15
    found, expected = derivation.at((0.3, 0.2), (1, 2)), da.motion(uneven(), (0.3, 0.2), (1, 2))
    for name in ("ideal_force", "acceleration"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=0, atol=1e-12)


def test_decimal_numbers_are_written_as_decimals():
    text = da.derive(uneven()).to_latex()
    assert r"1.5 & 0.25 \\ 0.25 & 2.5" in text and "- 0.2 x & 1" in text
    assert r"\frac{8 x^{2}}{295} + \frac{8 x}{295} + \frac{24}{59}" in text  # A M⁻¹ Aᵀ
    assert r"\frac{0.981 x + 1.475 \dot{x}^{2} + 29.43}{x^{2} + x + 15}" in text
    assert "e-" not in text and r"\cdot 10" not in text


def test_only_simple_exponents_become_fractions():
    x = sp.Symbol("x", positive=True)
    assert exact(0.5 * x**0.5 + x**0.37) == sp.sqrt(x) / 2 + x**0.37


def test_long_results_are_left_as_products():
    derivation = da.derive(chain(10))
    assert not derivation.expanded
    assert str(derivation.ideal_force) == "A.T*(A*M**(-1)*A.T)**(-1)*(-A*M**(-1)*Q + b)"
    assert derivation.ideal_force.shape == derivation.acceleration.shape == (20, 1)
    assert derivation.notes == (
        "The expanded formulas are too long to be read; they are given as products of matrices.",
    )
    text = derivation.to_latex()
    assert "\\mathbf{A}^{T} \\left(\\mathbf{A} \\mathbf{M}^{-1} \\mathbf{A}^{T}\\right)^{-1}" in text
    assert "\\section{The constraint force}" in text and "in closed form" not in text


def test_products_can_still_be_carried_out():
    q, qd = chain_state(3)
    derivation = da.derive(chain(3))
    assert not derivation.expanded
    names = derivation.system.coordinates
    state = {**dict(zip([x.diff(t) for x in names], qd, strict=True)), **dict(zip(names, q, strict=True))}
    numbers = {sp.Symbol(name): value for name, value in CHAIN_NUMBERS.items()}
    known = {letter: matrix.xreplace({**state, **numbers}) for letter, matrix in derivation.meaning.items()}
    carried_out = derivation.acceleration.subs(known).doit()
    expected = da.motion(derivation.system, q, qd, parameters=CHAIN_NUMBERS).acceleration
    np.testing.assert_allclose(np.array(carried_out, float).ravel(), expected, atol=1e-9)


def test_parameters_called_like_matrices():
    """Redundant rows, formulas in letters, and parameters a, b, c, d."""
    case = da.gallery.case("four-bar")
    derivation = da.derive(case.system)
    assert not derivation.expanded and len(derivation.independent) == 14
    expected = da.motion(case.system, case.q0, case.qd0, parameters=case.parameters)
    found = derivation.at(case.q0, case.qd0, 0.0, case.parameters)
    np.testing.assert_allclose(found.acceleration, expected.acceleration, atol=1e-9)
    np.testing.assert_allclose(found.ideal_force, expected.ideal_force, atol=1e-9)


def test_friction_in_a_long_chain():
    """C contains the ideal force there, which has to be computed first."""
    system = chain(5)
    law = [-(da.ideal_force(q) ** 2) * q.diff(t) for q in system.coordinates]
    system = da.System(system.coordinates, system.mass_matrix, system.applied_force, system.constraints, law)
    derivation = da.derive(system)
    assert not derivation.expanded
    q, qd = chain_state(5)
    expected = da.motion(system, q, qd, parameters=CHAIN_NUMBERS)
    found = derivation.at(q, qd, 0.0, CHAIN_NUMBERS)
    scale = np.abs(expected.nonideal_force).max()
    np.testing.assert_allclose(found.nonideal_force, expected.nonideal_force, atol=1e-9 * scale)
    np.testing.assert_allclose(found.acceleration, expected.acceleration, atol=1e-9 * scale)


def test_more_rows_than_coordinates():
    """18 coordinates held by 21 linear constraints of rank 12."""
    rng = np.random.default_rng(0)
    q = da.coordinates([f"u{i}" for i in range(18)])
    rows = rng.integers(-3, 4, (21, 12)) @ rng.integers(-2, 3, (12, 18))
    constraints = [da.Constraint(sum(int(c) * x for c, x in zip(row, q, strict=True))) for row in rows]
    m = da.parameters("m")
    system = da.System(q, m * sp.eye(18), [sp.sin(x) for x in q], constraints)
    derivation = da.derive(system)
    assert len(derivation.independent) == np.linalg.matrix_rank(rows) == 12
    state = rng.normal(size=18)
    found = derivation.at(state, state, parameters={"m": 2}).acceleration
    np.testing.assert_allclose(found, da.motion(system, state, state, parameters={"m": 2}).acceleration, atol=1e-9)


def test_unreachable_constraints_are_judged_at_random_states():
    x, y = da.coordinates("x y")
    system = da.System((x, y), sp.eye(2), (0, 0), da.Constraint(x**2 + y**2 + 1, name="never"))
    assert da.derive(system).notes == (
        "No state was found that satisfies all constraints; independence was tested at random states.",
    )


def test_a_failed_search_is_no_consequence():
    """x = a and x = b agree where a = b, which random parameters never show."""
    x = da.coordinates("x")
    a, b = da.parameters("a b")
    system = da.System((x,), [[1]], (1,), (da.Constraint(x - a, name="one"), da.Constraint(x - b, name="two")))
    assert da.derive(system).notes == (
        "Constraints used: `one`. Left out, as dependent on these at random states: `two`.",
        "No state was found that satisfies all constraints, with random values of the parameters; "
        "independence was tested at random states.",
    )


def test_notes_on_singular_mass_and_scaled_law():
    assert "from one linear system" in da.derive(massless()).notes[0]
    assert "symmetric square root" in da.derive(scaled(coupling=1)).notes[0]


# ---- formats


class Checker(HTMLParser):
    """Every element closed in order; counts tags and gathers addresses."""

    def __init__(self) -> None:
        HTMLParser.__init__(self)
        self.open: list[str] = []
        self.seen: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.addresses += [value for key, value in attrs if key in ("src", "href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize("case", ["pendulum", "friction", "singular mass", "no constraint", "chain", "law as z"])
def test_html_is_well_formed_and_stands_alone(case):
    page = da.derive(COMPARED[case][0]).to_html()
    checker = Checker()
    checker.feed(page)
    assert checker.open == [] and checker.addresses == []
    assert checker.seen.count("section") == 7
    assert "math" in checker.seen and "script" not in checker.seen
    assert "mfenced" not in page and "http" not in page and "@import" not in page
    assert re.search(r"&(?!#|amp;|lt;|gt;|quot;)", page) is None


def test_html_brings_its_own_small_font():
    fonts = files("dalembert.report").joinpath("fonts")
    assert fonts.joinpath("math.woff2").read_bytes()[:4] == b"wOF2"
    assert "SIL OPEN FONT LICENSE" in fonts.joinpath("OFL.txt").read_text(encoding="utf-8")
    page = da.derive(pendulum()).to_html()
    assert len(page) < 150_000 and "@font-face" in page and "url(data:font/woff2;base64,d09GMg" in page


def test_factors_are_in_the_order_of_physics_texts():
    theta, x = da.coordinates("theta x")
    m, g, l = da.parameters("m g l")  # noqa: E741
    forces = (-m * g * l * sp.sin(theta), 2 * m * l**2 * x * theta.diff(t) ** 2 * sp.cos(theta) * (m + g))
    text = da.derive(da.System((theta, x), sp.eye(2), forces)).to_latex()
    assert r"- m g l \sin \theta" in text
    assert r"2 m l^{2} x \left(g + m\right) \cos \theta \, \dot{\theta}^{2}" in text


def test_sums_are_written_as_by_a_person():
    x, y, q = sp.symbols("x y q", real=True)
    assert readable(x**2 + y**2 + q**2 - 2 * x * y + 2 * x * q - 2 * y * q) == (x - y + q) ** 2
    assert readable(0.5 * x**2 + 1.0 * x * y + 0.5 * y**2 + q) == 0.5 * (x + y) ** 2 + q
    assert with_angle_differences(sp.sin(q + x) * sp.cos(q) - sp.cos(q + x) * sp.sin(q) + y) == sp.sin(x) + y
    left = sp.cos(x) * sp.cos(q) + 2 * sp.sin(x) * sp.sin(q)
    assert with_angle_differences(left) is left


def test_a_sum_that_occurs_often_is_named_once():
    x, y = da.coordinates("x y")
    m, k, c = da.parameters("m k c")
    total = (m * x + k * y.diff(t) + c * x.diff(t)) ** 2 + 1
    system = da.System((x, y), sp.eye(2), (sp.sqrt(total) / x, sp.sin(total) / total))
    text = da.derive(system).to_markdown()
    assert text.count(r"k \dot{y}") == 1 and "where" in text


def test_html_fragment_can_be_embedded():
    derivation = da.derive(pendulum(), title="Pendulum <1>", about="A mass on a rod & nothing else.")
    fragment = derivation.to_html(fragment=True)
    assert fragment.startswith('<article class="derivation">') and "<style" not in fragment and "<h1" not in fragment
    assert "<h2>Pendulum &lt;1&gt;</h2>" in fragment and "rod &amp; nothing" in fragment
    rules = re.findall(r"^\s*([^@{}\n]+)\{", DERIVATION_STYLE, flags=re.M)
    assert rules and all(rule.startswith(".derivation") for rule in rules)


def test_html_puts_dots_over_letters():
    page = html.unescape(da.derive(pendulum()).to_html())
    assert '<mover><mi>x</mi><mo style="font-size: 120%">˙</mo></mover>' in page


@pytest.mark.parametrize("case", COMPARED)
def test_latex_has_dots_and_no_functions_of_time(case):
    text = da.derive(COMPARED[case][0]).to_latex()
    assert "Derivative" not in text and r"{\left(t \right)}" not in text and "q." not in text
    assert text.count(r"\section{") == 7
    assert text.count(r"\begin{") == text.count(r"\end{") and text.count("{") == text.count("}")
    assert r"\ddot{\mathbf{q}}" in text


def test_latex_letters():
    theta, x1 = da.coordinates("theta x1")
    mu = da.parameters("μ")
    system = da.System(
        (theta, x1), sp.eye(2), (mu, 0), da.Constraint(theta.diff(t) - x1.diff(t) ** 2, name="50% rule_1")
    )
    text = da.derive(system, title="Case ẏ, θ").to_latex()
    assert r"\title{Case $\dot{y}$, $\theta$}" in text
    assert r"\dot{\theta} - \dot{x}_{1}^{2} &= 0" in text
    assert r"\text{50\% rule\_1:}" in text
    assert "μ" not in text and r"\mu" in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("q̇₂ + q̇₄ = 0", r"$\dot{q}_{2}$ + $\dot{q}_{4}$ = 0"),
        ("C = −a₀ Qᶜᵢ", r"C = $-a_{0}$ $Q^{c}_{i}$"),
        ("Qᶜᵢ²", "$Q^{c}_{i}{}^{2}$"),
        ("z²ẋ", r"$z^{2}\dot{x}$"),
        ("10⁻¹ m", "10$^{-1}$ m"),
        ("Ω Δ λ ϕ φ ϑ ο Α", r"$\Omega$ $\Delta$ $\lambda$ $\phi$ $\varphi$ $\vartheta$ $o$ $\mathrm{A}$"),
        ("½ ‖r‖ ≤ 2·√3 × 4°", r"$\tfrac{1}{2}$ $\|$r$\|$ $\le$ 2$\cdot\surd$3 $\times$ 4$^{\circ}$"),
        ("b ← βx", r"b $\leftarrow$ $\beta$x"),
        ("Poincaré, d’Alembert – naïve", "Poincaré, d’Alembert – naïve"),
        ("θ̈ x̂ ≠", r"$\ddot{\theta}$ $\hat{x}$ $\ne$"),
        ("`a_b` & \\ ^", r"\texttt{a\_b} \& \textbackslash{} \textasciicircum{}"),
        ("漢", r"\texttt{U+6F22}"),
    ],
)
def test_prose_in_latex(text, expected):
    assert prose(text) == expected


@cache
def gallery_prose(*names: str) -> str:
    cases = [da.gallery.case(name) for name in names]
    return latex("Gallery", [Step(prose(case.title), ((case.about,),)) for case in cases])


@pytest.mark.parametrize("name", da.gallery.names())
def test_gallery_prose_has_only_characters_that_latex_knows(name: str):
    text = gallery_prose(name)
    assert {c for c in text if not c.isascii()} <= READABLE
    assert "U+" not in text


needs_latex = pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")


def compiled(text: str, folder) -> str:
    """The reason why a document does not compile; empty if it does."""
    (folder / "page.tex").write_text(text, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-draftmode", "page.tex"]
    run = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    return "" if run.returncode == 0 else run.stdout.decode("latin-1")[-1500:]


@needs_latex
def test_gallery_prose_compiles(tmp_path):
    assert compiled(gallery_prose(*da.gallery.names()), tmp_path) == ""


def odd_names() -> da.Derivation:
    omega, x1 = da.coordinates("Ω x1")
    names = ["x_1", "mass_of_boom", "m_boom", "x%", "x&y", "x\\", "<b>", "x dot", "e^2", "é", "~", "$", "ẋ"]
    force = sum(da.parameters([name.replace(" ", "\\ ") for name in names]))
    constraint = da.Constraint(omega - x1**2, name="50% & {more} _ \\ q̇₂")
    return da.derive(da.System((omega, x1), sp.eye(2), (force, 0), constraint), title="A_b <i> $x$", about="q̇₂ # & ~")


@needs_latex
def test_odd_names_compile(tmp_path):
    assert compiled(odd_names().to_latex(), tmp_path) == ""


def test_odd_names_in_latex():
    text = odd_names().to_latex()
    assert r"\ddot{\Omega} &=" in text and r"\omega" not in text
    assert r"\mathrm{mass\_of\_boom}" in text and r"m_{\mathrm{boom}}" in text
    assert r"\mathrm{x\_1}" in text and r"\ddot{\mathrm{x1}} &=" in text and "x_{1}" not in text
    assert r"\mathrm{x\%}" in text and r"\mathrm{x\&y}" in text and r"\mathrm{x\text{\textbackslash{}}}" in text


def test_odd_names_in_html():
    page = odd_names().to_html()
    checker = Checker()
    checker.feed(page)
    assert checker.open == [] and "b" not in checker.seen and "i" not in checker.seen
    page = html.unescape(page)
    assert '<mi mathvariant="normal">x_1</mi>' in page and '<mi mathvariant="normal">x1</mi>' in page
    assert "<msub><mi>m</mi><mi>boom</mi></msub>" in page and '<mi mathvariant="normal">x&y</mi>' in page


def test_markdown_escapes_prose():
    text = odd_names().to_markdown()
    assert text.startswith("# A\\_b \\<i\\> \\$x\\$\n")
    about = "see [this](http://x), `a_b` *now*\n- and &lt;\n1. then"
    text = da.derive(pendulum(), about=about).to_markdown()
    assert "see [this\\](http://x), `a_b` \\*now\\*\n\\- and \\&lt;\n1\\. then\n" in text


def test_names_that_look_alike():
    assert ambiguous_names(["x1", "x_1", "x₁", "theta", "θ", "y1", "lambda", "lamda"]) == {
        *("x1", "x_1", "x₁", "theta", "θ", "lambda", "lamda")
    }
    assert typeset("Omega") == typeset("Ω") != typeset("omega")
    assert typeset("x__2").literal and not typeset("k_theta1").literal
    assert typeset("mass2") == ("mass", ("2",), False)


def test_the_second_saddle_system_is_shown():
    text = da.derive(massless()).to_latex()
    unknowns = r"\left[\begin{array}{c} \ddot{\mathbf{q}}_{C} \\ \boldsymbol{\lambda}_{C} \end{array}\right]"
    assert unknowns + r" &= \left[\begin{array}{c} \mathbf{C} \\ \mathbf{0} \end{array}\right]" in text
    assert r"\mathbf{Q}^{c}_{ni} &= \mathbf{C} + \mathbf{A}^{T} \boldsymbol{\lambda}_{C}" in text


def test_document_around_a_body():
    page = document("A & B", "<p>x</p>", PAGE_STYLE, "p { color: red; }")
    assert page.startswith('<!DOCTYPE html>\n<html lang="en">') and "<title>A &amp; B</title>" in page
    assert f"<style>{PAGE_STYLE}p {{ color: red; }}</style>" in page and "<body>\n<p>x</p>\n</body>" in page


def test_markdown_has_seven_numbered_steps_and_balanced_dollars():
    text = da.derive(skate_particle(), title="Particle", about="It falls.").to_markdown()
    assert text.startswith("# Particle\n\n## 1. The problem\n\nIt falls.\n")
    assert re.findall(r"^## (\d)\.", text, flags=re.M) == list("1234567")
    assert text.count("$$") % 2 == 0 and text.count("$$") > 10
    assert r"\frac{2 z \dot{x} \dot{z}}{z^{4} + 1} \left[\begin{array}{c} - z^{2} \\ 1 \\ 0 \end{array}\right]" in text


def test_a_large_matrix_shows_dots_for_zeros():
    q = da.coordinates("a b c d")
    text = da.derive(da.System(q, 2 * sp.eye(4), (0, 0, 0, 0))).to_latex()
    assert r"2 & \cdot & \cdot & \cdot" in text


def test_deriving_does_not_import_jax():
    code = (
        "import sys, sympy as sp, dalembert as da; x = da.coordinates('x');"
        "da.derive(da.System((x,), [[2]], (-x,))).at([1], [0]); sys.exit('jax' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# ---- tools


def test_tidy_leaves_the_value_alone():
    x, y, g = sp.symbols("x y g", real=True)
    e = (x + y) ** 2 / (x + y) - sp.sin(x) ** 2 * 9.81 * g - sp.cos(x) ** 2 * 9.81 * g + sp.sqrt(x**2 * (1 + y**2))
    found = tidy(e)
    assert sp.count_ops(found) < sp.count_ops(e)
    numbers = {x: 0.3, y: -0.7, g: 2.0}
    assert abs(found.subs(numbers) - e.subs(numbers)) < 1e-12


def test_tidy_does_not_touch_what_would_be_huge():
    letters = sp.symbols("a:k", real=True)
    e = sp.Mul(*(1 + a + a**2 for a in letters))
    assert tidy(e) is e


def test_square_root_of_a_coupled_pair():
    root = block_root(sp.Matrix([[2, 1], [1, 3]]), ("x", "y"))
    np.testing.assert_allclose(np.array(root @ root, float), [[2, 1], [1, 3]], atol=1e-14)


def test_common_factor_in_front_of_a_column():
    x, y = sp.symbols("x y")
    assert with_common_factor(sp.Matrix([-2 * x / y, -4 * x**2 / y])).args[0] == -2 * x / y
    assert with_common_factor(sp.Matrix([x, 1])) == sp.ImmutableMatrix([x, 1])
    assert with_common_factor(sp.Matrix([x, 0])) == sp.ImmutableMatrix([x, 0])


# ---- errors


def test_only_symbols_can_be_derived():
    functions = da.FunctionSystem(mass_matrix=lambda q, qd, t, p: q, applied_force=lambda q, qd, t, p: q)
    with pytest.raises(da.InputError, match=r"`system` must be a `da.System`.*got FunctionSystem.*use `da.motion`"):
        da.derive(functions)


def test_massless_and_unconstrained():
    x, y = da.coordinates("x y")
    with pytest.raises(da.MassMatrixError, match="massless and unconstrained"):
        da.derive(da.System((x, y), sp.diag(1, 0), (0, 0)))


def test_hidden_constraint():
    """Lemos et al., example 1."""
    q = da.coordinates("q1 q2 q3")
    v = [coordinate.diff(t) for coordinate in q]
    L = (v[0] ** 2 + v[1] ** 2) / 2 + v[0] * v[1] + v[1] * v[2] - sum(coordinate**2 for coordinate in q) / 2
    constraints = (da.Constraint(v[0] + q[2], name="first"), da.Constraint(v[1] - q[2], name="second"))
    with pytest.raises(da.ConstraintError, match=r"`first`, `second` are independent.*hidden constraint"):
        da.derive(da.System.from_lagrangian(L, q, constraints=constraints))


def test_contradiction():
    x = da.coordinates("x")
    constraints = (da.Constraint(x.diff(t, 2) - 1, name="one"), da.Constraint(x.diff(t, 2) - 2, name="two"))
    with pytest.raises(da.ConstraintError, match=r"`two` implies another acceleration than `one`"):
        da.derive(da.System((x,), [[1]], (0,), constraints))


def contradictory() -> dict[str, tuple[list[sp.Expr], str]]:
    x, y, z = da.coordinates("x y z")
    return {
        "positions": ([x - 1, x - 2], r"`1` contradicts `0` at position level.*Correct one of them or leave it out"),
        "multiples": ([x**2 + y**2 - 1, y - z, 3 * x**2 + 3 * y**2 - 4], "`2` contradicts `0` at position level"),
        "a round": ([x - y - 1, y - z - 1, z - x - 1], "`2` contradicts `0`, `1` at position level"),
        "velocities": ([x.diff(t) - 1, x.diff(t) - 2], "`1` contradicts `0` at velocity level"),
        "both": ([x - 1, x.diff(t) - 1], "`1` contradicts `0` at velocity level"),
    }


@pytest.mark.parametrize("case", contradictory())
def test_contradictory_states(case):
    expressions, message = contradictory()[case]
    constraints = [da.Constraint(e, name=str(i)) for i, e in enumerate(expressions)]
    with pytest.raises(da.ConstraintError, match=f"must leave some state possible; {message}"):
        da.derive(da.System(da.coordinates("x y z"), sp.eye(3), (0, 0, 0), constraints))


def test_rank_loss_at_a_state():
    x, y = da.coordinates("x y")
    a, b = da.parameters("a b")
    constraints = (da.Constraint(x + a * y, name="one"), da.Constraint(x + b * y, name="two"))
    derivation = da.derive(da.System((x, y), sp.eye(2), (1, 0), constraints))
    np.testing.assert_allclose(derivation.at((0, 0), (0, 0), 0, {"a": 1, "b": 2}).acceleration, [0, 0], atol=1e-14)
    with pytest.raises(da.ConstraintError, match=r"needs `one`, `two` to be.*`two` follows from.*Use `da.motion`"):
        derivation.at((0, 0), (0, 0), 0, {"a": 1, "b": 1})
    with pytest.raises(da.ConstraintError, match="at this state `rod` follows from the others or has no gradient"):
        da.derive(pendulum()).at((0, 0), (0, 0), 0, PENDULUM_NUMBERS)


@pytest.mark.parametrize("function", [sp.Abs, lambda x: sp.Max(x, 0), lambda x: x * sp.floor(x)])
def test_constraints_with_kinks(function):
    x, y = da.coordinates("x y")
    system = da.System((x, y), sp.eye(2), (0, -1), da.Constraint(y - function(x), name="kink"))
    derived = da.derive(system).at((1.5, float(function(sp.Float(1.5)))), (1, 1))
    np.testing.assert_allclose(derived.acceleration, [-0.5, -0.5], atol=1e-14)


def test_laws_that_cannot_be_computed():
    x = da.coordinates("x")
    with pytest.raises(da.ModelError, match=r"a nonideal law must use functions.*`DiracDelta` has no numerical form"):
        da.derive(da.System((x,), [[1]], (0,), (), [-sp.DiracDelta(x)]))


@pytest.mark.parametrize("argument", ["title", "about"])
def test_headings_are_strings(argument):
    with pytest.raises(da.InputError, match=f"`{argument}` must be a string; got 3"):
        da.derive(pendulum(), **{argument: 3})


def test_root_of_three_coupled_coordinates():
    with pytest.raises(da.ModelError, match=r"no short closed form when `x`, `y`, `z` are coupled"):
        da.derive(scaled(coupling=1, n=3))


def test_root_of_an_indefinite_mass_matrix():
    with pytest.raises(da.MassMatrixError, match="must be positive definite for a law given as z"):
        da.derive(scaled(coupling=5))


def test_evaluation_checks_its_numbers():
    with pytest.raises(da.InputError, match="`parameters` must give a value for every parameter; missing: `g`, `l`"):
        da.derive(pendulum()).at((1, 0), (0, 0), parameters={"m": 1})


def test_stabilising_terms_are_derived_and_written() -> None:
    """ψ̇ + 2ψ = 0 for ψ = ẋ − y; without a cure, or under one that leaves the equation alone, ψ̇ = 0."""
    x, y = da.coordinates("x y")
    follow = da.System((x, y), [[1, 0], [0, 1]], (0, 0), da.Constraint(x.diff(da.t) - y, name="follow"))
    derived = da.derive(follow, drift=da.Baumgarte(2, 7))
    assert sp.expand(derived.constraint_rhs[0] - (y.diff(da.t) - 2 * (x.diff(da.t) - y))) == 0
    assert sp.expand(derived.ideal_force[0] - derived.constraint_rhs[0]) == 0
    for text in (derived.to_markdown(), derived.to_latex(), derived.to_html()):
        assert "stabilising terms make violations decay" in text
    for drift in (None, da.Projection()):
        plain = da.derive(follow, drift=drift)
        assert plain.constraint_rhs[0] == y.diff(da.t)
        assert "stabilising" not in plain.to_markdown()


def test_drift_must_be_a_cure() -> None:
    x = da.coordinates("x")
    with pytest.raises(da.InputError, match=r"`drift` must be a drift cure such as .*, or None; got 'B'"):
        da.derive(da.System((x,), [[1]], (0,)), drift="B")


def test_a_square_of_sinh_and_one_is_that_of_cosh():
    x, m = sp.symbols("x m")
    assert tidy(m / (1 + sp.sinh(x) ** 2)) == m / sp.cosh(x) ** 2
    assert tidy(2 + sp.sinh(x) ** 2) == 2 + sp.sinh(x) ** 2


def test_names_of_several_letters_do_not_run_together():
    phi, mt, d = sp.symbols("phi mt d")
    steps = [Step("One", ([Equation(phi, mt * d * sp.sin(phi))],))]
    assert r"\mathrm{mt} \, d \sin \varphi" in latex("Title", steps)
    product = re.search(r"<mi>mt</mi><mo>\u2062</mo>(.*?)<mi>d</mi>", page("Title", steps))
    assert product and product.group(1).startswith("<mspace")


def test_the_first_line_of_a_long_sum_holds_its_own_terms_only():
    """A single term on the first line was followed by all the others, and these came again on the next lines."""
    terms = [sp.Symbol(f"a{k}") * sp.Add(*sp.symbols(f"b{k}_:12")) for k in range(2)]
    text = page("Title", [Step("One", ([Equation(sp.Add(*terms), sp.S.Zero, "long")],))])
    assert text.count("<mi>b</mi>") == 24


def test_formulas_wider_than_a_line_are_smaller_on_paper():
    row = sp.ImmutableMatrix([[sp.Add(*sp.symbols(f"a{k}_:8")) for k in range(6)]])
    wide, narrow = (page("Title", [Step("One", ([Equation(sp.Symbol("A"), m)],))]) for m in (row, row[:1, :1]))
    shrink = re.search(r'class="equations" tabindex="0" style="--lines-wide: ([0-9.]+)"', wide)
    assert shrink and 2 < float(shrink.group(1)) < 4
    assert 'style="--lines-wide' not in narrow and "var(--lines-wide, 1)" in DERIVATION_STYLE


def test_only_steps_of_a_few_lines_are_kept_on_one_page() -> None:
    """A step of half a page that is kept together leaves up to half of the page before it empty."""
    matrix = sp.MatrixSymbol("M", 1, 1)
    for rows, kept in ((1, True), (5, False)):
        formulas = [Equation(sp.Symbol(f"a{k}"), sp.Symbol("b")) for k in range(rows)]
        step = Step("One", (("Text",), [Equation(matrix, matrix)], ("that is,",), formulas))
        assert ('<section class="short">' in page("Title", [step])) is kept


def test_a_long_display_is_divided_so_that_paper_can_break_it() -> None:
    """All parts of a display have one first column and one indentation, so that their equals signs are aligned."""
    angles = da.coordinates("a1:16")
    mass = sp.Symbol("m_large")
    system = da.System(angles, sp.diag(mass, *[1] * 14), [sp.sin(a) for a in angles])
    page = da.derive(system).to_html()
    styles = re.findall(r'<div class="equations part" tabindex="0" style="([^"]*)">', page.split("<section")[3])
    assert len(styles) == 4 and len(set(styles)) == 1 and "--first-column" in styles[0]
    short = da.System(angles[:2], sp.eye(2), [sp.sin(a) for a in angles[:2]])
    assert 'class="equations part"' not in da.derive(short).to_html()


def test_a_system_too_large_for_paper_is_refused_at_once():
    x = da.coordinates(" ".join(f"x{i}" for i in range(101)))
    system = da.System(x, sp.eye(101), [0] * 101)
    with pytest.raises(da.InputError, match=r"at most 100 coordinates to be derived on paper; got 101\. Derive"):
        da.derive(system)


def test_friction_by_the_actual_reaction_is_refused_with_the_law_that_can_be_derived() -> None:
    with pytest.raises(da.ModelError, match=r'Coulomb of `floor` .* Pass `normal="ideal"` to `da.Coulomb`, or use'):
        da.derive(da.gallery.case("painleve-rod").system)
