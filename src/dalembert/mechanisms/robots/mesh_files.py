# SPDX-License-Identifier: BSD-3-Clause
"""The triangles of mesh files: STL, binary or text, and Wavefront OBJ."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np

from dalembert.common.array_types import Floats

STL_HEADER = 84
"""Bytes before the triangles of a binary STL file: 80 of a comment, and the number of triangles."""

STL_TRIANGLE = np.dtype([("numbers", "<f4", 12), ("attribute", "<u2")])
"""A triangle of a binary STL file: its normal, three corners, and a number that is not used."""


class MeshFileError(Exception):
    """A mesh file that cannot be read; the message is a clause that says why."""


def read_triangles(path: Path) -> Floats:
    """Return the corners (k, 3, 3) of the triangles of a file, in the order that makes their normals point outwards."""
    readers = {".stl": _stl, ".obj": _obj}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise MeshFileError(f"its extension `{path.suffix[:20]}` is neither .stl nor .obj")
    if not path.is_file():
        raise MeshFileError("there is no such file")
    found = reader(path)
    if not len(found):
        raise MeshFileError("it has no triangles")
    if not np.isfinite(found).all():
        raise MeshFileError("it has numbers that are not finite")
    return found


def _stl(path: Path) -> Floats:
    data = path.read_bytes()
    count = int(np.frombuffer(data[80:STL_HEADER], "<u4")[0]) if len(data) >= STL_HEADER else -1
    if len(data) == STL_HEADER + count * STL_TRIANGLE.itemsize:
        triangles = np.frombuffer(data, STL_TRIANGLE, count, STL_HEADER)["numbers"]
        return triangles[:, 3:].reshape(-1, 3, 3).astype(float)
    words = data.split()
    if not words or words[0] != b"solid":
        raise MeshFileError("its length is not that of the triangles that it announces")
    corners = [words[i + 1 : i + 4] for i, word in enumerate(words) if word == b"vertex"]
    if len(corners) % 3:
        raise MeshFileError("the corners of its triangles are not complete")
    return _numbers(corners).reshape(-1, 3, 3)


def _obj(path: Path) -> Floats:
    points: list[list[str]] = []
    triangles: list[tuple[int, int, int]] = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        words = line.split()
        if words[:1] == ["v"]:
            points.append(words[1:4])
        elif words[:1] == ["f"]:
            corners = [_place(word, len(points)) for word in words[1:]]
            triangles += [(corners[0], *pair) for pair in pairwise(corners[1:])]
    if not triangles:
        return np.zeros((0, 3, 3))
    places, known = np.array(triangles), _numbers(points)
    if places.min() < 0 or places.max() >= len(known):
        raise MeshFileError("a face names a point that does not exist")
    return known[places]


def _place(word: str, count: int) -> int:
    """Return the index of the point that a face names, from the first one or, if negative, from the last one."""
    try:
        number = int(word.split("/")[0])
    except ValueError:
        raise MeshFileError(f"a face must name points by their numbers; got `{word[:20]}`") from None
    return number - 1 if number > 0 else count + number


def _numbers(rows: list[list[str]] | list[list[bytes]]) -> Floats:
    try:
        return np.array(rows, dtype=float).reshape(len(rows), 3)
    except ValueError:
        raise MeshFileError("a point must have three numbers") from None
