# SPDX-License-Identifier: BSD-3-Clause
"""Volume, centre and inertia of meshes: exact integrals over the pyramids from a point to each triangle.

MuJoCo's older rule, "legacy", counts the volume of every pyramid as positive. It is exact for meshes all of whose
surface is seen from the centre, and overestimates others. References: MuJoCo, XML reference, asset/mesh/inertia.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.mechanisms.robots.mesh_files import MeshFileError, read_triangles
from dalembert.mechanisms.robots.mjcf_document import MAIN_CLASS, MjcfDocument
from dalembert.mechanisms.robots.placement import rotation_of
from dalembert.mechanisms.robots.rigid_inertia import RigidInertia
from dalembert.mechanisms.robots.xml_elements import XmlElement, nearest_hint

INERTIA_RULES = ("convex", "exact", "legacy", "shell")


def mesh_inertia(document: MjcfDocument, geom: XmlElement) -> RigidInertia:
    """Return the inertia of the mesh of a geom for the density one, in the axes of its file."""
    mesh = _asset(document, geom)
    kind = mesh.choice("inertia", INERTIA_RULES, "legacy")
    if kind in ("convex", "shell"):
        raise mesh.error(
            f'`inertia="{kind}"` of {mesh.label} is not supported: use "exact" or "legacy", or give the body that has '
            f"the mesh an <inertial>."
        )
    found = solid(_triangles(document, mesh), legacy=kind == "legacy")
    if not found.mass > 0:
        raise mesh.error(
            f"{mesh.label} must be a closed surface with normals that point outwards; its volume is {found.mass:.3g}. "
            f"Turn its triangles around, or give the body that has the mesh an <inertial>."
        )
    return found


def solid(triangles: Floats, *, legacy: bool) -> RigidInertia:
    """Return the inertia of a solid of density one within triangles (k, 3, 3)."""
    middle = triangles.mean(axis=1)
    areas = np.linalg.norm(_normals(triangles), axis=1)
    apex = areas @ middle / areas.sum() if areas.sum() else np.zeros(3)
    volumes = _pyramids(triangles - apex, legacy)
    center = apex + 0.75 * (volumes @ (middle - apex)) / volumes.sum() if volumes.sum() else apex
    away = triangles - center
    volumes = _pyramids(away, legacy)
    # the integral of x xᵀ over a tetrahedron with one corner at zero is V/20 (Σ pᵢpᵢᵀ + s sᵀ), s the sum of corners
    total = away.sum(axis=1)
    products = np.einsum("k,kci,kcj->ij", volumes, away, away) + np.einsum("k,ki,kj->ij", volumes, total, total)
    moments = products / 20
    return RigidInertia(float(volumes.sum()), center, np.trace(moments) * np.eye(3) - moments)


def _normals(triangles: Floats) -> Floats:
    """Return the normals (k, 3) of triangles, twice as long as their areas."""
    return np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])


def _pyramids(triangles: Floats, legacy: bool) -> Floats:
    """Return the volumes (k,) of the pyramids from zero to triangles."""
    volumes = np.einsum("ki,ki->k", triangles[:, 0], _normals(triangles)) / 6
    return np.abs(volumes) if legacy else volumes


def _asset(document: MjcfDocument, geom: XmlElement) -> XmlElement:
    """Return the mesh that a geom names, with its defaults."""
    wanted = geom.text("mesh")
    known = {_name(mesh): mesh for mesh in document.sections("asset") if mesh.tag == "mesh"}
    if wanted not in known:
        raise geom.error(
            f"`mesh` of {geom.label} must name a mesh of <asset>; `{wanted[:60]}` is unknown. "
            f"{nearest_hint(wanted, list(known))}"
        )
    return document.with_defaults(known[wanted], MAIN_CLASS)


def _name(mesh: XmlElement) -> str:
    return mesh.attributes.get("name") or Path(mesh.attributes.get("file", "")).stem


def _triangles(document: MjcfDocument, mesh: XmlElement) -> Floats:
    """Return the triangles (k, 3, 3) of a mesh, scaled and in its frame of reference."""
    if not mesh.given("file"):
        raise mesh.error(f"{mesh.label} must have a `file`; other meshes are not read. Give the body an <inertial>.")
    path = document.asset_path(mesh)
    try:
        triangles = read_triangles(path)
    except MeshFileError as error:
        raise mesh.error(
            f"{mesh.label} must be read for the inertia of its body; `{path}` cannot be: {error}. Give the body an "
            f'<inertial>, or the shape `mass="0"`.'
        ) from None
    moved = triangles - np.array(mesh.numbers("refpos", 3, (0, 0, 0)))
    turned = moved @ rotation_of(np.array(mesh.numbers("refquat", 4, (1, 0, 0, 0))))
    scale = np.array(mesh.numbers("scale", 3, (1, 1, 1)))
    # a mirror image has normals that point inwards, unless the triangles are turned around
    return turned * scale if scale.prod() > 0 else (turned * scale)[:, ::-1]
