"""Linear equations of every step of a recorded run: dy = -E^-1 (F dx + H dp), E = G_y, F = G_x, H = G_p.

Steps are worked on in chunks: a program a step, and everything else for all steps of a chunk at once. A recorded run
keeps every state, kept energies, and the iterate of each Newton matrix. Entries of E, F and H are sorted by their use,
for all cases of a run.
"""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.ad.simd_programs import SimdProgram
from rtmbs.errors import InputError
from rtmbs.integrators.report import Outcome, StepReport
from rtmbs.integrators.settings import JACOBIANS, KEPT, NEAR_SINGULAR, TRIES, Chunk, arrays_of
from rtmbs.jit.intrinsics import LANES
from rtmbs.numerics.rotations.quaternions import turn_between
from rtmbs.results.samples import OF_STATE, Samples, select_samples
from rtmbs.simulation.observers.observer import Observer, Watched
from rtmbs.studies.sensitivities.midpoint_tape import MidpointImpulses, MidpointTape
from rtmbs.studies.sensitivities.page_terms import kinds_of
from rtmbs.studies.sensitivities.projections import Ends, Projections
from rtmbs.studies.sensitivities.saddles import PASSES_TAKEN, saddle
from rtmbs.studies.sensitivities.step_solver import (
    AT,
    BELOW,
    BY_PARAMETERS,
    BY_STATE,
    FIRST,
    GROUPS,
    INCREMENT,
    LINKS,
    NOWHERE,
    PARTS,
    VELOCITY,
    StepBlocks,
)
from rtmbs.studies.sensitivities.step_tape import StepCase, StepTape

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]
MOST_BLOCKS = 8  # solvers that a tape keeps
CHUNK = 256  # steps whose equations are solved together
IN_CACHE = 200_000  # numbers: values of steps that a sweep reads while they are near
SLOW = 1e-3  # [rad/s, m/s and the same per second]: least size of rates and accelerations that a miss is compared with
ROUNDING = 1e-15  # of the kept energies: a step that misses more may have begun its balance anew


RECONSTRUCTED: dict[type[StepTape], type[Projections]] = {StepTape: Projections, MidpointTape: MidpointImpulses}

HELPED = "was taken by a further try or in parts, and its derivatives are not known; take a smaller step h"
SINGULAR = (
    "ends next to a singular pose, where loops lose a direction and a motion has no derivative; end the run before it"
)


@dataclass(frozen=True)
class RecordedSteps:
    """States 0 ... K of a run, and the data of steps 1 ... K."""

    samples: Samples  # K + 1 of them
    kept: Array  # (K + 1, nc) energies that components keep [J]
    rates: Array  # (K + 1, ns) of states of force laws
    jacobians: NDArray[np.int64]  # (K,) Newton matrices made in a step

    @property
    def steps(self) -> int:
        """Number of steps."""
        return len(self.jacobians)


class RunRecorder(Observer):
    """Observer that keeps every step of a run."""

    def start(self, sim: Watched, steps: int | None) -> None:
        """Keep the first state."""
        self.first = sim.equations.tables.balance.first
        self.rows: list[tuple[Array, ...]] = []
        self.keep(sim, 0)

    def keep(self, sim: Watched, jacobians: int) -> None:
        """Keep the present state as a row."""
        state = sim.state
        arrays = [np.array(getattr(state, name))[None] for name in OF_STATE]
        kept = kept_energies(arrays_of(state).energy[None], len(state.z), self.first)
        self.rows.append((np.array([state.t]), *arrays, kept, state.sd[None].copy(), np.array([jacobians])))

    def look(self, sim: Watched, report: StepReport) -> None:
        """Keep one step; InputError for one with other equations."""
        if report.tries or report.parts > 1:
            raise not_differentiable(sim.state.t, HELPED)
        if report.outcome is Outcome.NEAR_SINGULAR:
            raise not_differentiable(sim.state.t, SINGULAR)
        self.keep(sim, report.jacobians)

    def look_at_chunk(self, sim: Watched, t: Array, chunk: Chunk) -> None:
        """Keep many steps."""
        for place, why in ((TRIES, HELPED), (NEAR_SINGULAR, SINGULAR)):
            if len(wrong := np.flatnonzero(chunk.stats[:, place])):
                raise not_differentiable(float(t[wrong[0]]), why)
        arrays = [np.array(getattr(chunk, name)) for name in OF_STATE]
        kept = kept_energies(chunk.energy, chunk.z.shape[1], self.first)
        rates, jacobians = np.array(chunk.sd), chunk.stats[:, JACOBIANS].astype(np.int64)
        self.rows.append((np.array(t), *arrays, kept, rates, jacobians))

    def recorded(self) -> RecordedSteps:
        """Return all rows."""
        t, *arrays, kept, rates, jacobians = (np.concatenate(column) for column in zip(*self.rows, strict=True))
        return RecordedSteps(Samples(t, *arrays), kept, rates, jacobians[1:])


