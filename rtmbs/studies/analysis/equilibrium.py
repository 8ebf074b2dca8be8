"""Equilibria: poses in which all forces balance, by Newton with a trust region or dynamic relaxation (METHODS 1.36).

Dynamic relaxation takes the rates away at every peak of the kinetic energy, so that a motion comes to rest.
"""

import math
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from rtmbs.contact.convex import refuse_convex
from rtmbs.contact.switched import refuse_rigid
from rtmbs.errors import InputError, StartError, shown
from rtmbs.integrators.checks import whole
from rtmbs.numerics.linear.least_change import converged
from rtmbs.numerics.linear.solver import refuses_unfactorised
from rtmbs.results.motion_channels import body_motion
from rtmbs.results.samples import Evaluation, one_sample
from rtmbs.simulation.simulation import Simulation, store_of
from rtmbs.state import State
from rtmbs.studies.analysis.linearisation import input_derivatives, input_slots
from rtmbs.studies.analysis.modes import Modes, modes
from rtmbs.studies.analysis.neighbourhood import closed, driver_motion, loop_null_space, moves_drivers, neighbourhood
from rtmbs.studies.analysis.report import NamedValues, Report, rows, simulation_of
from rtmbs.studies.analysis.static import (
    RELATIVE,
    Integrates,
    NoEquilibrium,
    StaticBalance,
    balance_with_states,
    pose_after,
    static,
    step_to,
)
from rtmbs.system.contact_tables import refuse_sets
from rtmbs.system.system import System
from rtmbs.system.tables import PRISMATIC

Array = NDArray[np.float64]

STILL = 1e-11  # change of a coordinate in typical sizes that ends the search
ROUNDING = 1e-8  # likewise, of one that no longer shrinks
FIRST, LARGEST, SMALLEST = 0.3, 1.0, 1e-12  # trust region in typical sizes: at first, at most, and where it is given up
FLAT = 1e-10  # of the largest stiffness over mass: a direction without stiffness
SYMMETRIC = 1e-8  # of the largest entry: stiffness that has an energy
UNSTABLE = 1e-9  # of the largest stiffness over mass: below, what is negative is rounding
PUSH = 1e-2  # typical sizes: away from an equilibrium that is not stable
ITERATIONS = 300
NO_EFFECT = 1e9  # of an input: a change by more holds nothing
HELD = 1e-9  # of the accelerations without them: what inputs may leave
DEFAULT_STEP = 1e-3  # [s] of the Simulation that is made of a System


@dataclass(frozen=True, repr=False)
class Equilibrium(Report):
    """Pose at rest in which forces balance; ``equilibrium`` returns it.

    Parameters
    ----------
    simulation : Simulation
        Simulation at the pose, to go on from.
    residual : float
        Largest acceleration that is left, over the typical size of its coordinate [1/s^2].
    stiffness : ndarray
        Eigenvalues (f,) of the stiffness over the mass of the independent coordinates, the least first [1/s^2].
    iterations : int
        Iterations of the search.
    """

    simulation: Simulation
    residual: float
    stiffness: Array
    iterations: int

    @property
    def state(self) -> State:
        """The state: positions, rates of zero, reactions."""
        return self.simulation.state

    @property
    def modes(self) -> Modes:
        """Small motions beside the equilibrium, damping included."""
        return modes(self.simulation)

    @property
    def stable(self) -> bool:
        """True when no small motion grows. Directions without stiffness count as stable."""
        return self.modes.stable

    def line(self) -> str:
        """Return the mechanism, the least stiffness and the residual force.

        Returns
        -------
        str
            Summary in one line.
        """
        sim, least = self.simulation, f"{self.stiffness[0]:.4g} 1/s^2" if len(self.stiffness) else "none"
        return f"{sim.system.name!r} at t = {sim.t:g} s, least stiffness {least}, residual {self.residual:.2g} 1/s^2"

    def table(self) -> str:
        """Return the stability, the pose by coordinates, and the sizes of forces in joints.

        Returns
        -------
        str
            Numbers as text of several lines.
        """
        sim = self.simulation
        known = [name for name in sim.system.coordinate_names if name in channels(sim)]
        pose = rows([("coordinate", "value"), *((name, f"{float(sim[name]):.6g}") for name in known)])
        forces = [(name, f"{float(np.linalg.norm(load[:3])):.6g} N") for name, load in self.loads.items()]
        head = f"equilibrium of {self.line()}: {'stable' if self.stable else 'not stable'}"
        return "\n".join([head, *pose, *rows([("joint", "force"), *forces])])

    @property
    def loads(self) -> dict[str, Array]:
        """Reactions of every joint by name, as channels of a Result have them [N, N m]."""
        sim = self.simulation
        offered = channels(sim)
        names = [name for name in sim.system.joints if f"{name}.reaction" in offered]
        return NamedValues("joint with a reaction", {name: sim[f"{name}.reaction"] for name in names})


