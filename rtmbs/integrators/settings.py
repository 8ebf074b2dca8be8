"""Settings, states and explicit rules of steps as flat structs for kernels, and chunks of consecutive states."""

from typing import Any, NamedTuple

import numpy as np

from rtmbs.integrators.tableaux import Tableau
from rtmbs.jit.struct import struct
from rtmbs.state import State

Array = Any
TANGENT_TERMS = ("paper", "inertia", "lagged", "exact")  # METHODS 5; the index is the code kernels see
PAPER, INERTIA, LAGGED, EXACT, FOLLOWED = range(5)  # FOLLOWED: LAGGED at the
# iterate, of further tries (TRY_TERMS), and in place of INERTIA where long loops are condensed

KEPT, OWN = 0, 1  # columns of the memory "energy": of the path, and that of z and zd as they are
LOOP_TOLERANCE = 1e-3  # violation of a loop, in terms of its size, above which a step is refused
SMALL_FIRST = 1e-4  # a correction this small (in units of the tolerance) needs no second look
REFACTOR = ("every-iteration", "every-step", "adaptive")  # when the Newton matrix is made anew, METHODS 1.10
EVERY_ITERATION, EVERY_STEP, ADAPTIVE = range(3)

# further tries of a step (METHODS 1.11)
ACCELERATED, STEADY, RESTING = range(3)  # the first increment: h zd_n + h^2/2 zdd_n, h zd_n, nothing
TRY_TERMS = (FOLLOWED, FOLLOWED, FOLLOWED, PAPER, INERTIA)
TRY_START = (ACCELERATED, STEADY, RESTING, STEADY, RESTING)
MOST_TRIES = len(TRY_TERMS)
BY_SLOPE = 5  # number of the one that is damped by slopes
STEADY_TRY = 2  # number of the one that fixed iterations spend what is left of them on

# places in the flat stats that a compiled step fills
ITERATIONS, JACOBIANS, FACTORISATIONS, PROJECTIONS = 0, 1, 2, 3
POSITION_VIOLATION, VELOCITY_VIOLATION, ACCELERATION_VIOLATION = 4, 5, 6  # rotation rows three places on
RESIDUAL_TICKS, TANGENT_TICKS, FACTOR_TICKS, SOLVE_TICKS, PROJECTION_TICKS = 10, 11, 12, 13, 14
PHASES = ("residual", "tangent", "factor", "solve", "projection")
ITERATIONS_TO_TOLERANCE = 15  # iterations after which Newton's test was first met; 0: it was not
TRIES = 16  # further tries, begun after the plain iteration failed
SHORTENED = 17  # corrections of further tries that were taken back and tried shorter
EVALUATIONS = 18  # residuals evaluated, all tries together
LEFT = 19  # what missed its bound: NOTHING, LOOPS (Phid or Phidd) or FORCES (multipliers)
NOTHING, LOOPS, FORCES = 0.0, 1.0, 2.0
GIVEN = 20  # what the balance of energy gave or took [J]
NEAR_SINGULAR = 21  # 1 when the step ended where loops lose a direction
PUSHED = 22  # impulses of the projections as forces, per effective mass and size [1/s^2]
REMAINS = 23  # changes of multipliers that further iterations would bring, in the same terms
PASSED = 24  # given: 1 for a step that is not recorded; rates and accelerations at its end may be left out
KEPT_WHOLE = -1.0  # in its place: the step may become the present state, so all that a method keeps is written
SLOWEST = 25  # largest share of a violation that an iteration of the projections left; 0 where none was made
OPEN = 26  # |Phi| of the finished step, in terms of the scale of its row, the largest
FIRST_CORRECTION = 27  # scaled corrections, one an iteration of the last try
MAX_ITERATIONS = 48
STATS_SIZE = FIRST_CORRECTION + MAX_ITERATIONS
NO_ENERGY = np.zeros((0, 2))  # of a method that keeps none
MOST_ROWS, MOST_BYTES = 1024, 4e6  # steps in one kernel call, and the memory of their rows


@struct
class Settings(NamedTuple):
    """Settings of a step: all that is neither state nor mechanism."""

    h: float  # step [s]
    relative: float  # relative tolerance of the increment
    max_iterations: int
    fixed_iterations: bool  # always max_iterations: the same work in every step
    tries: int  # further tries at most, after the plain iteration failed
    refactor: int  # index into REFACTOR
    reuse_below: float  # largest correction, in typical sizes, after which ADAPTIVE may keep the factor
    max_projections: int  # projection iterations at most, for velocities and again for accelerations
    projection_bound: float  # violation left by the iterations, relative to the largest joint speed (acceleration)
    tangent_terms: int  # index into TANGENT_TERMS
    project_velocities: bool
    project_accelerations: bool
    hold_energy: bool  # scale the rates of loops to their balance of energy
    mass_metric: bool  # project in the metric M + q4 Phi_z^T alpha Phi_z instead of the Newton matrix
    loop_tolerance: float  # |Phi| / scale above which a converged step is refused
    absolute: Array  # (n,) absolute tolerance of the increment [rad or m]
    typical: Array  # (n,) typical size of a coordinate [rad or m]
    pace: Array  # (n,) the same, what the largest joint speed is measured in; infinite where loops do not feel it
    rotation: Array  # (m,) bool: rows that measure rotation
    scale: Array  # (m,) size a row is compared with: characteristic length, or 1 for rotation
    mass: Array  # (m,) effective mass of each row [kg or kg m^2]
    first: Array  # (m,) bool: rows with which a closure begins
    held: float  # largest dimensionless penalty of a row, h^2/4 alpha / mass
    may_bend: bool  # slopes of force laws change with the motion, perhaps at once


