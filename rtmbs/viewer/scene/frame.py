"""Frames: poses, rates, step times and energies of a session at one instant, in the shared memory of two processes."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from multiprocessing.shared_memory import SharedMemory
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
CONTACT = (
    slice(0, 3),
    slice(3, 6),
    slice(6, 9),
    slice(9, 12),
)  # point [m], normal towards the second body, force on it [N], impulse on it [N s] shortly before: world axes
LINGERS = 0.1  # [s] for which a picture shows the impulse of an impact, as the mean force over this time

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

    contacts: Array = field(default_factory=lambda: np.zeros((0, 12)))  # (nc, 12) as CONTACT; no number: unknown

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
    inputs, ``nj`` joints and ``nc`` contacts.
    """

    def __init__(self, nb: int, n: int, nu: int, nj: int = 0, nc: int = 0) -> None:
        self.nb, self.n, self.nu, self.nj, self.nc = nb, n, nu, nj, nc
        shapes: dict[str, tuple[int, ...]] = {
            "r": (nb, 3),
            "A": (nb, 3, 3),
            "z": (n,),
            "zd": (n,),
            "inputs": (nu,),
            "reactions": (nj, 6),
            "contacts": (nc, 12),
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


# ---- shared memory ---------------------------------------------------------------------------------------------------

BUFFERS = 2
SEEN = 1 + BUFFERS  # place in the header of the number of the buffer that a reader took last
HEADER = (
    SEEN + 1
) * 8  # int64: which buffer is the latest (-1 none), how often each was begun or finished, the last seen
TRIES = 100  # of a reader that is overtaken while it copies; it then waits for the next frame or row


class SharedFrames:
    """Two buffers that are written in turn, each with a number that is odd while it is being written (a seqlock).

    The writer fills the buffer that is not the latest, then says so. A reader copies the latest and looks whether its
    number is still the same: with two buffers it is overtaken only when two frames come while it copies one.

    layout: of the frames.  name: of a memory that another process made; None makes one.
    """

    def __init__(self, layout: FrameLayout, name: str | None = None) -> None:
        self.layout, self.owned = layout, name is None
        size = HEADER + BUFFERS * layout.size
        self._memory = SharedMemory(name=name, create=name is None, size=size)
        self._header: Any = np.ndarray(SEEN + 1, np.int64, self._memory.buf)
        self._buffers: Any = np.ndarray(BUFFERS, layout.dtype, self._memory.buf, offset=HEADER)
        if self.owned:
            self._header[:] = -1, *(0,) * BUFFERS, 0

    @property
    def name(self) -> str:
        """Name by which another process opens the memory."""
        return self._memory.name

    def publish(self, frame: Frame) -> None:
        """Make ``frame`` the latest one."""
        k = (int(self._header[0]) + 1) % BUFFERS
        self._header[1 + k] += 1
        self.layout.write(frame, self._buffers[k])
        self._header[1 + k] += 1
        self._header[0] = k

    @property
    def taken(self) -> bool:
        """True when a reader has the latest frame: numbers of one buffer grow, and those of the other are as large."""
        k, number = self.number()
        return int(self._header[SEEN]) == BUFFERS * number + k

    def number(self) -> tuple[int, int]:
        """Return buffer and number of the newest frame."""
        k = int(self._header[0])
        return k, int(self._header[1 + k]) if k >= 0 else 0

    def read(self) -> Frame | None:
        """Return the latest frame, None before the first, or when every try was overtaken."""
        for _ in range(TRIES):
            k, before = self.number()
            if k < 0:
                return None
            if before % 2:
                continue
            copy = self._buffers[k].copy()
            if int(self._header[1 + k]) == before:
                self._header[SEEN] = BUFFERS * before + k
                return self.layout.read(copy)
        return None

    def close(self) -> None:
        """Release the memory; its maker also removes it."""
        self._header = self._buffers = None
        self._memory.close()
        if self.owned:
            self._memory.unlink()


# ---- rows of all steps -----------------------------------------------------------------------------------------------


KEPT = 65_536  # steps: the last 65 s at h = 1 ms
T, KINETIC, GRAVITY, ELASTIC, POSITION, VELOCITY, ACCELERATION, FIRST = range(8)  # columns; the watched from FIRST on
WIDTH = FIRST + PLOTS
NUMBERS = 4 * 8  # int64: stamp (odd while it is written), ticket, first and end of the steps that are kept
START = 2 * 8  # float64: time and energy of the first step of all, kept when the ring has lost that step
STAMP, TICKET, OLDEST, END = range(4)


class Strip:
    """One row a step, oldest first, in a ring: one writer that never waits, readers that never see half a row.

    Times rise from row to row: rows of an earlier time than the last one replace what came after it.

    kept: rows at most.  shared: in memory that another process opens by ``name``; a name opens that of another one.
    """

    def __init__(self, kept: int = KEPT, shared: bool = False, name: str | None = None) -> None:
        self.owned, self._memory = shared and name is None, None
        if shared or name is not None:
            size = NUMBERS + START + 8 * kept * WIDTH
            self._memory = SharedMemory(name=name, create=name is None, size=size)
        buffer = None if self._memory is None else self._memory.buf
        self._head: Any = np.ndarray(4, np.int64, buffer)
        shift = 0 if buffer is None else 1
        self._start: Any = np.ndarray(2, np.float64, buffer, offset=shift * NUMBERS)
        self._ring: Any = np.ndarray((kept, WIDTH), np.float64, buffer, offset=shift * (NUMBERS + START))
        if name is None:
            self._head[:], self._start[:] = 0, (np.inf, 0.0)

    @property
    def name(self) -> str:
        """Name by which another process opens the memory; "" for memory of this process."""
        return "" if self._memory is None else self._memory.name

    # ---- the writer -------------------------------------------------------------------------------------------------

    def begin(self, ticket: int) -> None:
        """Clear the strip for the channels of subscription ``ticket``."""
        self._head[STAMP] += 1
        self._head[TICKET], self._head[OLDEST], self._head[END] = ticket, 0, 0
        self._start[:] = np.inf, 0.0
        self._head[STAMP] += 1

    def change_columns(self, ticket: int, sources: Sequence[int], t: Array, values: Array) -> None:
        """Change the recorded columns; columns recorded before keep all their rows.

        sources: for each number the place among those before, -1 for a new one.  values (k, len(sources)): of the new
        ones at the times t (k,) that are known; the other rows have no number (NaN) there.
        """
        self._head[STAMP] += 1
        places = np.arange(int(self._head[OLDEST]), int(self._head[END])) % len(self._ring)
        changed = [k for k, source in enumerate(sources) if source != k]
        before = self._ring[places[:, None], [FIRST + max(sources[k], 0) for k in changed]]
        before[:, [sources[k] < 0 for k in changed]] = np.nan
        times = self._ring[places, T]
        rows = np.searchsorted(times, t)
        known = rows < len(times)
        known[known] = times[rows[known]] == t[known]
        for column, k in enumerate(changed):
            if sources[k] < 0:
                before[rows[known], column] = values[known, k]
        self._ring[places[:, None], [FIRST + k for k in changed]] = before
        self._head[TICKET] = ticket
        self._head[STAMP] += 1

    def append(self, rows: Array) -> None:
        """Add rows (k, WIDTH), times rising."""
        rows = rows[-len(self._ring) :]
        if not len(rows):
            return
        self._head[STAMP] += 1
        kept, oldest = len(self._ring), int(self._head[OLDEST])
        end = self._end_before(float(rows[0, T]), oldest)
        self._ring[np.arange(end, end + len(rows)) % kept] = rows
        if rows[0, T] <= self._start[0]:
            self._start[:] = rows[0, T], rows[0, KINETIC : ELASTIC + 1].sum()
        end += len(rows)
        self._head[OLDEST], self._head[END] = max(oldest, end - kept), end
        self._head[STAMP] += 1

    def _end_before(self, t: float, oldest: int) -> int:
        """Return where the rows before time ``t`` end."""
        kept, end = len(self._ring), int(self._head[END])
        if end == oldest or self._ring[(end - 1) % kept, T] < t:
            return end
        times = self._ring[np.arange(oldest, end) % kept, T]
        return oldest + int(np.searchsorted(times, t))

    # ---- readers ----------------------------------------------------------------------------------------------------

    @property
    def ticket(self) -> int:
        """Ticket of the subscription."""
        return int(self._head[TICKET])

    @property
    def start_energy(self) -> float:
        """Total energy of the first step since the beginning [J], whether or not its row is still kept."""
        return float(self._start[1])

    @property
    def stamp(self) -> int:
        """A number that changes with every change of the rows."""
        return int(self._head[STAMP])

    def read(self, columns: Sequence[int]) -> Array | None:
        """Return the rows (k, len(columns)), oldest first; None when every try was overtaken."""
        for _ in range(TRIES):
            before = self.stamp
            if before % 2:
                continue
            oldest, end = int(self._head[OLDEST]), int(self._head[END])
            places = np.arange(oldest, end) % len(self._ring)
            rows = self._ring[places[:, None], np.array(columns)]
            if self.stamp == before:
                return np.asarray(rows)
        return None

    def close(self) -> None:
        """Release shared memory; its maker also removes it."""
        self._head = self._start = self._ring = None
        if self._memory is not None:
            self._memory.close()
            if self.owned:
                self._memory.unlink()
            self._memory = None
