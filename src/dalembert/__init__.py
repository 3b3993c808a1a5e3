# SPDX-License-Identifier: BSD-3-Clause
"""Constrained motion by the Udwadia–Kalaba equation: state a system and its constraints, get motion and forces.

All computations use float64: importing dalembert switches JAX to 64 bits.
"""

from __future__ import annotations

import importlib
import os
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if "jax" in sys.modules:
    sys.modules["jax"].config.update("jax_enable_x64", True)
else:
    os.environ["JAX_ENABLE_X64"] = "1"  # read by JAX when it is imported, which is put off until it is needed

from dalembert.common.extras import with_extra
from dalembert.errors import ConstraintError as ConstraintError
from dalembert.errors import DalembertError as DalembertError
from dalembert.errors import DeviceError as DeviceError
from dalembert.errors import ExpressionError as ExpressionError
from dalembert.errors import FileError as FileError
from dalembert.errors import InputError as InputError
from dalembert.errors import MassMatrixError as MassMatrixError
from dalembert.errors import ModelError as ModelError
from dalembert.errors import PainleveError as PainleveError
from dalembert.errors import SimulationError as SimulationError
from dalembert.errors import StateError as StateError

if TYPE_CHECKING:
    from dalembert import gallery as gallery
    from dalembert.analysis.check import check as check
    from dalembert.analysis.classification import Classification as Classification
    from dalembert.analysis.classification import classify as classify
    from dalembert.analysis.reduction import reduce as reduce
    from dalembert.analysis.verdict import Verdict as Verdict
    from dalembert.control.controller import Controller as Controller
    from dalembert.control.controller import controller as controller
    from dalembert.derivatives.flow import flow as flow
    from dalembert.derivatives.linearization import Linearization as Linearization
    from dalembert.derivatives.linearization import linearize as linearize
    from dalembert.derivatives.periodic import PeriodicMotion as PeriodicMotion
    from dalembert.derivatives.periodic import periodic_motion as periodic_motion
    from dalembert.derivatives.periodic import transition_matrix as transition_matrix
    from dalembert.ensembles.designs import grid as grid
    from dalembert.ensembles.designs import latin as latin
    from dalembert.ensembles.designs import scatter as scatter
    from dalembert.ensembles.designs import sobol as sobol
    from dalembert.ensembles.ensemble import simulate_ensemble as simulate_ensemble
    from dalembert.ensembles.variance_shares import variance_shares as variance_shares
    from dalembert.equation.answer import ConstrainedMotion as ConstrainedMotion
    from dalembert.equation.constrained_motion import constrained_motion as constrained_motion
    from dalembert.equation.dynamics import Dynamics as Dynamics
    from dalembert.equation.extended_dalembert import ExtendedDAlembert as ExtendedDAlembert
    from dalembert.equation.factored import Factored as Factored
    from dalembert.equation.multipliers import Multipliers as Multipliers
    from dalembert.equation.pseudo_inverse import PseudoInverse as PseudoInverse
    from dalembert.equation.singular_mass import SingularMass as SingularMass
    from dalembert.equation.stacked_least_squares import StackedLeastSquares as StackedLeastSquares
    from dalembert.export.c_file import export_c as export_c
    from dalembert.export.fmu import export_fmu as export_fmu
    from dalembert.export.python_file import export_python as export_python
    from dalembert.figures.geometry import plot_geometry as plot_geometry
    from dalembert.files.load import load as load
    from dalembert.files.model import ModelFile as ModelFile
    from dalembert.fitting.fit import fit as fit
    from dalembert.fitting.observation import Observation as Observation
    from dalembert.fitting.result import Comparison as Comparison
    from dalembert.fitting.result import Fit as Fit
    from dalembert.fitting.result import compare as compare
    from dalembert.hybrid.moreau_jean import MoreauJean as MoreauJean
    from dalembert.integration.drift import Baumgarte as Baumgarte
    from dalembert.integration.drift import Projection as Projection
    from dalembert.integration.method import Implicit as Implicit
    from dalembert.live_page import page as page
    from dalembert.mechanisms.assembly_changes import Assembly as Assembly
    from dalembert.mechanisms.contact_joints import PlaneContact as PlaneContact
    from dalembert.mechanisms.contact_joints import RoundContact as RoundContact
    from dalembert.mechanisms.couplings import Drive as Drive
    from dalembert.mechanisms.couplings import Gear as Gear
    from dalembert.mechanisms.couplings import PointOnCurve as PointOnCurve
    from dalembert.mechanisms.couplings import PointOnSurface as PointOnSurface
    from dalembert.mechanisms.extra_coordinates import ExtraCoordinates as ExtraCoordinates
    from dalembert.mechanisms.forces import Drag as Drag
    from dalembert.mechanisms.forces import Force as Force
    from dalembert.mechanisms.forces import Gravity as Gravity
    from dalembert.mechanisms.forces import Torque as Torque
    from dalembert.mechanisms.frames import ground as ground
    from dalembert.mechanisms.joint_inertia import Rotor as Rotor
    from dalembert.mechanisms.joint_motion import JointMotion as JointMotion
    from dalembert.mechanisms.joints import Prismatic as Prismatic
    from dalembert.mechanisms.joints import Revolute as Revolute
    from dalembert.mechanisms.joints import Rod as Rod
    from dalembert.mechanisms.joints import Rope as Rope
    from dalembert.mechanisms.joints import Weld as Weld
    from dalembert.mechanisms.massless_body import MasslessBody as MasslessBody
    from dalembert.mechanisms.mechanism import Mechanism as Mechanism
    from dalembert.mechanisms.particle import Particle as Particle
    from dalembert.mechanisms.planar_body import PlanarBody as PlanarBody
    from dalembert.mechanisms.planar_rolling import KnifeEdge as KnifeEdge
    from dalembert.mechanisms.planar_rolling import RollingOnLine as RollingOnLine
    from dalembert.mechanisms.profiles import Cam as Cam
    from dalembert.mechanisms.profiles import RollingOnProfile as RollingOnProfile
    from dalembert.mechanisms.reactions import Reactions as Reactions
    from dalembert.mechanisms.rolling import RollingBall as RollingBall
    from dalembert.mechanisms.rolling import RollingDisc as RollingDisc
    from dalembert.mechanisms.rolling import RollingEllipsoid as RollingEllipsoid
    from dalembert.mechanisms.rolling_on_round import RollingOnCircle as RollingOnCircle
    from dalembert.mechanisms.rolling_on_round import RollingOnCylinder as RollingOnCylinder
    from dalembert.mechanisms.rolling_on_round import RollingOnSphere as RollingOnSphere
    from dalembert.mechanisms.rotations import Rotation as Rotation
    from dalembert.mechanisms.spatial_body import Body as Body
    from dalembert.mechanisms.spatial_joints import Cylindrical as Cylindrical
    from dalembert.mechanisms.spatial_joints import Planar as Planar
    from dalembert.mechanisms.spatial_joints import Screw as Screw
    from dalembert.mechanisms.spatial_joints import Spherical as Spherical
    from dalembert.mechanisms.spatial_joints import Universal as Universal
    from dalembert.mechanisms.springs import Spring as Spring
    from dalembert.mechanisms.springs import TorsionSpring as TorsionSpring
    from dalembert.mechanisms.transmission import Transmission as Transmission
    from dalembert.mechanisms.vectors import quaternion as quaternion
    from dalembert.model.constraint import Constraint as Constraint
    from dalembert.model.constraint import pfaffian as pfaffian
    from dalembert.model.contact_mode import ContactMode as ContactMode
    from dalembert.model.event import Change as Change
    from dalembert.model.event import Event as Event
    from dalembert.model.friction import Coulomb as Coulomb
    from dalembert.model.friction import Stribeck as Stribeck
    from dalembert.model.function_system import FunctionConstraint as FunctionConstraint
    from dalembert.model.function_system import FunctionSystem as FunctionSystem
    from dalembert.model.laws import Prescribed as Prescribed
    from dalembert.model.laws import Proportional as Proportional
    from dalembert.model.laws import Quadratic as Quadratic
    from dalembert.model.laws import SlidingForce as SlidingForce
    from dalembert.model.laws import Viscous as Viscous
    from dalembert.model.python_functions import function as function
    from dalembert.model.servo import Actuator as Actuator
    from dalembert.model.servo import Servo as Servo
    from dalembert.model.signal import signal as signal
    from dalembert.model.symbols import coordinates as coordinates
    from dalembert.model.symbols import ideal_force as ideal_force
    from dalembert.model.symbols import multiplier as multiplier
    from dalembert.model.symbols import parameters as parameters
    from dalembert.model.symbols import reaction as reaction
    from dalembert.model.symbols import t as t
    from dalembert.model.system import System as System
    from dalembert.model.term_groups import AppliedForce as AppliedForce
    from dalembert.model.term_groups import MassEntries as MassEntries
    from dalembert.model.uncertainty import AdaptiveBound as AdaptiveBound
    from dalembert.model.uncertainty import BoundedUncertainty as BoundedUncertainty
    from dalembert.report.derivation import Derivation as Derivation
    from dalembert.report.derive import derive as derive
    from dalembert.saved_runs.reproduction import Trajectory as Trajectory
    from dalembert.saved_runs.reproduction import reproduce as reproduce
    from dalembert.saved_runs.stored_run import simulate_to_store as simulate_to_store
    from dalembert.variational.vakonomic import Vakonomic as Vakonomic
    from dalembert.variational.vakonomic import vakonomic as vakonomic
    from dalembert.verbs import build as build
    from dalembert.verbs import consistent_state as consistent_state
    from dalembert.verbs import motion as motion
    from dalembert.verbs import simulate as simulate

