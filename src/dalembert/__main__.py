# SPDX-License-Identifier: BSD-3-Clause
"""The command ``dalembert``, also as ``python -m dalembert``."""

from __future__ import annotations

from dalembert.common.extras import require


def main() -> None:
    """Run the command line, or exit with a message that names the extra to install."""
    try:
        for package in ("typer", "rich"):
            require(package)
    except ModuleNotFoundError as missing:
        raise SystemExit(f"error: {missing}") from None
    from dalembert.cli import main as command_line

    command_line()


if __name__ == "__main__":
    main()