NO_STATES = np.zeros(0)  # of force laws
NO_STATE_ROWS = np.zeros((0, 0))


class StateArrays(NamedTuple):
    """The numbers of a State that a step reads and writes."""

    z: Array  # (n,)
    zd: Array  # (n,)
    zdd: Array  # (n,)
    lam: Array  # (m,)
    R0: Array  # (nr, 3, 3) reference rotations
    energy: Array  # (n, 2) [J] of each component that keeps one, at its first step: of its path, of z and zd; or what
    # else a method keeps, a row a quantity
    s: Array = NO_STATES  # (ns,) states of force laws
    sd: Array = NO_STATES  # (ns,) their rates


class Chunk(NamedTuple):
    """Consecutive states, a row a step, filled by one kernel call of a run."""

    z: Array  # (k, n)
    zd: Array  # (k, n)
    zdd: Array  # (k, n)
    lam: Array  # (k, m)
    R0: Array  # (k, nr, 3, 3)
    energy: Array  # (k, n, 2), or what else a method keeps
    u: Array  # (k, nu) inputs and functions of time at the end of each step, given
    stats: Array  # (k, STATS_SIZE)
    s: Array = NO_STATE_ROWS  # (k, ns) states of force laws
    sd: Array = NO_STATE_ROWS  # (k, ns)


def kept_by(state: State) -> Array:
    """Return what the compiled step of a method keeps in a state: energies, or the history of momenta."""
    memory = state.memory
    if "energy" in memory:
        return memory["energy"]
    return memory.get("momentum", NO_ENERGY)


def arrays_of(state: State) -> StateArrays:
    """Return the arrays that a step reads and writes, shared with ``state``."""
    energy = kept_by(state)
    return StateArrays(state.z, state.zd, state.zdd, state.lam, state.R0, energy, state.s, state.sd)


def one_row_chunk(state: State, stats: Array) -> Chunk:
    """Return the single row of a step into ``state``, shared with it."""
    energy = kept_by(state)
    return Chunk(  # in the order of the fields: every step of a loop in Python makes one
        state.z[None], state.zd[None], state.zdd[None], state.lam[None], state.R0[None], energy[None], state.u[None],
        stats[None], state.s[None], state.sd[None],
    )  # fmt: skip


def chunk_for(state: State, steps: int) -> Chunk:
    """Return a chunk for up to ``steps`` steps from states like this one."""
    like = one_row_chunk(state, np.zeros(STATS_SIZE))
    count = int(min(steps, MOST_ROWS, max(MOST_BYTES // sum(values.nbytes for values in like), 1)))
    return Chunk(*(np.zeros((count, *values.shape[1:])) for values in like))


def first(chunk: Chunk, count: int) -> Chunk:
    """Return the first ``count`` rows, shared."""
    return Chunk(*(values[:count] for values in chunk))


def row_of(chunk: Chunk, k: int) -> StateArrays:
    """Return the state in row ``k``, shared."""
    return StateArrays(*(getattr(chunk, name)[k] for name in StateArrays._fields))


def chunk_from(chunk: Chunk, first: int, count: int | None = None) -> Chunk:
    """Return the rows of a chunk from ``first`` on, shared; ``count`` of them, or all."""
    return Chunk(*(values[first : None if count is None else first + count] for values in chunk))


def take_row(state: State, chunk: Chunk, k: int) -> None:
    """Write row ``k`` of a chunk to ``state``."""
    for values, rows in zip(arrays_of(state), (getattr(chunk, name) for name in StateArrays._fields), strict=True):
        values[:] = rows[k]


RUNGE_KUTTA, VERLET, SEMI_IMPLICIT = range(3)  # kinds of rules


@struct
class ExplicitRule(NamedTuple):
    """A rule of explicit steps."""

    kind: Array  # (1,) int64: RUNGE_KUTTA, VERLET or SEMI_IMPLICIT
    a: Array  # (stages, stages) of a Runge-Kutta table, strictly lower triangle
    b: Array  # (stages,) weights


def rule_of_table(table: Tableau) -> ExplicitRule:
    """Return the rule of a Runge-Kutta table."""
    return ExplicitRule(np.array([RUNGE_KUTTA]), table.matrix, np.array(table.b))


def rule_of_kind(kind: int) -> ExplicitRule:
    """Return a rule without a table."""
    return ExplicitRule(np.array([kind]), np.zeros((1, 1)), np.ones(1))
