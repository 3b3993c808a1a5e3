# SPDX-License-Identifier: BSD-3-Clause
"""Errors of the user as messages of the command line."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import typer
from rich.markup import escape

import dalembert
from dalembert.commands.starts import option_advice
from dalembert.commands.terminal import console_of


@contextmanager
def messages() -> Generator[None]:
    """Show errors of the user inside of the block as messages, without a traceback, and exit with 2."""
    try:
        yield
    except (dalembert.DalembertError, OSError, ModuleNotFoundError) as error:
        console_of(stderr=True).print(f"[red]error:[/] {escape(option_advice(str(error)))}", soft_wrap=True)
        raise typer.Exit(2) from None