__version__ = "0.1.0"

# What needs JAX or diffrax is imported when first used: `import dalembert` then costs little more than SymPy.
_MODULES = {
    "analysis.check": "check",
    "analysis.classification": "Classification classify",
    "analysis.reduction": "reduce",
    "analysis.verdict": "Verdict",
    "control.controller": "Controller controller",
    "derivatives.flow": "flow",
    "derivatives.linearization": "Linearization linearize",
    "derivatives.periodic": "PeriodicMotion periodic_motion transition_matrix",
    "ensembles.designs": "grid latin scatter sobol",
    "ensembles.ensemble": "simulate_ensemble",
    "ensembles.variance_shares": "variance_shares",
    "equation.answer": "ConstrainedMotion",
    "equation.constrained_motion": "constrained_motion",
    "equation.dynamics": "Dynamics",
    "equation.extended_dalembert": "ExtendedDAlembert",
    "equation.factored": "Factored",
    "equation.multipliers": "Multipliers",
    "equation.pseudo_inverse": "PseudoInverse",
    "equation.singular_mass": "SingularMass",
    "equation.stacked_least_squares": "StackedLeastSquares",
    "export.c_file": "export_c",
    "export.fmu": "export_fmu",
    "export.python_file": "export_python",
    "figures.geometry": "plot_geometry",
    "files.load": "load",
    "files.model": "ModelFile",
    "fitting.fit": "fit",
    "fitting.observation": "Observation",
    "fitting.result": "Comparison Fit compare",
    "hybrid.moreau_jean": "MoreauJean",
    "integration.drift": "Baumgarte Projection",
    "integration.method": "Implicit",
    "live_page": "page",
    "mechanisms.assembly_changes": "Assembly",
    "mechanisms.contact_joints": "PlaneContact RoundContact",
    "mechanisms.couplings": "Drive Gear PointOnCurve PointOnSurface",
    "mechanisms.extra_coordinates": "ExtraCoordinates",
    "mechanisms.forces": "Drag Force Gravity Torque",
    "mechanisms.frames": "ground",
    "mechanisms.joint_inertia": "Rotor",
    "mechanisms.joint_motion": "JointMotion",
    "mechanisms.joints": "Prismatic Revolute Rod Rope Weld",
    "mechanisms.massless_body": "MasslessBody",
    "mechanisms.mechanism": "Mechanism",
    "mechanisms.particle": "Particle",
    "mechanisms.planar_body": "PlanarBody",
    "mechanisms.planar_rolling": "KnifeEdge RollingOnLine",
    "mechanisms.profiles": "Cam RollingOnProfile",
    "mechanisms.reactions": "Reactions",
    "mechanisms.rolling": "RollingBall RollingDisc RollingEllipsoid",
    "mechanisms.rolling_on_round": "RollingOnCircle RollingOnCylinder RollingOnSphere",
    "mechanisms.rotations": "Rotation",
    "mechanisms.spatial_body": "Body",
    "mechanisms.spatial_joints": "Cylindrical Planar Screw Spherical Universal",
    "mechanisms.springs": "Spring TorsionSpring",
    "mechanisms.transmission": "Transmission",
    "mechanisms.vectors": "quaternion",
    "model.constraint": "Constraint pfaffian",
    "model.contact_mode": "ContactMode",
    "model.event": "Change Event",
    "model.friction": "Coulomb Stribeck",
    "model.function_system": "FunctionConstraint FunctionSystem",
    "model.laws": "Prescribed Proportional Quadratic SlidingForce Viscous",
    "model.python_functions": "function",
    "model.servo": "Actuator Servo",
    "model.signal": "signal",
    "model.symbols": "coordinates ideal_force multiplier parameters reaction t",
    "model.system": "System",
    "model.term_groups": "AppliedForce MassEntries",
    "model.uncertainty": "AdaptiveBound BoundedUncertainty",
    "report.derivation": "Derivation",
    "report.derive": "derive",
    "saved_runs.reproduction": "Trajectory reproduce",
    "saved_runs.stored_run": "simulate_to_store",
    "variational.vakonomic": "Vakonomic vakonomic",
    "verbs": "build consistent_state motion simulate",
}
"""Public names by the module that defines them; it is imported when one of them is first used."""

_LAZY = {name: module for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name == "gallery":
        return importlib.import_module("dalembert.gallery")
    if name not in _LAZY:
        import difflib

        nearest = [] if name.startswith("_") else difflib.get_close_matches(name, __dir__(), n=1)
        hint = f". Did you mean `{nearest[0]}`?" if nearest else ""
        raise AttributeError(f"module `dalembert` has no attribute `{name}`{hint}")
    try:
        module = importlib.import_module(f"dalembert.{_LAZY[name]}")
    except ModuleNotFoundError as missing:
        raise with_extra(missing) from None
    value = getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    hidden = {name for name, value in globals().items() if isinstance(value, ModuleType)}  # subpackages, once imported
    hidden |= {"annotations", "ModuleType", "importlib", "os", "sys", "Any", "TYPE_CHECKING", "with_extra"}
    return sorted({name for name in globals() if not name.startswith("_")} - hidden | {*_LAZY, "gallery"})
