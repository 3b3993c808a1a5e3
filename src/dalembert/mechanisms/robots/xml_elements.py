# SPDX-License-Identifier: BSD-3-Clause
"""Elements of XML files, each with its place in the file for messages."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.parsers import expat

from dalembert.common.names import quoted
from dalembert.errors import FileError, InputError

LARGEST_XML_FILE = 20_000_000
"""Number of bytes of a robot description at most."""

MOST_LINKS = 1000
"""Number of links or bodies of a robot description at most: each takes some milliseconds, and robots have under 100."""

DEEPEST_ELEMENT = 400
"""Number of elements inside one another at most: bodies of MJCF files are nested, and Python's stack is limited."""


@dataclass
class XmlElement:
    """An element with its attributes, its children and its place."""

    tag: str
    attributes: dict[str, str]
    path: str
    line: int
    column: int
    children: list[XmlElement] = field(default_factory=list["XmlElement"])

    @property
    def label(self) -> str:
        """The element in messages: its tag and its name, if it has one."""
        name = self.attributes.get("name")
        return f"<{self.tag}>" if not name else f'<{self.tag} name="{name[:60]}">'

    def error(self, problem: str) -> FileError:
        return FileError(problem, self.path, self.line, self.column)

    def all(self, *tags: str) -> list[XmlElement]:
        """Return the children with one of these tags."""
        return [child for child in self.children if child.tag in tags]

    def first(self, tag: str) -> XmlElement | None:
        """Return the only child with a tag, or None; a second one is an error."""
        found = self.all(tag)
        if len(found) > 1:
            raise found[1].error(f"{self.label} must have one <{tag}>; this is another one. Leave one of them out.")
        return found[0] if found else None

    def walk(self) -> Iterator[XmlElement]:
        """Return this element and all inside of it, in the order of the file."""
        waiting: list[XmlElement] = [self]
        while waiting:
            element = waiting.pop()
            yield element
            waiting += reversed(element.children)

    def given(self, name: str) -> bool:
        return name in self.attributes

    def text(self, name: str, default: str | None = None) -> str:
        """Return an attribute; without a default it must be there."""
        value = self.attributes.get(name, default)
        if value is None:
            raise self.error(f"{self.label} must have the attribute `{name}`; there is none.")
        return value

    def choice(self, name: str, choices: Sequence[str], default: str | None = None) -> str:
        """Return an attribute that is one of some words."""
        value = self.text(name, default).strip()
        if value not in choices:
            raise self.error(
                f"`{name}` of {self.label} must be one of those known; got `{value[:60]}`. "
                f"{nearest_hint(value, choices)}"
            )
        return value

    def numbers(self, name: str, count: int | tuple[int, ...], default: Sequence[float] | None = None) -> list[float]:
        """Return the numbers of an attribute; ``count`` tells how many there may be."""
        if name not in self.attributes and default is not None:
            return [float(value) for value in default]
        counts = [count] if isinstance(count, int) else list(count)
        text = self.text(name)
        try:
            values = [float(word) for word in text.split()]
        except ValueError:
            values = []
        if len(values) not in counts or not all(map(math.isfinite, values)):
            wanted = " or ".join(map(str, counts)) if len(counts) < 4 else f"{counts[0]} to {counts[-1]}"
            plural = "s" * (counts[-1] > 1)
            raise self.error(f"`{name}` of {self.label} must be {wanted} finite number{plural}; got `{text[:60]}`.")
        return values

    def number(self, name: str, default: float | None = None) -> float:
        return self.numbers(name, 1, None if default is None else (default,))[0]

    def nonnegative(self, name: str, default: float | None = None) -> float:
        value = self.number(name, default)
        if value < 0:
            raise self.error(f"`{name}` of {self.label} must not be negative; got {value:g}.")
        return value

    def boolean(self, name: str, default: bool) -> bool:
        return self.choice(name, ("true", "false"), "true" if default else "false") == "true"

    def unknown_attributes(self, known: Sequence[str]) -> list[str]:
        """Return the attributes that are not known; one that resembles a known one is taken for a mistake."""
        unknown = [name for name in self.attributes if name not in known]
        for name in unknown:
            near = difflib.get_close_matches(name[:60], known, n=1, cutoff=0.65)
            if near:
                raise self.error(f"{self.label} has no attribute `{name[:60]}`. Did you mean `{near[0]}`?")
        return unknown


def nearest_hint(name: str, known: Sequence[str]) -> str:
    """Return a sentence with the most similar known name, or with all known ones."""
    near = difflib.get_close_matches(name[:60], known, n=1)
    if near:
        return f"Did you mean `{near[0]}`?"
    return f"Known are: {quoted(known[:12])}{' and others' * (len(known) > 12)}." if known else "There are none."


def read_xml(path: str | Path) -> XmlElement:
    """Return the root element of a file.

    Raises
    ------
    InputError    if there is no such file, or it is too large
    FileError     if it is not well-formed XML, declares a document type or entities, or is nested too deep
    """
    source = Path(str(path))
    if not source.is_file():
        raise InputError(f"`path` must name a file; there is no `{source}`.")
    if source.stat().st_size > LARGEST_XML_FILE:
        raise InputError(f"a robot description must have at most {LARGEST_XML_FILE} bytes; `{source}` is larger.")
    return parsed_xml(source.read_bytes(), str(source))


def parsed_xml(text: bytes, path: str) -> XmlElement:
    """Return the root element of a text; ``path`` names it in messages."""
    parser = expat.ParserCreate()
    reader = _TreeBuilder(parser, path)
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.StartDoctypeDeclHandler = reader.refuse
    parser.EntityDeclHandler = reader.refuse
    try:
        parser.Parse(text, True)
    except (expat.ExpatError, ValueError, LookupError) as error:  # an unknown encoding is a ValueError or LookupError
        if isinstance(error, FileError):
            raise
        line, column = (error.lineno, error.offset + 1) if isinstance(error, expat.ExpatError) else (1, 1)
        raise FileError(f"the file must be well-formed XML: {error}.", path, line, column) from None
    assert reader.root is not None  # a document without a root is not well-formed
    return reader.root


class _TreeBuilder:
    """Handlers of the parser, which build the tree."""

    def __init__(self, parser: Any, path: str):
        self.parser, self.path = parser, path
        self.root: XmlElement | None = None
        self.open: list[XmlElement] = []
        self.links = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        place = self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber + 1
        element = XmlElement(tag, attributes, self.path, *place)
        if len(self.open) >= DEEPEST_ELEMENT:
            raise element.error(f"elements must not be nested deeper than {DEEPEST_ELEMENT}.")
        self.links += tag in ("link", "body")
        if self.links > MOST_LINKS:
            raise element.error(f"a robot description must have at most {MOST_LINKS} links or bodies; it has more.")
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)

    def end(self, tag: str) -> None:
        self.open.pop()

    def refuse(self, *declaration: Any) -> None:
        place = self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber + 1
        raise FileError(
            "a robot description must not declare a document type or entities, which could expand without bound. "
            "Leave out <!DOCTYPE ...>.",
            self.path,
            *place,
        )
