"""How large a step may be for a tolerance (METHODS 1.34).

The error that a step adds, in typical sizes, may be tolerance h / (t_end - t_begin): errors of all steps add up to the
tolerance. An error of a rate counts by what it does to positions in the characteristic time of the motion.
"""

import math

import numpy as np

from rtmbs.errors import InputError, shown
from rtmbs.integrators.checks import is_number
from rtmbs.simulation.local_error import Noise, Past, Track, local_errors
from rtmbs.simulation.sampling import blindness
from rtmbs.system.system import System
from rtmbs.system.tables import Array

LEAST, MOST = 1e-9, 0.1  # tolerances; below it the rounding of steps so small is larger than their error
SAFETY, SHRINK, GROW = 0.85, 0.2, 2.5
FEWEST = 10  # steps a run
STUCK = 0.7  # of the error before: it should be less than 0.7^3
UNJUDGED = 2
EXCUSED = 1.0  # tolerances that steps off the loops may add to a run
KINK = 0.5  # of what the errors of a time may sum up to, for steps over kinks beside the others
FINE, ALONE = 0.1, 0.25  # of the step before, of its error: smaller steps, and smaller errors beside, tell of a kink
POSITION_NOISE = 1e-10  # of typical sizes: tolerance of Newton's increments (METHODS 1.11), and Phi = lam / alpha
PROJECTED = 1e-6, 1e-13  # of the tolerance, and the least: what projections leave of the largest rate
RATE_NOISE = 1e-6  # of the largest rate: what penalties leave, and what projections take away again (METHODS 1.6, 1.12)

ACCELERATION_NOISE = 1e-6  # of the largest acceleration: rounding of small steps in loops of uneven masses
ROUNDING = 8.0 * np.finfo(float).eps  # of rates over h, and of squares of rates: terms of accelerations that cancel


def check_tolerance(tolerance: float) -> None:
    """Refuse what is no tolerance: InputError."""
    if not (is_number(tolerance) and tolerance > 0.0):
        raise InputError(f"tolerance is {shown(tolerance)}; it must be a positive number, such as 1e-6")
    if tolerance < LEAST:
        raise InputError(
            f"tolerance is {tolerance:g}, below the rounding of so many steps; it must be at least {LEAST:g}"
        )
    if tolerance > MOST:
        raise InputError(f"tolerance is {tolerance:g}, of no use as an error; it must be at most {MOST:g}")


def projection_tol(tolerance: float, own: float) -> float:
    """Return what projections may leave in a run with a tolerance, ``own`` at most (METHODS 1.34).

    What they leave of accelerations, e, counts as a bend: h/12 e of the rates a step, which no smaller step makes less
    in its share h of the tolerance.
    """
    share, least = PROJECTED
    return min(own, max(share * tolerance, least))


