# SPDX-License-Identifier: BSD-3-Clause
"""Optional dependencies, and the extras that install them."""

from __future__ import annotations

import importlib

EXTRAS = {
    "jax": "jax",
    "jaxlib": "jax",
    "equinox": "jax",
    "diffrax": "jax",
    "matplotlib": "plot",
    "PIL": "plot",
    "typer": "cli",
    "rich": "cli",
    "ziglang": "fmu",
    "pyarrow": "files",
    "zarr": "files",
    "distributed": "cluster",
    "dask": "cluster",
}
"""The extra that installs each package."""


def require(package: str) -> None:
    """Import a package, or raise an ImportError that names the extra to install."""
    try:
        importlib.import_module(package)
    except ModuleNotFoundError as missing:
        raise with_extra(missing) from None


def with_extra(missing: ModuleNotFoundError) -> ModuleNotFoundError:
    """Return the error of an import with the extra that installs what is missing, if there is one."""
    package = (missing.name or "").partition(".")[0]
    if package not in EXTRAS:
        return missing
    return ModuleNotFoundError(
        f"`{package}` must be installed for this; it is not. Run `pip install 'dalembert[{EXTRAS[package]}]'`.",
        name=missing.name,
    )