def channels(sim: Simulation) -> frozenset[str]:
    """Return the names of all channels of a Simulation."""
    return frozenset(sim.keys())


@refuses_unfactorised(InputError, "equilibrium")
def equilibrium(
    of: System | Simulation, *, near: Any = None, stable: bool = True, relaxation: float | None = None
) -> Equilibrium:
    """Return an equilibrium near the present pose of a Simulation, or near the start of a System.

    Forces, inputs and functions of time are those of the present time.

    Parameters
    ----------
    of : System or Simulation
        The mechanism; a Simulation stays as it is.
    near : mapping, Simulation, Equilibrium or State, optional
        Pose to begin at: coordinates by name (``{"crank.angle": 1.0}``, set one after the other, loops closed), or the
        pose of the object.
    stable : bool
        Go downhill and leave saddles and maxima of the energy. Otherwise, Newton takes the nearest balance of either
        kind. So it does beside states of force laws that integrate, as those of a PID controller; ask for ``stable``
        of the result.
    relaxation : float, optional
        Time [s] of dynamic relaxation before the search: the mechanism moves, and stands still at every peak of its
        kinetic energy. It ends in the valley that the motion leads to.

    Returns
    -------
    Equilibrium
        Pose with ``stable``, ``modes``, ``loads`` and ``state``.

    Raises
    ------
    NoEquilibrium
        When no equilibrium is found; the message names the coordinate that keeps moving.
    InputError
        For drivers that move, and for a singular pose.

    Examples
    --------
    >>> rest = rtmbs.equilibrium(model.compile())
    >>> rest.stable, rest.modes.frequencies, rest.loads["hinge"]
    """
    sim = at_rest(of, near)
    if relaxation is not None:
        relax(sim, relaxation)
        store_of(sim).go_on_from(closed_pose(sim), sim.t)
    try:
        here = static(sim)
    except Integrates:
        iterations, there = balance_with_states(sim)
        return Equilibrium(sim, float(there.acceleration.max(initial=0.0)), there.stiffness, iterations)
    return descend(sim, here, stable)


def descend(sim: Simulation, here: StaticBalance, stable: bool) -> Equilibrium:
    """Move a Simulation from a pose at rest to its equilibrium. Raises NoEquilibrium.

    The loop stands alone: a trust region in the energy, whose steps go downhill and are taken on closed loops.
    """
    radius, previous = FIRST, np.inf
    for iteration in range(1, ITERATIONS + 1):
        change, size = wanted_step(here, stable)
        if converged(size, previous, STILL, ROUNDING):
            if stable and len(here.values) and here.values[0] < -UNSTABLE * np.abs(here.values).max():
                here = off_saddle(sim, here)
                radius, previous = FIRST, np.inf
                continue
            if here.left > ROUNDING * here.stiff:
                break  # a force that no step takes away
            return Equilibrium(sim, here.left, here.values, iteration)
        share, before = min(1.0, radius / size), sim.state.copy()
        there = step_to(sim, here, share * change)
        if there is not None and better(here, there, share * change, stable):
            here, previous, radius = there, size, min(2.0 * max(radius, share * size), LARGEST)
            continue
        store_of(sim).go_on_from(before, sim.t)
        radius = 0.25 * share * size
        if radius < SMALLEST:
            break
    raise NoEquilibrium(
        f"no equilibrium near this pose: {here.moving_coordinate} keeps moving: nothing balances an acceleration of "
        f"{here.largest_acceleration}; hold it by a spring, a joint or a driver, or start from another pose"
    )


