# SPDX-License-Identifier: BSD-3-Clause
"""Mechanisms: bodies, joints and forces, and the system that they define."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.common.names import listed, summary
from dalembert.errors import ModelError
from dalembert.integration.start_states import State
from dalembert.integration.trajectory import Trajectory
from dalembert.mechanisms.assembly_changes import Assembly
from dalembert.mechanisms.forces import Gravity
from dalembert.mechanisms.mechanism_assembly import assembled
from dalembert.mechanisms.mechanism_parts import PARTS, valid_parts
from dalembert.mechanisms.mechanism_problems import mechanism_problems
from dalembert.mechanisms.mechanism_system import system_of
from dalembert.mechanisms.reaction_forces import reactions_of
from dalembert.mechanisms.reactions import Reactions
from dalembert.mechanisms.vectors import numbers
from dalembert.model.system import System
from dalembert.model.value_document import save_document, value_entries

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dalembert.mechanisms.joint_motion import JointMotion


@dataclass(frozen=True, repr=False)
class Mechanism:
    """Bodies, joints and forces: an immutable object that defines an ordinary ``da.System``.

    Parameters
    ----------
    bodies         ``da.Particle``, ``da.PlanarBody`` or ``da.Body``; all in the plane or all in space
    joints         ``da.Revolute`` and the like, ``da.Drive`` and ``da.Transmission``; loops and redundant joints
                   are allowed
    forces         ``da.Gravity``, ``da.Spring`` and the like
    constraints    further ``da.Constraint`` objects, in the coordinates of the bodies; their forces, and those of
                   their laws, are in the ledger, but not in ``reactions``
    servos         ``da.Servo`` objects: requirements in the coordinates of the bodies, such as the position of a point
                   ``body.at(...).position``, which actuators meet. An actuator on a ``da.Revolute`` is a motor with
                   the input as its torque about the axis, on a ``da.Prismatic`` with the input as its force along the
                   axis: on the second body, with the opposite on the first
    extra_coordinates    ``da.ExtraCoordinates`` objects, such as elastic modes
    actuators      ``da.Actuator`` objects that servos may use; those of a robot that was read from a file. They have no
                   effect by themselves
    notes          sentences about the file that a mechanism was read from: what was assumed, and what was not read

    Raises
    ------
    ModelError     listing every problem: names given twice, joints of unknown bodies, mixed dimensions, motors
                   on joints that are not in the mechanism or do not have exactly one motion

    Examples
    --------
    >>> import dalembert as da
    >>> bar = da.PlanarBody("bar", mass=2, inertia=2 / 12, position=(0.5, 0))
    >>> pin = da.Revolute("pin", da.ground.at(0, 0), bar.at(-0.5, 0))
    >>> pendulum = da.Mechanism((bar,), (pin,), (da.Gravity((0, -9.81)),))
    >>> run = da.simulate(pendulum.system, *pendulum.assemble(), times=[0, 0.1])
    >>> print(pendulum.reactions(run)["pin"].force[0].round(6))
    [0.    4.905]
    """

    bodies: Any
    joints: Any = ()
    forces: Any = ()
    constraints: Any = ()
    servos: Any = ()
    extra_coordinates: Any = ()
    actuators: Any = ()
    notes: Any = field(default=(), compare=False)

    def __post_init__(self) -> None:
        problems: list[str] = []
        for part_of in PARTS:
            object.__setattr__(self, part_of, valid_parts(part_of, getattr(self, part_of), problems))
        problems += mechanism_problems(self)
        if problems:
            raise ModelError(problems)

    def __repr__(self) -> str:
        return summary(
            f"Mechanism in {'the plane' if self.dimension == 2 else 'space'}",
            listed((body.name for body in self.bodies), "bodies"),
            listed((joint.name for joint in self.joints), "joints"),
            listed((type(force).__name__ for force in self.forces), "forces"),
            listed((str(constraint.name) for constraint in self.constraints), "constraints"),
            listed((servo.name for servo in self.servos), "servos"),
            listed((name for extra in self.extra_coordinates for name in extra.names), "extra coordinates"),
            listed((actuator.name for actuator in self.actuators), "actuators"),
            f"{len(self.notes)} notes" if self.notes else "",
        )

    def _repr_html_(self) -> str:
        from dalembert.mechanisms.mechanism_table import table_of

        return table_of(self)

    @property
    def dimension(self) -> int:
        """The dimension: 2 in the plane, 3 in space."""
        return self.bodies[0].dimension

    @cached_property
    def system(self) -> System:
        """The system that the mechanism defines."""
        return system_of(self)

    def assemble(
        self, *, keep: str | Sequence[str] = (), t: float = 0.0, parameters: Any = None, servos: bool = False
    ) -> Assembly:
        """Return the state nearest to the given poses and velocities of the bodies that satisfies all joints.

        Ropes and contacts that open and close are left out: they hold where the given poses satisfy them.

        The result unpacks as ``q, qd``. Its ``changes`` list every given position, angle, orientation, velocity and
        spin that had to be changed, and by how much; printed, it is a report.

        Servo constraints need not be met at the start, since their errors settle. With ``servos=True`` the state also
        matches them, as for ``da.consistent_state``: there is no error from the beginning. Together with ``keep``, it
        meets the requirements and their rates, but not their higher derivatives.

        Parameters
        ----------
        keep          one or several given quantities to be kept: ``"spin of crank"``, and likewise position, angle (in
                      the plane), orientation (in space) or velocity of a body; or a coordinate such as
                      ``"theta_crank"``, which is kept together with its velocity
        t             time, for drives and servos
        parameters    a value for every constant of the model
        servos        whether the state must match the servo constraints

        Raises
        ------
        InputError    if a name in ``keep`` is unknown, or ``servos=True`` for a mechanism without servos
        StateError    if no nearby state satisfies all joints, and all requirements of servos if asked for; the message
                      names those that remain open, or the quantities that cannot be kept together

        Examples
        --------
        >>> import dalembert as da
        >>> bar = da.PlanarBody("bar", mass=2, inertia=2 / 12, position=(0.5, 0), spin=3)
        >>> pendulum = da.Mechanism(bar, da.Revolute("pin", da.ground.at(0, 0), bar.at(-0.5, 0)))
        >>> pendulum.assemble(keep="spin of bar")
        Assembly with 1 given quantity changed; kept: spin of bar
          velocity of bar  (0, 0) → (0, 1.5), by 1.5
        """
        return assembled(self, keep, t, parameters, servos)

    @classmethod
    def from_urdf(
        cls, path: str | Path, *, floating: bool = False, gravity: Sequence[float] = (0.0, 0.0, -9.81)
    ) -> Mechanism:
        """Return the mechanism of a URDF file.

        Each link that moves is a ``da.Body`` with the frame of the link as its axes; links on fixed joints are part of
        the body that carries them. The zero position of all joints is the given pose of the bodies.

        Parameters
        ----------
        path        the file, without macros of xacro
        floating    whether the root link moves freely; by default it is fixed to the ground
        gravity     the acceleration by gravity, which is not in the file

        Raises
        ------
        InputError    if there is no such file
        FileError     if the file is wrong: the message begins with file, line and column

        Notes
        -----
        ``notes`` of the mechanism tell what was not read, such as shapes, and what is not enforced, such as limits.
        """
        from dalembert.mechanisms.robots.urdf import read_urdf

        return read_urdf(path, numbers(gravity, "gravity", (3,)), floating=floating)

    @classmethod
    def from_mjcf(cls, path: str | Path) -> Mechanism:
        """Return the mechanism of an MJCF file, the format of MuJoCo.

        Bodies, joints and equality constraints are read as ``from_urdf`` reads links and joints. Constraints are rigid
        here, and contacts, tendons and limits are not modelled.

        Raises
        ------
        InputError    if there is no such file
        FileError     if the file is wrong or states what is not supported: the message begins with file, line and
                      column
        """
        from dalembert.mechanisms.robots.mjcf import read_mjcf

        return read_mjcf(path)

    def state(self, positions: Any = None, velocities: Any = None, *, t: float = 0.0, parameters: Any = None) -> State:
        """Return the state in which the joints have these positions and velocities: forward kinematics.

        Joints that are not named stay as in the given poses of the bodies, at rest. In a mechanism with closed loops,
        the motions of the other joints follow from those that are named, which are kept.

        Parameters
        ----------
        positions     by name of the joint: the angle of a ``da.Revolute``, counted from the given poses; the
                      displacement of a ``da.Prismatic``; the quaternion of a ``da.Spherical``. By name of a free body:
                      its position and quaternion, seven numbers
        velocities    the rates; three components of angular velocity in the axes of the second body for a
                      ``da.Spherical``; velocity and angular velocity in world axes, six numbers, for a free body
        t             time, for drives
        parameters    a value for every constant of the model

        Raises
        ------
        InputError    if a name is unknown, a value has another size, or the mechanism is in the plane
        StateError    if no state with these motions satisfies all joints

        Examples
        --------
        >>> import dalembert as da
        >>> bar = da.Body("bar", 1, (0.1, 1, 1), position=(1, 0, 0))
        >>> pin = da.Revolute("pin", da.ground.at(0, 0, 0), bar.at(-1, 0, 0), axis=(0, 0, 1))
        >>> q, qd = da.Mechanism(bar, pin).state({"pin": 1.5707963267948966}, {"pin": 2.0})
        >>> print(q[:3].round(9), qd[:3].round(9))
        [0. 1. 0.] [-2.  0.  0.]
        """
        from dalembert.mechanisms.joint_state import joint_state

        return joint_state(self, positions, velocities, t, parameters)

    def joint_motion(self, q: Any, qd: Any = None, acceleration: Any = None, *, parameters: Any = None) -> JointMotion:
        """Return positions, velocities and accelerations of all joints by name, the inverse of ``state``.

        Parameters
        ----------
        q, qd, acceleration    of the mechanism's ``system``, at one state (n,) or along a run (T, n)
        parameters             a value for every constant of the model

        Raises
        ------
        InputError    if a shape does not fit, or the mechanism is in the plane
        """
        from dalembert.mechanisms.joint_motion import joint_motion

        return joint_motion(self, q, qd, acceleration, parameters)

    def reactions(self, run: Trajectory, axes: str = "world") -> Reactions:
        """Return force and torque of every joint along a trajectory, on its second body at its second point.

        The torque or force of a motor is not part of the reaction of its joint. Like a drive, a motor has an entry of
        its own, by the name of the actuator. Inputs of other actuators are generalised forces without a point at which
        they act; they are in ``run.inputs``.

        The ``constraints`` of the mechanism are not joints: they have no bodies and points at which a force and a
        torque could act. The forces of these constraints and of their laws are in ``run.reactions`` and
        ``run.ledger()``, by name of the constraint, and are not part of the reactions of joints.

        Parameters
        ----------
        run     a trajectory of the mechanism's ``system``
        axes    "world", or "body" for the axes of the second body

        Raises
        ------
        InputError    if the trajectory is of another system
        """
        return reactions_of(self, run, axes)

    @property
    def upwards(self) -> Any:
        """The direction (3,) that figures show upwards: against gravity, or z without gravity; y in the plane."""
        accelerations = [force.acceleration for force in self.forces if isinstance(force, Gravity)]
        numbers = [
            np.asarray(acceleration, float).ravel()
            for acceleration in accelerations
            if not acceleration.free_symbols and any(acceleration)
        ]
        if self.dimension == 3 and numbers:
            return -numbers[0] / np.linalg.norm(numbers[0])
        return np.eye(3)[self.dimension - 1]

    def plot(
        self,
        run: Trajectory,
        positions: int = 5,
        view: tuple[float, float] = (30, 20),
        *,
        axes: bool | None = None,
    ) -> Figure:
        """Return a figure of some positions along a trajectory, the last one darkest, and of the paths of the joints.

        Points of the ground are drawn as supports. ``axes`` adds the names of the bodies and their axes in the last
        position, in which the points of joints are given; by default those of up to eight bodies. ``view`` is the
        direction of view in space, as azimuth and elevation in degrees. The figure is not shown; call
        ``.savefig(path)`` on it or show it with matplotlib.

        Raises
        ------
        InputError    if the trajectory is of another system, or ``positions`` or ``view`` are invalid
        """
        from dalembert.mechanisms.drawing import figure

        return figure(self, run, positions, view, axes)

    def animate(
        self,
        run: Trajectory,
        path: str | Path | None = None,
        fps: float = 25,
        view: tuple[float, float] = (30, 20),
        trace: float | None = None,
        *,
        speed: float | None = None,
        title: str = "",
    ) -> Any:
        """Write an animation of a trajectory, and return its path; without a path, return it for a notebook.

        A path that ends in ``.gif`` or ``.mp4`` is written as pictures, one that ends in ``.html`` as an interactive
        page, which a notebook shows, too. The object that is returned without a path has ``.save(path)``. ``trace`` is
        the duration of the path that is drawn behind each joint in pictures; by default the whole path is drawn.
        ``speed`` and ``title`` are those of ``Trajectory.animate``; with one of them the page plays pictures.

        Raises
        ------
        InputError    if the path has another extension or no directory, the trajectory has fewer than two times or is
                      of another system, ``view`` is not two numbers, or ``speed`` needs too many frames
        """
        from dalembert.mechanisms.drawing import MechanismAnimation, picture_animation, write_motion

        if speed is not None or title:
            found = picture_animation(self, run, fps, view, trace, speed=speed, title=title)
            return found if path is None else found.save(path)
        if path is None:
            return MechanismAnimation(self, run, fps, view, trace)
        return write_motion(self, run, Path(str(path)), fps, view, trace)

    def save(
        self, path: str | Path, *, parameters: Any = None, q0: Any = None, qd0: Any = None, times: Any = None
    ) -> Path:
        """Write the mechanism to a TOML file, which ``da.load`` reads, and return its path.

        Values of parameters, a start and times are optional. Without a start, that of ``assemble`` is used.

        Raises
        ------
        InputError    if the path has another extension or no directory, or if the values do not fit the mechanism
        ModelError    if an expression contains a function that the grammar of model files does not have
        """
        from dalembert.mechanisms.cancelled_parameters import cancelled_parameters
        from dalembert.mechanisms.mechanism_document import mechanism_document

        values = value_entries(self.system, parameters, q0, qd0, times, further=cancelled_parameters(self))
        return save_document(path, mechanism_document(self) | values)
