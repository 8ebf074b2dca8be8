"""The linear equations of every step of a recorded run: dy = -E^-1 (F dx + H dp), E = G_y, F = G_x, H = G_p.

Steps are worked on in chunks: a program a step, and everything else for all steps of a chunk at once.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.sensitivities.projections import Projections, rows
from rtmbs.sensitivities.recorded import Recorded
from rtmbs.sensitivities.step_tape import Case, StepTape

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]
CHUNK = 128  # steps whose equations are solved together
LARGEST = 64e6  # bytes that their Jacobians may take
ROUNDING = 1e-15  # of the kept energies: a step that misses more may have begun its balance anew


class Missed(NamedTuple):
    """Largest difference of recorded steps from the equations, over rates and accelerations, and the step it is of."""

    size: float
    step: int


@dataclass(frozen=True)
class Steps:
    """Consecutive steps with the derivatives of their unknowns; dx and dp are those of the state before, and of p."""

    first: int
    E: Array  # (K, ny, ny)
    F: Array  # (K, ny, nx)
    H: Array  # (K, ny, np)
    made: Integers  # (K,) case of the factor
    missed: Array  # (K,) difference of the recorded rates and accelerations from the equations, over their size

    @property
    def worst(self) -> Missed:
        """The largest of ``missed``."""
        k = int(np.argmax(self.missed))
        return Missed(float(self.missed[k]), self.first + k)


class LinearSteps:
    """Linear equations of the steps of a recorded run."""

    def __init__(self, tape: StepTape, recorded: Recorded, alpha: Array) -> None:
        self.tape, self.recorded, self.alpha = tape, recorded, alpha
        self.projections = Projections(tape, alpha)
        size = 8.0 * tape.y.size * tape.inputs.size
        self.together = int(np.clip(LARGEST / size, 1, CHUNK))

    def chunks(self, backwards: bool = False) -> Iterator[Steps]:
        """Yield all steps in chunks."""
        firsts = range(0, self.recorded.steps, self.together)
        for first in reversed(firsts) if backwards else firsts:
            yield self.chunk(first, min(self.together, self.recorded.steps - first))

    def chunk(self, first: int, count: int) -> Steps:
        """Return the linear equations of some steps."""
        tape, ny, nx = self.tape, self.tape.y.size, self.tape.x.size
        point, known, made, missed = self.points(first, count)
        G, J = np.zeros((count, ny)), np.zeros((count, ny * tape.inputs.size))
        held = self.recorded.kept[first : first + count] != 0.0
        self.evaluate(point, known, made, held, np.arange(count), G, J)
        self.settle_balances(point, known, made, held, G, J)
        E, F, H = np.split(J.reshape(count, ny, -1), (ny, ny + nx), axis=2)
        rates = point[:, tape.y["zd"]]
        missed = np.maximum(missed, relative(G[:, tape.y["zd"]], rates))
        return Steps(first, E, F, H, made, missed)

    def evaluate(
        self, point: Array, known: Array, made: Integers, held: Mask, which: Integers, G: Array, J: Array
    ) -> None:
        """Fill G and its Jacobian for some steps, by the tape of their case."""
        ny = self.tape.y.size
        cases: dict[Case, list[int]] = {}
        for k in which.tolist():
            cases.setdefault(Case(int(made[k]), tuple(held[k].tolist())), []).append(k)
        for case, members in cases.items():
            own, entries = np.array(members), self.tape.entries(case)
            out = rows(entries.run, point[own], known[own])
            G[own] = out[:, :ny]
            J[own] = 0.0
            J[own[:, None], entries.place] = out[:, ny:]

    def settle_balances(self, point: Array, known: Array, made: Integers, held: Mask, G: Array, J: Array) -> None:
        """Take ``held`` off components whose balance began anew in a step, where that explains the kept energy better.

        A balance that went on keeps its energy but for dampers, one that began anew has that of the rates.
        """
        kept, tape = self.tape.y["kept"], self.tape
        if not tape.nc:
            return
        scale = np.abs(point[:, kept]) + np.abs(point[:, tape.y.size :][:, tape.x["kept"]])
        missed = np.abs(G[:, kept])
        doubtful = held & (missed > ROUNDING * scale)
        which = np.flatnonzero(np.any(doubtful, axis=1))
        if not len(which):
            return
        held &= ~doubtful
        self.evaluate(point, known, made, held, which, G, J)
        worse = doubtful & (np.abs(G[:, kept]) > missed)
        held |= worse
        if len(again := np.flatnonzero(np.any(worse, axis=1))):
            self.evaluate(point, known, made, held, again, G, J)

    # ---- where a step stands ----------------------------------------------------------------------------------------

    def points(self, first: int, count: int) -> tuple[Array, Array, Integers, Array]:
        """Return the points (y, x, p) of steps, what is known, the case of the factor, and what zdd misses."""
        tape, samples, recorded = self.tape, self.recorded.samples, self.recorded
        before, after = slice(first, first + count), slice(first + 1, first + count + 1)
        inc, turned = self.increments(before, after)
        known = np.hstack((
            samples.u[after], samples.R0[before].reshape(count, -1), np.tile(self.alpha, (count, 1)), turned,
        ))  # fmt: skip
        x = np.hstack((samples.z[before] * tape.plain, samples.zd[before], samples.zdd[before], recorded.kept[before]))
        made = np.minimum(recorded.jacobians[before], 3)
        y = self.projections.of(x, inc, samples.zd[after], made, known)
        missed = relative(y["zdd"] - samples.zdd[after], samples.zdd[after])
        y |= {"inc": inc, "push": samples.lam[after] - y["nu"], "zd": samples.zd[after], "kept": recorded.kept[after]}
        y["turn"] = np.zeros((count, 3 * tape.nr))
        point = np.hstack([*(y[name] for name in tape.y.places), x, np.zeros((count, tape.variations.count))])
        return np.ascontiguousarray(point), np.ascontiguousarray(known), made, missed

    def increments(self, before: slice, after: slice) -> tuple[Array, Array]:
        """Return the increments (K, n), and those of rotation dofs alone (K, 3 nr)."""
        samples, tape = self.recorded.samples, self.tape
        inc = samples.z[after] - samples.z[before]
        turned = np.zeros((len(inc), 3 * tape.nr))
        axis = tape.tables.dofs.axis
        for e, i in enumerate(tape.first):
            R = np.swapaxes(samples.R0[before, e], 1, 2) @ samples.R0[after, e]
            inc[:, i : i + 3] = turned[:, 3 * e : 3 * e + 3] = rotation_vectors(R) @ axis[i : i + 3].T
        return inc, turned


def relative(difference: Array, size: Array) -> Array:
    """Return the largest difference of each row over the largest entry of the row, or of all rows where it is zero."""
    largest = np.max(np.abs(size), axis=1, initial=0.0)
    floor = 1e-6 * np.max(largest, initial=0.0) + 1e-300
    return np.max(np.abs(difference), axis=1, initial=0.0) / np.maximum(largest, floor)


def rotation_vectors(R: Array) -> Array:
    """Return theta (K, 3) with exp(theta~) = R (K, 3, 3), below half a turn."""
    w = 0.5 * np.stack((R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]), axis=1)
    sine, cosine = np.linalg.norm(w, axis=1), 0.5 * (np.trace(R, axis1=1, axis2=2) - 1.0)
    factor = np.divide(np.arctan2(sine, cosine), sine, out=np.ones_like(sine), where=sine > 0.0)
    return np.asarray(w * factor[:, None])