def at_rest(of: System | Simulation, near: Any = None) -> Simulation:
    """Return a private Simulation at the present pose, or ``near`` it, with zero rates. Raises InputError."""
    if isinstance(of, System):
        sim = Simulation(of, DEFAULT_STEP)
    else:
        sim = copy(simulation_of("equilibrium", of, "a System or a Simulation"))
    refuse_rigid(sim.system.rigid, "equilibrium")
    refuse_convex(sim.system.forces, "equilibrium")
    refuse_sets(sim.system, "equilibrium")
    if near is not None:
        begin_at(sim, near)
    state = closed_pose(sim)
    sim.equations.close(state.z, state.R0)
    rate = sim.equations.closure_velocities(state.zd) / sim.equations.sizes.scale
    if np.abs(rate).max(initial=0.0) > 1e-9:
        row = sim.system.row_names[int(np.argmax(np.abs(rate)))]
        raise InputError(
            f"{row!r} moves at t = {sim.t:g} s, and nothing rests beside it; take a time at which drivers rest, "
            "such as another starting time of a model file, or modes(sim) of the steady motion"
        )
    store_of(sim).go_on_from(state, sim.t)
    return sim


def closed_pose(sim: Simulation) -> State:
    """Return the present pose at rest with closed loops; penalties leave loops of a run slightly open.

    Raises InputError where they do not close.
    """
    state = pose_after(sim, np.zeros((sim.system.n, 0)), np.zeros(0, np.int64), np.zeros(0))
    if state is None:
        raise InputError(f"the loops do not close near the pose at t = {sim.t:g} s; start from another pose")
    return state


def begin_at(sim: Simulation, near: Any) -> None:
    """Set a Simulation to the pose ``near``. Raises InputError, UnknownNameError, StateError, StartError."""
    if isinstance(near, Mapping):
        for name, value in near.items():
            sim.set(name, value)
        return
    if not isinstance(near, State):
        inner = getattr(near, "simulation", near)
        if not isinstance(inner, Simulation):
            raise InputError(
                f"near is {shown(near)}; it must map coordinates to values, or be an Equilibrium, a Simulation or a "
                "State"
            )
        near = inner.state
    if near.fingerprint != sim.system.fingerprint:
        raise InputError(f"near is a pose of another mechanism than {sim.system.name!r}; map coordinates to values")
    state = sim.state.copy()
    state.z[:], state.R0[:] = near.z, near.R0
    store_of(sim).go_on_from(state, sim.t)


def wanted_step(here: StaticBalance, stable: bool) -> tuple[Array, float]:
    """Return the trial step of the independent coordinates (f,), and its size in typical ones.

    Downhill where the stiffness is negative and ``stable`` is asked for; as far as may be where there is none.
    """
    if not len(here.values):
        return np.zeros(0), 0.0
    flat = FLAT * np.abs(here.values).max()
    conservative = here.turning or np.abs(here.K - here.K.T).max() <= SYMMETRIC * np.abs(here.K).max()
    if conservative or np.abs(here.values).min() <= flat:
        force = here.vectors.T @ here.g
        stiff = np.abs(here.values) if stable else here.values
        calm = np.abs(here.values) <= flat
        still = calm & (np.abs(force) <= here.noise)
        stiff = np.where(calm, np.where(np.abs(force) > 0.0, np.abs(force), 1.0) / LARGEST, stiff)
        change = -here.vectors @ np.where(still, 0.0, force / stiff)
    else:
        change = -scipy.linalg.lstsq(here.K, here.g)[0]
        if stable and here.g @ change > 0.0:
            change = -change
    return change, float(np.max(np.abs(here.N @ change) / here.typical, initial=0.0))


def better(here: StaticBalance, there: StaticBalance, change: Array, stable: bool) -> bool:
    """Return whether a step led downhill, or nearer to a balance."""
    if there.left <= 0.5 * here.left or there.left <= 1e-9 * there.scale:
        return True
    if not stable:
        return there.left < here.left
    work = 0.5 * (here.g @ change + there.g_along)
    return bool(work < 0.0)


