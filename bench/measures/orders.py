"""Order of convergence: slopes of errors over a sequence of steps, against independent references."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rtmbs import Model, Recorder, Result, Simulation, library
from rtmbs.integrators.penalty_trapezoidal import PenaltyTrapezoidal
from rtmbs.library import references
from rtmbs.library.benchmarks import TOP_CENTER, TOP_INERTIA, TOP_MASS
from rtmbs.library.linkages import START
from rtmbs.simulation.options import by_name

from .mechanisms import five_bar
from .planar import planar_motion

Array = NDArray[np.float64]
Triple = tuple[Array, Array, Array]  # positions, rates, accelerations, each (samples, k)

STEPS = (10e-3, 5e-3, 2.5e-3, 1.25e-3)  # [s]
LEVELS = ("position", "rate", "acceleration")


@dataclass(frozen=True)
class Problem:
    """A mechanism, what is seen of it, and what should be seen."""

    model: Callable[[], Model]
    seen: Callable[[Result], Triple]
    exact: Callable[[Array], Triple]
    distance: Callable[[Array, Array], Array] = np.subtract  # of positions
    t_end: float = 1.0  # [s]


class Errors(NamedTuple):
    """Root mean squares over the samples, by level and step (3, steps), and what the runs had to report."""

    rms: Array
    velocity_violation: Array  # (steps,) largest |Phid| [m/s]
    velocity_bound: Array  # (steps,) what it may be with projection: 1e-9 of the largest joint speed [m/s]

    @property
    def slopes(self) -> dict[str, float]:
        """Least-squares slopes of log error over log step."""
        return dict(zip(LEVELS, (self.slope(k) for k in range(3)), strict=True))

    def slope(self, level: int) -> float:
        return float(np.polyfit(np.log(self.steps), np.log(self.rms[level]), 1)[0])

    steps: tuple[float, ...] = STEPS


def errors(problem: Problem, steps: tuple[float, ...] = STEPS, zero_start: bool = False, **options: Any) -> Errors:
    """Run a problem with every step and compare it at multiples of the largest one.

    zero_start sets the first acceleration to zero; other options go to the Simulation.
    """
    system = problem.model().compile()
    times = np.arange(1, round(problem.t_end / max(steps)) + 1) * max(steps)
    exact = problem.exact(times)
    rms, violations, bounds = [], [], []
    for h in steps:
        sim = Simulation(system, h, **by_name(**options))
        if zero_start:
            sim.state.zdd[:] = 0.0
        watch = Watch()
        seen = problem.seen(sim.run(problem.t_end, observers=[watch]))
        every = slice(round(max(steps) / h), None, round(max(steps) / h))
        apart = [problem.distance(seen[0][every], exact[0])] + [seen[k][every] - exact[k] for k in (1, 2)]
        rms.append([math.sqrt(float(np.mean(difference**2))) for difference in apart])
        violations.append(watch.velocity_violation)
        speed = float(np.max(np.abs(watch.samples.zd) / system.typical))
        bounds.append(PenaltyTrapezoidal.projection_tol * speed * system.length)
    return Errors(np.array(rms).T, np.array(violations), np.array(bounds), steps)


class Watch(Recorder):
    """A recorder that remembers the largest |Phid| as well."""

    velocity_violation = 0.0

    def look(self, sim: Any, report: Any) -> None:
        super().look(sim, report)
        self.velocity_violation = max(self.velocity_violation, report.velocity_violation)


def angles(*joints: str) -> Callable[[Result], Triple]:
    """See the angles of joints."""

    def seen(result: Result) -> Triple:
        parts = ("angle", "rate", "acceleration")
        return tuple(np.stack([result[f"{joint}.{part}"] for joint in joints], axis=1) for part in parts)  # type:
        # ignore[return-value]

    return seen


def rows(ny: int, nz: int) -> Callable[[Result], Triple]:
    """See the absolute angles of the first rods of the stacked four-bar: pins and hinges add up."""
    pins, hinges = ([f"{kind}_{k}_0" for k in range(1, nz + 1)] for kind in ("pin", "hinge"))

    def seen(result: Result) -> Triple:
        found = []
        for pin, hinge in zip(angles(*pins)(result), angles(*hinges)(result), strict=True):
            total = pin.copy()
            total[:, 1:] += np.cumsum((pin + hinge)[:, :-1], axis=1)
            found.append(total)
        return found[0], found[1], found[2]

    return seen


def reduced(motion: Callable[[Array], Any], offset: ArrayLike = 0.0) -> Callable[[Array], Triple]:
    """The motion of a reduced equation, from coordinates that are zero at the start of the model."""

    def exact(times: Array) -> Triple:
        q, qd, qdd = motion(times)
        return q - offset, qd, qdd

    return exact


def five_bar_exact(times: Array) -> Triple:
    motion = planar_motion(five_bar(), times)
    return tuple(part["far"][:, 2:] for part in (motion.q, motion.qd, motion.qdd))  # type: ignore[return-value]


def top_exact(times: Array) -> Triple:
    """Quaternion, angular velocity and acceleration of the heavy top, the last two in world axes."""
    quaternion, omega = references.top(times)
    center, R = np.array(TOP_CENTER), matrices(quaternion)
    inertia = np.diag(TOP_INERTIA) + TOP_MASS * (center @ center * np.eye(3) - np.outer(center, center))
    weight = np.einsum("kji,j->ki", R, (0.0, 0.0, -9.81 * TOP_MASS))
    moment = np.cross(center, weight) - np.cross(omega, omega @ inertia)
    return quaternion, rotated(R, omega), rotated(R, moment @ np.linalg.inv(inertia))


def matrices(quaternion: Array) -> Array:
    """Return body-to-world rotations (k, 3, 3) of quaternions (k, 4), w first."""
    w, v = quaternion[:, 0, None, None], quaternion[:, 1:]
    cross = np.cross(v[:, None, :], np.eye(3)[None]).transpose(0, 2, 1)  # columns v x e_i
    return np.eye(3) + 2.0 * (w * cross + cross @ cross)


def rotated(R: Array, vectors: Array) -> Array:
    return np.einsum("kij,kj->ki", R, vectors)


def turn_between(a: Array, b: Array) -> Array:
    """Return the angle between two orientations (k,), from quaternions (k, 4) [rad]."""
    # of a* b: the vector part is what the two differ by, exact also for small angles
    vector = a[:, :1] * b[:, 1:] - b[:, :1] * a[:, 1:] - np.cross(a[:, 1:], b[:, 1:])
    return 2.0 * np.arctan2(np.linalg.norm(vector, axis=1), np.abs(np.sum(a * b, axis=1)))


PROBLEMS: dict[str, Problem] = {
    "stacked 2 x 5": Problem(
        lambda: library.build("fourbar", ny=2, nz=5), rows(2, 5), reduced(lambda t: references.fourbar(2, 5, t))
    ),
    "crank-rocker": Problem(
        lambda: library.build("crank_rocker"), angles("crank_pivot"), reduced(references.crank_rocker, START)
    ),
    "slider-crank": Problem(
        lambda: library.build("planar_slider_crank"),
        angles("pivot"),
        reduced(references.planar_slider_crank, math.radians(40.0)),
    ),
    "driven five-bar": Problem(five_bar, angles("far_pivot"), five_bar_exact),
    "heavy top": Problem(
        lambda: library.build("top"),
        lambda r: (r["top.orientation"], r["top.angular_velocity"], r["top.angular_acceleration"]),
        top_exact,
        turn_between,
        t_end=2.0,  # by then each of its axes has pointed the opposite way
    ),
}
ONE_FREEDOM = ("crank-rocker", "slider-crank")  # whose positions are of order three: the balance of energy, METHODS 1.7
