"""The models of SymPy's own tests of its mechanics, which are installed with it."""

import importlib
import warnings

from sympy.physics import mechanics as me


class _FoundError(Exception):
    """Ends a test of SymPy once its equations have been formed."""


def sympy_model(module, test):
    """The method whose equations a test of SymPy forms first."""
    formed = {me.KanesMethod: "kanes_equations", me.LagrangesMethod: "form_lagranges_equations"}
    originals = {kind: getattr(kind, name) for kind, name in formed.items()}
    found = []

    def stopping_after(original):
        def form(self, *arguments, **options):
            original(self, *arguments, **options)
            found.append(self)
            raise _FoundError

        return form

    try:
        for kind, name in formed.items():
            setattr(kind, name, stopping_after(originals[kind]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            getattr(importlib.import_module(f"sympy.physics.mechanics.tests.{module}"), test)()
    except _FoundError:
        pass
    finally:
        for kind, name in formed.items():
            setattr(kind, name, originals[kind])
    return found[0]