def off_saddle(sim: Simulation, here: StaticBalance) -> StaticBalance:
    """Return a pose slightly below an unstable equilibrium."""
    way = here.vectors[:, 0]
    way = way * PUSH / max(float(np.max(np.abs(here.N @ way) / here.typical)), 1e-300)
    for sign in (1.0, -1.0):
        there = step_to(sim, here, sign * way)
        if there is not None:
            return there
    raise NoEquilibrium(f"the equilibrium at this pose is not stable, and {here.moving_coordinate} cannot leave it")


def preload(sim: Simulation, inputs: Sequence[str]) -> dict[str, float | Array]:
    """Return values of inputs with which the present pose is an equilibrium, the least change of them.

    Parameters
    ----------
    sim : Simulation
        The mechanism at its pose; it stays as it is.
    inputs : sequence of str
        Names of the inputs that may change. Drivers hold what they prescribe, and leave nothing to inputs there.

    Returns
    -------
    dict of str to float or ndarray
        Values by name, in the units of ``sim.inputs``; write them there.

    Raises
    ------
    InputError
        When these inputs cannot hold the pose; the message names the coordinate that would move.

    Examples
    --------
    >>> for name, value in rtmbs.preload(sim, ["spring.length"]).items():
    ...     sim.inputs[name] = value
    """
    own = at_rest(sim)
    slots, names = input_slots(own, inputs)
    if moving := moves_drivers(own.system, slots):
        raise InputError(
            f"input {names[moving[0]]!r} is of a driver, which holds its coordinate by any force; take the input out, "
            "or a motor in the place of the driver"
        )
    first = static(own)
    for _ in range(20):
        here, near = static(own), neighbourhood(own)
        Q_u, _ = input_derivatives(near, slots, driver_motion(near, slots))
        change = scipy.linalg.lstsq(here.N.T @ Q_u, here.g, cond=1e-12)[0] if slots else np.zeros(0)
        state = own.state.copy()
        if np.any(np.abs(change) > NO_EFFECT * np.maximum(np.abs(state.u[slots]), 1.0)):
            break  # what the input does here is rounding
        state.u[slots] += change
        store_of(own).go_on_from(state, own.t)
        if np.abs(change).max(initial=0.0) <= 1e-13 * np.maximum(np.abs(state.u[slots]), 1.0).max(initial=0.0):
            break
    here = static(own)
    if here.left > HELD * first.left + ROUNDING * here.stiff + RELATIVE * max(here.scale, first.scale):
        named = ", ".join(map(repr, inputs)) or "no inputs"
        raise InputError(
            f"{named} cannot hold this pose: {here.moving_coordinate} would move; add an input that acts on it"
        )
    places = {name: own.system.inputs[name] for name in inputs}
    return {name: as_given(own.state.u[place], own.system.shapes.get(name)) for name, place in places.items()}


def as_given(values: Array, shape: tuple[int, ...] | None) -> float | Array:
    """Return an input in the form of ``sim.inputs``: a number, or an array of its shape."""
    return float(values[0]) if values.size == 1 else values.copy().reshape(-1 if shape is None else shape)


RESTS = 1e-16  # of the largest peak of kinetic energy: the motion is over
HALVINGS = 6  # of a step that fails


def relax(sim: Simulation, duration: float) -> None:
    """Relax a Simulation for at most ``duration`` [s], functions of time fixed; it ends at rest.

    Kinetic damping: what goes down gains kinetic energy, and past the bottom loses it. There the rates are set to zero.
    A motion over before that ends the relaxation. Raises InputError for a duration that is none and a step that fails.
    """
    if isinstance(duration, bool) or not isinstance(duration, int | float) or not 0.0 < duration < math.inf:
        raise InputError(f"relaxation is {shown(duration)}; it must be a time in s, such as 2.0")
    t, h = sim.t, sim.h
    before = peak = 0.0
    for _ in range(math.ceil(duration / h)):
        step_in_parts(sim)
        kinetic = float(sim["energy.kinetic"])
        if kinetic < before:
            rest(sim, t)
            if before <= RESTS * peak:
                break
            peak, before = max(peak, before), 0.0
        else:
            before = kinetic
    rest(sim, t)


