# SPDX-License-Identifier: BSD-3-Clause
"""`da.plot_geometry`: the geometry of constrained motion, as in figure 1 of Udwadia & Kalaba 2001."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.equation.answer import ConstrainedMotion
from dalembert.equation.pseudo_inverse import square_roots
from dalembert.errors import InputError
from dalembert.figures.style import canvas_figure, with_unit
from dalembert.numerics.tolerances import EXACT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, BLUE, GREEN, GREY = "#000000", "#0072B2", "#009E73", "#777777"
PALE_BLUE, PALE_ORANGE = "#99C7E0", "#EEBF99"
FIGURE_SIDE = 5.4  # inches
CLEARANCE = 7.0  # pixels between a label and its arrow
OVERLAP_PENALTY = 1000.0  # pixels; more than a label can cover
EQUATION_TOLERANCE = 1e-6
"""Relative error above which an acceleration does not satisfy the equation of the figure: far above rounding, for
ill-conditioned mass matrices, and far below what is visible."""


@dataclass(frozen=True)
class ScaledVectors:
    """The vectors of q̈ₛ = N(aₛ + cₛ) + B⁺b, each (2,), in scaled accelerations M^(1/2) q̈.

    Notation: aₛ = M^(-1/2) Q, cₛ = M^(-1/2) C, B = A M^(-1/2), N = I − B⁺B, as in Udwadia & Kalaba 2001, section 6.

    free, nonideal                  aₛ and cₛ
    along_null, along_range         N(aₛ + cₛ), in null(B), and B⁺b, in range(Bᵀ)
    acceleration                    q̈ₛ
    null_direction, range_direction unit vectors, oriented so that the two parts have nonnegative components
    """

    free: Floats
    nonideal: Floats
    along_null: Floats
    along_range: Floats
    acceleration: Floats
    null_direction: Floats
    range_direction: Floats


@dataclass(frozen=True)
class Arrow:
    """One vector of the figure, in its plane."""

    label: str
    start: Floats
    end: Floats
    colour: str
    width: float
    dotted: bool = False

    @property
    def length(self) -> float:
        """The length of the arrow."""
        return float(np.linalg.norm(self.end - self.start))


def plot_geometry(point: ConstrainedMotion, unit: str | None = None) -> Figure:
    """Plot the decomposition of the acceleration under constraints, to scale: q̈ₛ = N(aₛ + cₛ) + B⁺b.

    The plane is that of the scaled accelerations M^(1/2) q̈, turned so that null(B) is horizontal and range(Bᵀ)
    vertical. Only the projections on null(B) of the unconstrained acceleration aₛ and of the nonideal term cₛ
    contribute; the constraints add B⁺b, which is orthogonal to them. Δq̈ₛ is the scaled constraint force. Vectors that
    vanish are listed above the figure. ``unit`` is the unit of the scaled accelerations.

    Parameters
    ----------
    point    the result of ``da.motion`` or ``da.constrained_motion`` at one state, with n = 2 and rank 1

    Raises
    ------
    InputError    if ``point`` is something else, a batch, has other than two coordinates or rank 1, a mass matrix that
                  is not positive definite, or an acceleration that does not satisfy the equation above

    References: Udwadia & Kalaba 2001, section 6 and figure 1.
    """
    arrows = _arrows(scaled_vectors(point))
    lowest, highest = _limits(arrows)
    width, height = FIGURE_SIDE * (highest - lowest) / (highest - lowest).max()
    figure = canvas_figure(width + 0.8, height + 0.8)
    axis: Any = figure.subplots()
    axis.set(xlim=(lowest[0], highest[0]), ylim=(lowest[1], highest[1]), aspect="equal")
    _describe(axis, arrows, unit)
    figure.draw_without_rendering()  # the layout must be final before labels are placed
    figure.set_layout_engine("none")
    shown, dashes = [arrow for arrow in arrows if arrow.length], _construction(arrows)
    _draw(axis, shown, dashes)
    _place_labels(axis, shown, dashes)
    return figure


def scaled_vectors(point: ConstrainedMotion) -> ScaledVectors:
    """Compute the vectors of the figure independently of the acceleration, which is taken from the result."""
    _check(point)
    given = (point.mass_matrix, point.applied_force, point.constraint_matrix, point.constraint_rhs)
    M, Q, A, b = (np.asarray(array, float) for array in given)
    root, inverse = map(np.asarray, square_roots(M))  # pyright: ignore[reportArgumentType]
    free, nonideal = inverse @ Q, inverse @ np.asarray(point.nonideal, float)
    r, length = _range_part(A @ inverse, b)
    n = np.array([-r[1], r[0]])
    acceleration = root @ np.asarray(point.acceleration, float)
    n *= np.copysign(1, n @ acceleration)
    vectors = ScaledVectors(free, nonideal, n * (n @ (free + nonideal)), length * r, acceleration, n, r)
    off = np.linalg.norm(vectors.along_null + vectors.along_range - acceleration)
    if off > EQUATION_TOLERANCE * np.linalg.norm([free, nonideal, acceleration]):
        raise InputError(
            f"`point` must satisfy q̈ₛ = N(aₛ + cₛ) + B⁺b; it is off by {off:.1e}. "
            f"Its constraints contradict one another, or its formulation weights them; the figure covers neither case."
        )
    return vectors


def _check(point: Any) -> None:
    if not isinstance(point, ConstrainedMotion):
        raise InputError(f"`point` must be a result of `da.motion` or `da.constrained_motion`; got {point!r}.")
    shape = point.acceleration.shape
    if len(shape) != 1:
        raise InputError(
            f"`point` must be the result at one state; got a batch of shape {shape[:-1]}. Take one of them."
        )
    n, rank = shape[0], int(point.rank)
    if n != 2 or rank != 1:
        raise InputError(
            f"`point` must have 2 coordinates and constraints of rank 1; got {n} and rank {rank}. Only then "
            f"are null(B) and range(Bᵀ) two lines in a plane."
        )
    least = float(np.linalg.eigvalsh(np.asarray(point.mass_matrix, float))[0])
    if least <= 0:
        raise InputError(
            f"`point` must have a positive definite mass matrix; its smallest eigenvalue is {least:.3g}. Scaled "
            f"accelerations need M^(1/2)."
        )


def _range_part(B: Floats, b: Floats) -> tuple[Floats, float]:
    """Return the unit vector r of range(Bᵀ) and the length of B⁺b = length · r, never negative, for B of rank 1."""
    scale = np.linalg.norm(B, axis=1)
    kept = scale > 0
    U, values, V = np.linalg.svd(B[kept] / scale[kept, None])
    length = float(U[:, 0] @ (b[kept] / scale[kept])) / float(values[0])
    sign = np.copysign(1.0, length)
    return sign * V[0], sign * length


def _arrows(vectors: ScaledVectors) -> list[Arrow]:
    """Return the vectors in the plane of the figure, in drawing order; rounding errors are set to zero."""
    turn = np.stack([vectors.null_direction, vectors.range_direction])
    a, c, along, across, total = (
        turn @ v
        for v in (vectors.free, vectors.nonideal, vectors.along_null, vectors.along_range, vectors.acceleration)
    )
    tiny = EXACT * max(np.linalg.norm(v) for v in (a, c, along, across, total))
    origin = np.zeros(2)
    arrows = (
        Arrow("$N(a_s + c_s)$", origin, along, PALE_BLUE, 4.5),
        Arrow("$B^+b$", origin, across, PALE_ORANGE, 4.5),
        Arrow("$\\Delta\\ddot{q}_s$", a, total, GREY, 1.3, dotted=True),
        Arrow("$a_s$", origin, a, BLUE, 1.8),
        Arrow("$c_s$", a, a + c, GREEN, 1.8),
        Arrow("$\\ddot{q}_s$", origin, total, INK, 1.8),
    )
    return [arrow if arrow.length > tiny else replace(arrow, end=arrow.start) for arrow in arrows]


def _limits(arrows: list[Arrow]) -> tuple[Floats, Floats]:
    """Return the lower left and upper right corner, with room for labels; the ratio of sides is at most two."""
    ends = np.concatenate([[arrow.start, arrow.end] for arrow in arrows])
    lowest, highest = ends.min(axis=0), ends.max(axis=0)
    longest = float((highest - lowest).max()) or 1.0
    half = np.maximum(highest - lowest, longest / 2) / 2 + 0.15 * longest
    return (lowest + highest) / 2 - half, (lowest + highest) / 2 + half


def _describe(axis: Any, arrows: list[Arrow], unit: str | None) -> None:
    """Draw the two subspaces as lines through the origin, and label the axes and the vectors that vanish."""
    axis.axhline(0, color="0.6", linewidth=0.8, zorder=0)
    axis.axvline(0, color="0.6", linewidth=0.8, zorder=0)
    axis.set_xlabel(with_unit("scaled acceleration in null$(B)$", unit))
    axis.set_ylabel(with_unit("scaled acceleration in range$(B^T)$", unit))
    axis.spines[["top", "right"]].set_visible(False)
    vanishing = [f"{arrow.label} $= 0$" for arrow in arrows if not arrow.length]
    axis.set_title(",  ".join(vanishing), loc="right", fontsize="medium")


def _construction(arrows: list[Arrow]) -> list[Floats]:
    """Return the dashed lines: from aₛ + cₛ to its projection, and from q̈ₛ to its two parts."""
    along, across, _, _, nonideal, total = (arrow.end for arrow in arrows)
    pairs = ((nonideal, along), (total, along), (total, across))
    return [np.stack(pair) for pair in pairs if not np.allclose(*pair)]


def _draw(axis: Any, arrows: list[Arrow], dashes: list[Floats]) -> None:
    for line in dashes:
        axis.plot(*line.T, color="0.55", linewidth=0.9, linestyle=(0, (5, 4)), zorder=1)
    side = 0.03 * float(np.ptp(axis.get_xlim()))
    axis.plot([side, side, 0], [0, side, side], color="0.4", linewidth=0.9, zorder=1)  # the right angle
    for arrow in arrows:
        style = {"color": arrow.colour, "linewidth": arrow.width, "linestyle": ":" if arrow.dotted else "-"}
        head = {"arrowstyle": "-|>", "mutation_scale": 9 + 3 * arrow.width, "shrinkA": 0, "shrinkB": 0}
        axis.annotate("", arrow.end, arrow.start, arrowprops=style | head)


def _place_labels(axis: Any, arrows: list[Arrow], dashes: list[Floats]) -> None:
    """Place each label beside its arrow where it covers the fewest lines; labels of short arrows are placed first."""
    pixels, window = axis.transData, axis.get_window_extent()
    lines = [np.stack([arrow.start, arrow.end]) for arrow in arrows] + dashes + _subspaces(axis)
    line_pixels = np.concatenate([_samples(pixels.transform(line)) for line in lines])
    taken = [np.array([window.min, window.max])]
    for arrow in sorted(arrows, key=lambda arrow: arrow.length):
        text = axis.text(0, 0, arrow.label, fontsize=13, ha="center", va="center")
        extent = text.get_window_extent()
        half = np.array([extent.width, extent.height]) / 2
        places = _label_positions(pixels.transform([arrow.start, arrow.end]), half)
        best = min(places, key=lambda place: _overlap(place, half, line_pixels, taken))
        text.set_position(pixels.inverted().transform(best))
        taken.append(np.array([best - half, best + half]))


def _subspaces(axis: Any) -> list[Floats]:
    (left, right), (low, high) = axis.get_xlim(), axis.get_ylim()
    return [np.array([[left, 0], [right, 0]]), np.array([[0, low], [0, high]])]


def _samples(line: Floats) -> Floats:
    count = 2 + int(np.linalg.norm(line[1] - line[0]))
    return np.linspace(line[0], line[1], count)


def _label_positions(arrow: Floats, half: Floats) -> list[Floats]:
    """Return candidate centres of a label on either side of an arrow, in pixels, in order of preference."""
    along = (arrow[1] - arrow[0]) / np.linalg.norm(arrow[1] - arrow[0])
    across = np.array([-along[1], along[0]])
    away, aside = np.abs(across) @ half + CLEARANCE, np.abs(along) @ half
    shares = (0.5, 0.6, 0.4, 0.7, 0.3, 0.8, 0.2, 0.9, 1.0)
    return [
        arrow[0] + share * (arrow[1] - arrow[0]) + slide * aside * along + side * (away + further) * across
        for further, slide, share, side in product((0, 15, 30), (0, 1, -1), shares, (1, -1))
    ]


def _overlap(middle: Floats, half: Floats, line_pixels: Floats, taken: list[Floats]) -> float:
    """Return the pixels of lines under a label, plus a penalty if it meets another label or leaves the window."""
    window, *labels = taken
    low, high = middle - half, middle + half
    lines = np.sum(np.all((line_pixels > low - 2) & (line_pixels < high + 2), axis=1))
    others = sum(bool(np.all((low < box[1]) & (high > box[0]))) for box in labels)
    outside = bool(np.any(low < window[0]) or np.any(high > window[1]))
    return float(lines) + OVERLAP_PENALTY * (others + outside)
