"""Sections of gallery pages in the papers' letters, and the flow chart of a derivation."""

import html
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.report.case_sections import sections_of
from dalembert.report.comparison_sections import COMPARISONS, extended_steps, other_methods_steps
from dalembert.report.paper_sections import PAPER_SECTIONS, classification_steps, particle_steps, review_steps
from dalembert.report.tex import markdown
from dalembert.report.verdict_sections import VERDICTS, stated_hidden, verdict_steps


def test_the_particle_as_printed() -> None:
    text = markdown("", particle_steps())
    factor = r"\frac{f_{x} z^{2} + 2 z \dot{x} \dot{z} - f_{y}}{z^{4} + 1}"
    assert rf"\mathbf{{Q}}^{{c}}_{{i}} &= {factor} \left[\begin{{array}}{{c}} - z^{{2}} \\ 1 \\ 0" in text
    assert [f"({n}):" in text for n in (13, 14, 15, 16, 17)] == [True] * 5


def test_the_review_in_its_letters() -> None:
    text = markdown("", review_steps())
    assert r"c_{11} &= - m_{2} l_{1} \, \mathrm{lc}_{2} \sin q_{4} \, \dot{q}_{4}" in text
    assert r"\left(\mathbf{b} + \mathbf{A} \mathbf{D}^{-1} \left(\mathbf{C} \dot{\mathbf{q}}_{1} + \mathbf{G}" in text
    assert r"- \mathbf{D} \mathbf{A}^{T} \left(\mathbf{A} \mathbf{A}^{T}\right)^{-1} \mathbf{P}^{-1}" in text


def test_an_upper_index_alone() -> None:
    assert "<msup><mi>𝐅</mi><mi>c</mi></msup>" in html.unescape(sections_of(da.gallery.case("manipulator")))


def test_classification_of_the_review() -> None:
    text = markdown("", classification_steps())
    assert re.findall(r"gives \$(\d)\$", text) == ["0", "0", "2"]
    assert text.count("It is holonomic") == 2 and text.count("nonholonomic, scleronomic, catastatic") == 1
    assert "x + y^{2} + z + L &= 0" in text and "x + y^{2} + z + L - t &= 0" in text


def test_hidden_constraint_by_its_null_vector() -> None:
    text = markdown("", stated_hidden(da.gallery.case("hidden-constraint").system))
    assert "It vanishes identically" in text and "ILL POSED" in text
    assert r"- q_{3} - \dot{q}_{3} &= 0" in text


def test_determinant_of_lemos_second_example() -> None:
    text = markdown("", verdict_steps(da.gallery.case("indefinite-mass").system))
    assert "q_{3}^{2} + 1" in text and "The question is well posed." in text


def test_extended_principle_on_the_particle() -> None:
    text = markdown("", extended_steps(da.gallery.case("particle").system))
    assert r"\mathbf{V} &= \left[\begin{array}{cc} 1 & 0 \\ z^{2} & 0 \\ 0 & 1" in text
    assert r"\mathbf{J} &= \left(\mathbf{D} + \mathbf{E}\right)^{-1}" in text


def test_maggi_and_kane_on_the_coin() -> None:
    text = markdown("", other_methods_steps(da.gallery.case("rolling-coin").system))
    assert text.count("the same accelerations") == 2
    assert r"0 & I + m R^{2}" in text


def test_another_method_that_disagrees_is_refused() -> None:
    from dalembert.report.comparison_sections import _Example

    example = _Example(da.derive(da.gallery.case("rolling-coin").system))
    with pytest.raises(da.DalembertError, match="another formulation gives other accelerations"):
        example.same(sp.ones(4, 1))


@pytest.mark.parametrize("name", sorted({*PAPER_SECTIONS, *COMPARISONS, *VERDICTS}))
def test_sections_are_html(name: str) -> None:
    page = sections_of(da.gallery.case(name))
    assert page.count("<article") == page.count("</article>") > 0
    assert "http" not in page


def test_a_case_without_sections() -> None:
    assert sections_of(da.gallery.case("bead")) == ""


@pytest.mark.parametrize("name", ["bead", "manipulator", "projectile", "indefinite-mass", "pendulum-rod-twice"])
def test_charts_are_svg_with_seven_boxes(name: str) -> None:
    derivation = da.derive(da.gallery.case(name).system)
    picture = ET.fromstring(derivation.chart())
    space = "{http://www.w3.org/2000/svg}"
    assert len(picture.findall(f"{space}rect")) == 7
    texts = [text.text or "" for text in picture.iter(f"{space}text")]
    assert [text for text in texts if text.isdigit()] == list("1234567")
    assert max(map(len, texts)) < 60
    heights = [float(box.attrib["y"]) for box in picture.findall(f"{space}rect")]
    assert np.all(np.diff(heights) > 0)
    assert "<svg" in derivation.to_html()