def kept_energies(energy: Array, n: int, first: Integers) -> Array:
    """Return the energies (K, nc) that components keep, of ``energy`` (K, n, 2); none where the method keeps none."""
    energies = 0 < energy.shape[1] == n  # a history of momenta is longer
    return energy[:, first, KEPT] if energies else np.zeros((len(energy), 0))


def not_differentiable(t: float, why: str) -> InputError:
    """Return the error of a step whose derivatives are not known."""
    return InputError(f"the step that ends at t = {t:g} s {why}")


class StepDefect(NamedTuple):
    """Largest difference of recorded steps from the equations, over those of the run, and its step."""

    size: float
    step: int

    def behind(self, first: int) -> "StepDefect":
        """Return the same for steps that begin at sample ``first`` of the run."""
        return StepDefect(self.size, self.step + first)


@dataclass(frozen=True)
class Steps:
    """Consecutive steps at which the derivatives of their unknowns by dx and dp are to be evaluated.

    dx is the state before, dp the parameters.
    """

    first: int
    point: Array  # (K, ny + nx + np) y, x and p, whose deviations are zero
    given: Array  # (K, ...) what their programs take
    known: Array  # (K, nk)
    case: Integers  # (K,) number of the case
    which: Integers  # (K,) place of its program
    programs: "list[GroupedEntries]"
    made: Integers  # (K,) case of the factor
    missed: Array  # (K,) difference of the recorded accelerations from the equations, over those of the run

    @property
    def size(self) -> int:
        """Numbers of a step: what the equations miss, then entries of derivatives."""
        return max(len(one.rows.program.output) for one in self.programs)

    def segments(self) -> Iterator[tuple[slice, SimdProgram]]:
        """Yield steps of one case after the other, the last ones first, with their program."""
        ends = [0, *(np.flatnonzero(np.diff(self.which)) + 1).tolist(), len(self.which)]
        for begin, end in zip(ends[-2::-1], ends[:0:-1], strict=True):
            yield slice(begin, end), self.programs[self.which[begin]].rows

    def evaluated(self, values: Array) -> Array:
        """Fill in ``values`` (K, size)."""
        for k, one in enumerate(self.programs):
            one.rows.fill(values, np.flatnonzero(self.which == k), self.given, self.known)
        return values

    def worst(self, off: Array) -> StepDefect:
        """Return the largest relative defect of the equations, with its step; off (K,) are those of the rates."""
        missed = np.maximum(self.missed, off)
        k = int(np.argmax(missed))
        return StepDefect(float(missed[k]), self.first + k)