class StepChoice:
    """Judges steps and chooses the next one."""

    def __init__(self, system: System, tolerance: float, t: float, t_end: float) -> None:
        self.system, self.tolerance, self.t_end, self.span = system, tolerance, t_end, t_end - t
        self.fastest = self.steepest = 0.0  # rate and acceleration so far, in typical sizes
        self.longest = self.span / FEWEST
        self.unjudged = 0  # steps to be taken whatever their error is
        self.excused = EXCUSED if len(system.row_names) else 0.0  # tolerances left for such steps; trees have none
        self.refusal = (math.nan, math.nan, math.nan)  # the last one: t, h, error
        self.added = np.zeros((0, system.n)), np.zeros((0, system.n))  # errors of positions and rates, signed
        self.blind = False  # whether the last batch was too long for its rates
        self.usual, self.usual_until = 0.0, -math.inf  # a step before a refusal, and where it would have ended [s]
        self.spare = 0.0  # what kinks in that time may still take of its share [s]
        self.worst = ""  # coordinate with the largest error of the last step that was judged

    def errors(self, track: Track, past: Past | None, rates: Array, lines: Array) -> Array:
        """Return the errors (k,) of the steps of a track, in terms of what they may be.

        ``rates`` (k + 1,) are the fastest at its states, and ``lines`` (k,) the turns of springs (``sampling``): a step
        too long for them has an error above 1.
        """
        typical = self.system.typical
        self.fastest = max(self.fastest, float(np.max(np.abs(track.zd) / typical, initial=0.0)))
        self.steepest = max(self.steepest, float(np.max(np.abs(track.zdd) / typical, initial=0.0)))
        rounding = ACCELERATION_NOISE * self.steepest * typical
        h = float(track.t[-1] - track.t[0]) / max(len(track.t) - 1, 1)
        cancelled = ROUNDING * self.fastest * (1.0 / h + self.fastest) * typical
        place = ROUNDING * (np.abs(track.z).max(axis=0) + abs(float(track.t[-1])) * np.abs(track.zd).max(axis=0))
        noise = Noise(POSITION_NOISE * typical, RATE_NOISE * self.fastest * typical, rounding, cancelled, place)
        raw = local_errors(self.system.tables.dofs, track, past, noise)
        self.added = raw.position, raw.rate
        position, rate = raw.position - raw.across[0], raw.rate - raw.across[1]
        added = (np.abs(position) + self.time() * np.abs(rate)) / typical
        if added.shape[1] == 0:
            return np.zeros(len(added))
        self.worst = self.system.coordinate_names[int(np.argmax(np.max(added, axis=0)))]
        errors = np.max(added, axis=1) * self.span / (np.diff(track.t) * self.tolerance)
        errors[: self.unjudged] = np.minimum(errors[: self.unjudged], 1.0)
        blind = blindness(rates, lines, np.diff(track.t))
        self.blind = bool(blind.max() > errors.max())
        return np.maximum(errors, blind)

    def excuse(self, error: float) -> None:
        """Let unjudged steps with this ``error``, in typical sizes, be judged after all when the run has none left."""
        self.excused -= error / self.tolerance
        if self.excused < 0.0:
            self.unjudged = 0

    @property
    def cause(self) -> str:
        """Return what makes the steps as small as they are."""
        turns = "its rates: a step may turn a body by 1.5 rad at most, and the line of a spring by 0.7 rad"
        return turns if self.blind else f"the error of {self.worst!r}"

    def time(self) -> float:
        """Return the characteristic time of the motion, at most that of the run [s]."""
        if self.steepest == 0.0:
            return self.span
        return min(self.span, self.fastest / self.steepest + 1.0 / math.sqrt(self.steepest))

    def grants(self, t: float, h: float, errors: Array, k: int, before: float) -> bool:
        """Return whether step ``k`` of ``h`` [s], from ``t`` [s], is taken although its error is too large.

        A force with a kink makes one error, of order h^2, where a share h of the tolerance shrinks as h. A step that
        stands out, far smaller than the one ``before``, may therefore take half of the share of that one, once in its
        time: the errors of all steps sum up to one and a half tolerances at most.
        """
        if t >= self.usual_until:
            self.usual = min(before, self.longest)
            self.usual_until, self.spare = t + self.usual, KINK * self.usual
        error, others = float(errors[k]), np.delete(errors, slice(k, k + 2))  # the next one sees the bend too
        alone = not len(others) or float(np.median(others)) < ALONE * error
        if not (alone and h < FINE * self.usual and error * h <= self.spare):
            return False
        self.spare -= error * h
        return True

    def after_refusal(self, t: float, h: float, error: float, before: float) -> float:
        """Return the step after one of ``h`` [s] from ``t`` [s] that was refused for its error.

        An error that does not shrink with the step is not that of the step: the state at ``t`` stands off its loops,
        as in a singular pose, and the step moves it back. Then a few steps of the size ``before`` are not judged by
        that, but by steps of half the size.
        """
        last, self.refusal = self.refusal, (t, h, error * h)
        if self.excused > 0.0 and last[0] == t and h < last[1] and error * h > STUCK * last[2]:
            self.unjudged = UNJUDGED
            return before
        return h * min(self.factor(error), 0.7)

    def factor(self, error: float) -> float:
        """Return by how much the next step differs from one with this error: errors go with h^2 a unit of time."""
        if not error > 0.0:
            return GROW if error == 0.0 else SHRINK
        return min(max(SAFETY / math.sqrt(error), SHRINK), GROW)