def step_in_parts(sim: Simulation) -> None:
    """Take a step, in parts where the whole one fails."""
    h = sim.h
    for halving in range(HALVINGS + 1):
        if halving:
            sim.h = h / 2**halving
        reports = [sim.step() for _ in range(2**halving)]
        if all(report.outcome.accepted for report in reports):
            break
    else:
        sim.h = h
        raise InputError(f"the relaxation ends at a step that fails: {reports[-1]}; take a Simulation with a smaller h")
    if sim.h != h:
        sim.h = h


def rest(sim: Simulation, t: float) -> None:
    """Set the rates to zero, and the time back to ``t`` [s] for functions of time."""
    state = sim.state.copy()
    state.zd[:] = 0.0
    store_of(sim).go_on_from(state, t)


SAME = 1e-6  # of the length, or rad: poses nearer to each other are one
SHIFT = 1.0  # lengths: how far prismatic coordinates start from the pose


def equilibria(of: System | Simulation, starts: int = 20, *, stable: bool = False, seed: int = 0) -> list[Equilibrium]:
    """Return the distinct equilibria found from several poses, stable ones first.

    The first start is the present pose. The others turn and shift its independent coordinates at random: angles by up
    to half a turn, displacements by up to the length of the mechanism. Poses that do not close are left out. There may
    be further equilibria.

    Parameters
    ----------
    of : System or Simulation
        The mechanism; inputs and functions of time are those of the present time.
    starts : int
        Number of poses.
    stable : bool
        Go downhill and leave saddles, see ``equilibrium``.
    seed : int
        Seed of the random poses.

    Returns
    -------
    list of Equilibrium
        Distinct equilibria, stable ones first.

    Raises
    ------
    InputError
        For wrong arguments.
    NoEquilibrium
        When no search ends at an equilibrium.

    Examples
    --------
    >>> for one in rtmbs.equilibria(model.compile(), starts=50):
    ...     print(one.stable, one.state.z)
    """
    whole("starts", starts, 1, 1_000_000)
    whole("seed", seed, 0, 2**63 - 1)
    first, rng = at_rest(of), np.random.default_rng(seed)
    found: list[tuple[Equilibrium, Array]] = []
    refused: Exception | None = None
    for k in range(starts):
        start = copy(first) if k == 0 else random_pose(first, rng)
        if start is None:
            continue
        try:
            one = equilibrium(start, stable=stable)
        except (NoEquilibrium, InputError, StartError) as error:
            refused = refused or error
            continue
        pose = pose_of(one.simulation)
        if not any(same_pose(pose, other, first.system.length) for _, other in found):
            found.append((one, pose))
    if not found:
        raise NoEquilibrium(f"none of {starts} starts leads to an equilibrium; the first ends so: {refused}")
    return sorted((one for one, _ in found), key=lambda one: not one.stable)


def random_pose(sim: Simulation, rng: np.random.Generator) -> Simulation | None:
    """Return a Simulation at rest in a random pose; None where the loops do not close."""
    own = copy(sim)
    try:
        basis = loop_null_space(own, closed(own)[0])
    except InputError:  # a dead centre: any coordinate may be turned
        return None
    shifts = own.system.tables.dofs.kind[basis.independent] == PRISMATIC
    reach = np.where(shifts, SHIFT * own.system.length, np.pi)
    state = pose_after(own, basis.N, basis.independent, reach * rng.uniform(-1.0, 1.0, len(reach)))
    if state is None:
        return None
    try:
        store_of(own).go_on_from(state, own.t)
    except StartError:
        return None
    return own


def pose_of(sim: Simulation) -> Array:
    """Return mass centres and orientations (bodies, 12) in the world."""
    system = sim.system
    resampled = Evaluation(system, sim.equations.tables, one_sample(sim.state))
    rows = []
    for name in system.topology.bodies[1:]:
        info = system.bodies[name]
        body = body_motion(resampled, info)
        rows.append(np.concatenate((body.in_world(body.point(info.center_of_mass))[0], body.orientation[0].ravel())))
    return np.array(rows).reshape(-1, 12)


def same_pose(a: Array, b: Array, length: float) -> bool:
    """Return whether every body has the same place in two poses."""
    apart = np.abs(a - b)
    return bool(apart[:, :3].max(initial=0.0) <= SAME * length and apart[:, 3:].max(initial=0.0) <= SAME)
