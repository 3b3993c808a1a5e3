# SPDX-License-Identifier: BSD-3-Clause
"""Arguments and options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

Name = Annotated[
    str,
    typer.Argument(
        help="A case of the gallery, which `dalembert list` names, or a model file (.toml).", show_default=False
    ),
]

Settings = Annotated[
    list[str] | None, typer.Option("--set", help="The value of a parameter, as a0=0.2; may be repeated.")
]
Coordinates = Annotated[str | None, typer.Option("--q0", help="The initial coordinates, as x=1,y=0 or as 1,0.")]
Velocities = Annotated[str | None, typer.Option("--qd0", help="The initial velocities, likewise.")]
Times = Annotated[str | None, typer.Option(help="The output times, as 0:10:101 (start, end, count) or as 0,1,2.")]
