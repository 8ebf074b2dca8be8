"""Frames: poses, rates, step times and energies of a session at one instant, and their layout in shared memory."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.integrators.report import Outcome
from rtmbs.integrators.settings import PHASES

Array = NDArray[np.float64]

STEPS = 512  # steps that the rings of step times and iterations reach back
WAY = 96  # points that tell where a mechanism will be
PLOTS = 16  # channels that may be subscribed to at once
INSPECTED = 128  # numbers of the element that is inspected
OUTCOMES = tuple(Outcome)

# Options of a Simulation that may be changed while it runs; words are published by their place among the choices.
OPTIONS = (
    "h",
    "jacobian",
    "method",
    "penalty",
    "alpha",
    "tol",
    "max_iterations",
    "fixed_iterations",
    "refactor",
    "tangent_terms",
    "projection_metric",
    "project_velocities",
    "project_accelerations",
    "hold_energy",
)


def unknown(*shape: int) -> Callable[[], Array]:
    """Return a factory of arrays of a shape that hold no numbers (NaN)."""
    return lambda: np.full(shape, np.nan)


@dataclass(frozen=True, eq=False, kw_only=True)
class Frame:
    """One instant of a session. Arrays belong to the frame and are not written to afterwards.

    A recorded result has no coordinates, inputs, pulls and steps: their fields keep the defaults.
    """

    # ---- which instant
    generation: int  # of the description it belongs to: read ``describe()`` again when this is another one
    number: int  # counts published frames
    step: int  # steps from the start
    t: float  # [s]
    h: float  # [s]
    playing: bool
    oldest: int  # first step that the history still has
    newest: int  # last one; beyond ``step`` after going back
    outcome: Outcome  # of the last step tried; its value is the sentence, the worst come as a Message

    # ---- where everything is
    r: Array  # (nb, 3) origins of the bodies, ground first [m]
    A: Array  # (nb, 3, 3) body to world
    z: Array = field(default_factory=lambda: np.zeros(0))  # (n,) joint coordinates [rad or m]
    zd: Array = field(default_factory=lambda: np.zeros(0))  # (n,) their rates
    inputs: Array = field(default_factory=lambda: np.zeros(0))  # (nu,) by the places in ``InputDescription.place``
    grabbed: int = -1  # number of the body that is pulled, -1 for none
    grab_point: Array = field(default_factory=unknown(3))  # (3,) world [m]
    grab_target: Array = field(default_factory=unknown(3))  # (3,) world [m]
    grab_force: float = 0.0  # size of the pull [N]

    # ---- what joints carry
    reactions: Array  # (nj, 6) of the first body on the second at its point, world axes; not a number unless asked for

    # ---- how the steps go
    step_times: Array = field(default_factory=unknown(STEPS))  # (STEPS,) wall times, newest last [s]
    iterations: Array = field(default_factory=unknown(STEPS))  # (STEPS,) Newton iterations of the same steps
    steps_taken: int = 0  # of all steps of the session: tells how many entries of the rings are new
    p50: float = 0.0  # of step_times [s]
    p99: float = 0.0  # of step_times [s]
    late_p50: float = 0.0  # of the moments at which the last steps began, after their deadlines [s]
    late_p99: float = 0.0
    phases: Array = field(default_factory=lambda: np.zeros(len(PHASES)))  # (5,) of the last step, as PHASES [s]
    deadline: float  # wall time a step may take at the desired speed [s]
    deadlines: int = 0  # so far, since play or a change of h or speed
    missed: int = 0  # of them
    desired_speed: float  # simulated over wall time
    actual_speed: float  # the same over the last second of playing; 0 when paused
    real_time_factor: float = 0.0  # simulated time over wall time if steps followed one another without waiting

    # ---- what the numbers are worth
    kinetic: float  # [J]
    gravity: float  # gravity energy, zero at the world's origin [J]
    elastic: float  # [J]
    position_violation: float = math.nan  # max |Phi| [m]
    velocity_violation: float = math.nan  # max |Phid| [m/s]
    acceleration_violation: float = math.nan  # max |Phidd| [m/s^2]
    position_violation_rotation: float = math.nan  # rows that measure rotation
    velocity_violation_rotation: float = math.nan
    acceleration_violation_rotation: float = math.nan
    options: Array = field(default_factory=unknown(len(OPTIONS)))  # (len(OPTIONS),) see ``option``

    way: Array = field(default_factory=unknown(WAY, 3))  # (WAY, 3) farthest points of the first seconds [m]

    # ---- plots
    ticket: int  # of the channels that the strip holds now

    # ---- what is inspected
    inspect_ticket: int = 0  # of the channels whose values follow
    inspected: Array = field(default_factory=unknown(INSPECTED))  # (INSPECTED,)

    # ---- what was asked for
    taken: int = 0  # commands that the session had taken, refused ones too
    looping: bool = False  # what is stored is played over and over
    disk_limit: float = 0.0  # of the history on disk, 0 for memory alone [bytes]

    @property
    def energy(self) -> float:
        """Kinetic energy, gravity energy and elastic energy together [J]."""
        return self.kinetic + self.gravity + self.elastic

    def point(self, body: int, local: Array) -> Array:
        """Return the world position (3,) of a point ``local`` (3,) in the axes of a body [m]."""
        return np.asarray(self.r[body] + self.A[body] @ local)

    def points(self, bodies: NDArray[np.int64], local: Array) -> Array:
        """Return the world positions (k, 3) of points ``local`` (k, 3) in the axes of ``bodies`` (k,) [m]."""
        return np.asarray(self.r[bodies] + np.einsum("kij,kj->ki", self.A[bodies], local))

    def option(self, name: str, choices: tuple[str, ...] = ()) -> Any:
        """Return an option: a word of ``choices``, a number, or None where it is not used (alpha beside penalty)."""
        value = float(self.options[OPTIONS.index(name)])
        if np.isnan(value):
            return None
        if choices:
            return choices[int(value)]
        if name.startswith(("project_", "fixed_", "hold_")):
            return bool(value)
        return int(value) if name == "max_iterations" else value


class FrameLayout:
    """Places of the entries of a Frame in one flat array of float64, for ``nb`` bodies, ``n`` coordinates, ``nu``
    inputs and ``nj`` joints.
    """

    def __init__(self, nb: int, n: int, nu: int, nj: int = 0) -> None:
        self.nb, self.n, self.nu, self.nj = nb, n, nu, nj
        shapes: dict[str, tuple[int, ...]] = {
            "r": (nb, 3),
            "A": (nb, 3, 3),
            "z": (n,),
            "zd": (n,),
            "inputs": (nu,),
            "reactions": (nj, 6),
            "grab_point": (3,),
            "grab_target": (3,),
            "step_times": (STEPS,),
            "iterations": (STEPS,),
            "phases": (len(PHASES),),
            "options": (len(OPTIONS),),
            "way": (WAY, 3),
            "inspected": (INSPECTED,),
        }
        self.dtype = np.dtype([(f.name, np.float64, shapes.get(f.name, ())) for f in fields(Frame)])

    @property
    def size(self) -> int:
        """Bytes of a frame."""
        return self.dtype.itemsize

    def write(self, frame: Frame, record: Any) -> None:
        """Copy a frame into a ``record`` () of ``dtype``."""
        for name in self.dtype.names or ():
            value = getattr(frame, name)
            record[name] = OUTCOMES.index(value) if name == "outcome" else value

    def read(self, record: Any) -> Frame:
        """Return the frame that a ``record`` () of ``dtype`` holds, with arrays of its own."""
        return Frame(**{f.name: READERS[f.type](record[f.name]) for f in fields(Frame)})


def array(value: Any) -> Array:
    return np.array(value, np.float64)


def outcome(value: Any) -> Outcome:
    return OUTCOMES[int(value)]


READERS: dict[Any, Any] = {int: int, float: float, bool: bool, Array: array, Outcome: outcome}