class LinearSteps:
    """Linear equations of the steps of a recorded run.

    ``sizes`` (2,) are the largest rate and the largest acceleration of the whole run, where ``recorded`` is a part. A
    motion that comes to rest misses its equations by a tolerance as ever, which is small beside these and not beside
    what is left of it. ``by_parameters`` says whether H is among the entries.
    """

    def __init__(
        self,
        tape: StepTape,
        recorded: RecordedSteps,
        alpha: Array,
        sizes: Array | None = None,
        by_parameters: bool = True,
    ) -> None:
        self.tape, self.recorded, self.alpha, self.by_parameters = tape, recorded, alpha, by_parameters
        self.sizes = np.maximum(sizes_of(recorded.samples) if sizes is None else sizes, SLOW)
        self.projections = RECONSTRUCTED[type(tape)](tape, alpha)
        self.cases: list[StepCase] = []
        self.begun: set[Hashable] = set()  # solvers that this run has taken up
        self.together = CHUNK

    def chunks(self, backwards: bool = False) -> Iterator[Steps]:
        """Yield all steps in chunks."""
        firsts = range(0, self.recorded.steps, self.together)
        for first in reversed(firsts) if backwards else firsts:
            yield self.chunk(first, min(self.together, self.recorded.steps - first))

    def chunk(self, first: int, count: int) -> Steps:
        """Return the linear equations of some steps."""
        tape = self.tape
        point, known, made, ways, missed = self.points(first, count)
        held = self.continued_balances(point, known, first)
        kinds, which = kinds_of(np.column_stack((made, ways, held)))
        numbers = np.array([self.number(kind) for kind in kinds])
        programs = [grouped_entries(tape, self.cases[number], self.by_parameters) for number in numbers]
        p = tape.inputs["p"].start
        by = point[:, p:] if self.by_parameters else point[:, :0]
        given = np.hstack((point[:, :p], tape.iterates_at(point), by))
        return Steps(first, point, given, known, numbers[which], which, programs, made, missed)

    def values_in_cache(self, chunk: Steps) -> Array:
        """Return memory (r, e) for the values of as many steps of a chunk as a cache holds."""
        together = max(IN_CACHE // chunk.size // LANES, 1) * LANES
        return self.tape.values_of(min(together, len(chunk.given)), chunk.size)

    def blocks(self, columns: int) -> StepBlocks:
        """Return the solver of the steps of all cases met so far, for right sides of some columns."""
        kept = self.tape.kept_blocks
        key = tuple(self.cases), self.by_parameters, columns, self.alpha.tobytes()
        if key not in kept:
            if len(kept) >= MOST_BLOCKS:
                kept.clear()
            pattern = pattern_of(self.tape, self.cases, self.by_parameters)
            kept[key] = blocks_of(self.tape, self.alpha, pattern, columns)
        if key not in self.begun:
            self.begun.add(key)
            for one in (kept[key].correction, kept[key].increment, kept[key].projection):
                one.facts[PASSES_TAKEN] = 0  # another run may have needed them
        return kept[key]

    def parameter_adjoints(self, chunk: Steps, w: Array) -> Array:
        """Return H^T w (K, np, k) of each step of a chunk, w (K, ny, k), a reverse pass for each column of w."""
        tape = self.tape
        none = np.zeros((len(w), tape.variations.count))
        found = np.zeros((*none.shape, w.shape[2]))
        for number in np.unique(chunk.case):
            rows = np.flatnonzero(chunk.case == number)
            given = np.hstack((chunk.point[rows, : tape.inputs["p"].start], chunk.known[rows]))
            program = tape.parameter_adjoint(self.cases[number])
            for c in range(w.shape[2]):
                found[rows, :, c] = program(none[rows], np.hstack((given, w[rows, :, c])))
        return found

    def number(self, kind: Integers) -> int:
        """Return the number of a case, a new one for a new case.

        A row says which matrix was the last, the ways of called laws at three iterates, and which balances went on.
        """
        laws = len(self.tape.called.laws)
        ways = [tuple(kind[1 + k * laws : 1 + (k + 1) * laws].tolist()) for k in range(3)]
        case = StepCase(int(kind[0]), tuple((kind[1 + 3 * laws :] != 0).tolist()), *ways)
        if case not in self.cases:
            self.cases.append(case)
        return self.cases.index(case)

    def continued_balances(self, point: Array, known: Array, first: int) -> Mask:
        """Return which balances of energy continued (K, nc), others began anew; set the factors of their rates.

        A balance that went on keeps its energy but for dampers, one that began anew has that of the rates. Where a
        balance may have begun anew, the equation that explains the kept energy better tells. A component at rest has
        begun anew, although its energy does not tell.
        """
        tape, nc = self.tape, self.tape.nc
        held = self.recorded.kept[first : first + len(point)] != 0.0
        if not nc:
            return held
        missed = tape.balances(point, known)
        moves, moving = missed[:, 2 * nc : 3 * nc] > 0.0, missed[:, 3 * nc :]
        share, missed = (missed[:, nc : 2 * nc] - missed[:, :nc]) / np.where(moves, moving, 1.0), np.abs(missed)
        scale = np.abs(point[:, tape.y["kept"]]) + np.abs(point[:, tape.y.size :][:, tape.x["kept"]])
        doubtful = missed[:, :nc] > ROUNDING * scale
        found = held & moves & ~(doubtful & (missed[:, nc : 2 * nc] <= missed[:, :nc]))
        point[:, tape.y["scale"]] = np.sqrt(np.where(found, 1.0 + share, 1.0))
        return np.asarray(found)

    # ---- where a step stands ----------------------------------------------------------------------------------------

    def points(self, first: int, count: int) -> tuple[Array, Array, Integers, Integers, Array]:
        """Return the points (y, x, p) of steps, known data, the case of the factor, branches, and residuals of zdd."""
        tape, samples, recorded = self.tape, self.recorded.samples, self.recorded
        before, after = slice(first, first + count), slice(first + 1, first + count + 1)
        inc, turned = self.increments(before, after)
        known = tape.known_rows(select_samples(samples, slice(first, first + count + 1)), self.alpha, turned)
        x = np.hstack((
            samples.z[before] * tape.plain, samples.zd[before], samples.zdd[before], recorded.kept[before],
            samples.s[before], recorded.rates[before],
        ))  # fmt: skip
        made = tape.made(recorded.jacobians[before])
        end = Ends(samples.zd[after], samples.zdd[after], samples.lam[after], samples.s[after])
        y, ways = self.projections.of(x, inc, end, made, known)
        missed = np.maximum(largest(y["zdd"] - end.zdd) / self.sizes[1], largest(y.pop("off")) / self.sizes[0])
        y |= {"inc": inc, "zd": end.zd, "kept": recorded.kept[after]}
        y |= {"ended": samples.s[after], "sd": recorded.rates[after], "turn": np.zeros((count, 3 * tape.nr))}
        y["scale"] = np.ones((count, tape.nc))  # those of balances that went on follow
        point = np.hstack([*(y[name] for name in tape.y.places), x, np.zeros((count, tape.variations.count))])
        return np.ascontiguousarray(point), np.ascontiguousarray(known), made, ways, missed

    def increments(self, before: slice, after: slice) -> tuple[Array, Array]:
        """Return the increments (K, n), and those of rotation dofs alone (K, 3 nr)."""
        samples, tape = self.recorded.samples, self.tape
        inc = samples.z[after] - samples.z[before]
        turned = np.zeros((len(inc), 3 * tape.nr))
        axis = tape.tables.dofs.axis
        for e, i in enumerate(tape.first):
            turns = turn_between(samples.R0[before, e], samples.R0[after, e])
            inc[:, i : i + 3] = turned[:, 3 * e : 3 * e + 3] = turns @ axis[i : i + 3].T
        return inc, turned


def largest(rows: Array) -> Array:
    """Return the largest entry of each row."""
    return np.asarray(np.max(np.abs(rows), axis=1, initial=0.0))


def sizes_of(samples: Samples) -> Array:
    """Return the largest rate and the largest acceleration of samples (2,)."""
    return np.array([np.max(np.abs(one), initial=0.0) for one in (samples.zd, samples.zdd)])


class StepPattern(NamedTuple):
    """Entries of several cases one after the other, those of a case by groups: see ``group``.

    The increment moves the iterate at the solution, so entries by both make up its block: ``place``.
    """

    row: NDArray[np.int32]  # (e,) unknown
    column: NDArray[np.int32]  # (e,) in its own part: unknown, number of the state before, of an iterate, parameter;
    # vertices of links are counted behind the iterates, as rows too
    pointer: Integers  # (cases, GROUPS + 1): where the groups of a case begin
    slot: NDArray[np.int32]  # (e,) of entries of the block of the increment: the place
    place_row: NDArray[np.int32]  # (places,) of the blocks of the increment of all cases, sorted
    place_column: NDArray[np.int32]  # (places,)
    places: Integers  # (cases + 1,): where the places of a case begin


def ends_of(tape: StepTape) -> Integers:
    """Return where the blocks of unknowns begin and end (BLOCKS + 1,)."""
    y = tape.y
    last = ("guessed", "first", "made", "push", "mu", "scale", "kept", "ended", "nu", "sd")
    return np.array([0, *(y[name].stop for name in last)])


def pattern_of(tape: StepTape, cases: list[StepCase], by_parameters: bool) -> StepPattern:
    """Return the pattern of all cases, with or without derivatives by parameters."""
    parts, first, places = [], 0, [0]
    for case in cases:
        one = grouped_entries(tape, case, by_parameters)
        slot, place_row, place_column = increment_places(tape, one)
        parts.append((one.row, one.column, first + one.starts, slot, place_row, place_column))
        first += len(one.row)
        places.append(places[-1] + len(place_row))
    row, column, pointer, *placed = zip(*parts, strict=True)
    slot, place_row, place_column = map(np.concatenate, placed)
    return StepPattern(
        np.concatenate(row), np.concatenate(column), np.array(pointer), slot, place_row, place_column, np.array(places)
    )


def increment_places(tape: StepTape, one: "GroupedEntries") -> tuple[Any, Any, Any]:
    """Return the place of each entry (e,) in the block of the increment, and rows and columns of the places."""
    first, size = int(ends_of(tape)[INCREMENT]), tape.y.size
    own = np.r_[slice(*one.starts[INCREMENT : INCREMENT + 2]), slice(*one.starts[AT + INCREMENT : AT + INCREMENT + 2])]
    moved = own >= one.starts[INCREMENT + 1]
    column = one.column[own] - np.where(moved, 0, first)
    column = np.where(moved, column % max(tape.n, 1), column)  # the increment comes first in its block
    flat, slot = np.unique((one.row[own] - first) * size + column, return_inverse=True)
    found = np.zeros(len(one.row), np.int32)
    found[own] = slot
    return found, (flat // size).astype(np.int32), (flat % size).astype(np.int32)


class GroupedEntries(NamedTuple):
    """Program of the residuals and entries of a case, the entries by groups."""

    rows: SimdProgram
    row: NDArray[np.int32]  # (e,) as in a StepPattern
    column: NDArray[np.int32]  # (e,)
    starts: Integers  # (GROUPS + 1,)


def grouped_entries(tape: StepTape, case: StepCase, by_parameters: bool) -> GroupedEntries:
    """Return the entries of a case by groups: sweeps then read them one after the other."""
    key = case, by_parameters
    if key not in tape.grouped:
        entries, ends = tape.entries(case, by_parameters), ends_of(tape)
        row, column, size = entries.row, entries.column, entries.columns
        kind = np.where(row >= tape.y.size, LINKS, group(tape, ends, row, column, size))
        order = np.argsort(kind, kind="stable")
        starts = np.searchsorted(kind[order], np.arange(GROUPS + 1))
        begins = [tape.independents[name].start for name in ("p", "x", "iterates")]
        vertex = size - tape.iterates.size  # what leads from a vertex to its place behind the iterates
        conditions = kind == BY_PARAMETERS, kind == BY_STATE, (kind >= AT) & (column >= size), kind >= AT
        origin = np.select(conditions, (*begins[:2], vertex, begins[2]))
        row = np.where(kind == LINKS, row - tape.y.size + tape.iterates.size, row)
        program = entries.rows.program
        output = np.concatenate((program.output[: tape.y.size], program.output[tape.y.size :][order]))
        rows, own = SimdProgram(program._replace(output=output)), (column - origin)[order].astype(np.int32)
        tape.grouped[key] = GroupedEntries(rows, row[order].astype(np.int32), own, starts)
    return tape.grouped[key]


def group(tape: StepTape, ends: Integers, row: Any, column: Any, size: int) -> Any:
    """Return the group of each entry: its block on the diagonal, BELOW or AT + its block, BY_STATE, BY_PARAMETERS.

    Columns from ``size`` on are vertices of links.
    """
    block, left = np.searchsorted(ends, row, "right") - 1, np.searchsorted(ends, column, "right") - 1
    found, columns = np.where(left < block, BELOW + block, block), tape.independents
    found[column >= columns["x"].start] = BY_STATE
    found[column >= columns["p"].start] = BY_PARAMETERS
    by_iterates = (column >= columns["iterates"].start) & (column < columns["p"].start) | (column >= size)
    found[by_iterates] = AT + block[by_iterates]
    return found


def blocks_of(tape: StepTape, alpha: Any, pattern: StepPattern, columns: int) -> StepBlocks:
    """Return the blocks of a recorded step, for right sides with up to some columns."""
    n, several, weights = tape.n + tape.ns, max(columns, 1), tape.weights(alpha)
    room = np.max(np.diff(pattern.pointer, axis=1), axis=0)  # entries of a group in any case
    correction = saddle(n, weights.correction, tape.redundant, several, room[FIRST])
    increment = saddle(n, weights.increment, tape.redundant, several, int(np.max(np.diff(pattern.places))))
    projection = saddle(weights.projected, weights.projection, tape.redundant, several, room[VELOCITY])
    own = (tape.y[name] for name in ("guessed", "made", "ended"))  # states alone; none where no equation has them
    guessed, made, ended = (saddle(one.stop - one.start, np.zeros(0), False, several) for one in own)
    last = (pattern.row[slice(*one)] for one in pattern.pointer[:, LINKS : LINKS + 2])  # vertices behind the iterates
    places = max(int(np.max(one, initial=tape.iterates.size - 1)) + 1 for one in last)
    return StepBlocks(
        *pattern,
        ends_of(tape),
        np.array([tape.y[name].start if name != "push" or tape.split_multipliers else NOWHERE for name in PARTS]),
        np.array([tape.n, tape.m, tape.nc, tape.ns]),
        tape.plain.astype(np.float64),
        tape.first.astype(np.int64),
        np.zeros(1, np.int64),
        np.array([tape.h]),
        np.zeros((places, several)),
        guessed,
        correction,
        made,
        increment,
        projection,
        ended,
    )
