"""``sensitivity``: exact derivatives of functions of a run by parameters, by the direct method or the discrete adjoint.

The direct method carries the derivatives of every state forwards. The adjoint finds gradients of a few values by any
number of parameters in one pass backwards (METHODS 1.37).
"""

import threading
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from rtmbs.contact.convex import refuse_convex
from rtmbs.contact.joints import refuse_bearings
from rtmbs.contact.switched import refuse_rigid
from rtmbs.core.names import Keyed, selected
from rtmbs.errors import InputError, unknown_name, with_count
from rtmbs.integrators.checks import one_of, whole
from rtmbs.integrators.contract import Method
from rtmbs.integrators.penalty_trapezoidal import PenaltyTrapezoidal
from rtmbs.integrators.variational_midpoint import VariationalMidpoint
from rtmbs.methods import Capability, demand
from rtmbs.model.model import Model
from rtmbs.results.catalogue import run_result
from rtmbs.results.result import Result
from rtmbs.results.samples import one_sample
from rtmbs.simulation.running import steps_to
from rtmbs.simulation.simulation import Simulation, store_of
from rtmbs.studies.analysis.report import MEANT, Report, numbers, rows, wrong_argument
from rtmbs.studies.sensitivities.channels import Channels, CheckpointedRun, Cost, Direction, RecordedCost, read_run
from rtmbs.studies.sensitivities.initial_state import FirstChange, StartEquations
from rtmbs.studies.sensitivities.midpoint_tape import MidpointTape
from rtmbs.studies.sensitivities.parameters import SensitivityParameters, checked_values, parameters_of
from rtmbs.studies.sensitivities.step_solver import evaluate_back, sweep_forward
from rtmbs.studies.sensitivities.step_tape import StepTape
from rtmbs.studies.sensitivities.steps import LinearSteps, StepDefect, Steps, largest
from rtmbs.studies.sensitivities.variations import check_steady
from rtmbs.system.contact_tables import refuse_contacts, refuse_sets
from rtmbs.system.recorded_laws import check_captured

Array = NDArray[np.float64]

TAPES: dict[Any, type[StepTape]] = {PenaltyTrapezoidal: StepTape, VariationalMidpoint: MidpointTape}
AUTO, DIRECT, ADJOINT = "auto", "direct", "adjoint"
DIRECT_FIRST = 3  # parameters for each value up to which the direct method is taken
REVERSE_FROM = 7  # parameters for each value: a reverse pass over a step costs less than its entries by all of them
RECORDED: WeakKeyDictionary[Any, dict[Any, tuple[Any, StepTape]]] = WeakKeyDictionary()  # the last tape of a System
SHOWN = 4  # values in a text
MOST_CHECKPOINTS = 1_000_000
MISSED = 1e-6  # of rates and accelerations: beyond, the equations are not those of the run


@dataclass(frozen=True, repr=False)
class Sensitivity(Keyed, Report):
    """Values of a run and their derivatives; ``sensitivity`` returns it.

    Parameters
    ----------
    value : ndarray
        Values (k,) that the function of the channels returned.
    jacobian : ndarray
        Derivatives (k, np) of the values by the parameters.
    parameters : tuple[str, ...]
        Name of each parameter.
    point : ndarray
        Values (np,) of the parameters.
    result : Result
        The run.
    method : str
        "direct" or "adjoint".
    missed : float
        Relative residual: largest difference of the recorded steps from the differentiated equations, over the largest
        rates and accelerations of the run. The tolerances of the steps cause it.
    """

    value: Array
    jacobian: Array
    parameters: tuple[str, ...]
    point: Array
    result: Result
    method: str
    missed: float

    @property
    def gradient(self) -> Array:
        """Derivatives (np,) of the only value; InputError when there are several."""
        if len(self.value) != 1:
            raise InputError(f"there are {len(self.value)} values, which have a jacobian and no gradient")
        return np.asarray(self.jacobian[0])

    def line(self) -> str:
        """Return the mechanism, the sizes of the jacobian and the method."""
        sizes = f"{with_count(len(self.value), 'value')} by {with_count(len(self.parameters), 'parameter')}"
        return f"{self.result.name!r}: {sizes}, {self.method} method, missed {self.missed:.1g}"

    def table(self) -> str:
        """Return every parameter with its value and the derivatives of the first values."""
        shown_ = range(min(len(self.value), SHOWN))
        head = ("parameter", "value", *(f"d value[{k}]" for k in shown_))
        found = [
            (name, *numbers(np.array([self.point[j], *self.jacobian[: len(shown_), j]])))
            for j, name in enumerate(self.parameters)
        ]
        values = ", ".join(numbers(self.value[: len(shown_)])) + (", ..." if len(self.value) > SHOWN else "")
        return "\n".join([f"sensitivity of {self.line()}", f"value: {values}", *rows([head, *found])])

    def keys(self) -> list[str]:
        """Return the names of the parameters."""
        return list(self.parameters)

    def __getitem__(self, name: Any) -> Any:
        """Return the derivatives (k,) by the parameter ``name``; of a pattern or a list the derivatives by name."""
        if (several := selected("parameter", name, self.parameters)) is not None:
            return {one: self[one] for one in several}
        if name not in self.parameters:
            raise unknown_name("parameter", name, self.parameters)
        return np.asarray(self.jacobian[:, self.parameters.index(name)])


def sensitivity(
    sim: Simulation,
    t_end: float,
    of: Cost | str | Sequence[str],
    by: Sequence[str],
    *,
    model: Model | Any = None,
    at: Mapping[str, float] | None = None,
    method: str = AUTO,
    checkpoints: int | None = None,
) -> Sensitivity:
    """Return values of a run from the present state, with exact derivatives by parameters.

    The derivatives are those of the steps as they are computed, projections and balance of energy included, in the
    limit of their tolerances. Coordinates and rates that ``set_initial`` pinned stay when a parameter changes; others
    become the nearest ones.

    Parameters
    ----------
    sim : Simulation
        The start of the run; it stays as it is.
    t_end : float
        End of the run [s].
    of : callable or str or sequence of str
        Function of the channels, in plain NumPy, that returns a number or an array (k,); or names of channels, whose
        last values count. ``of(result)`` reads channels as a Result does: ``result["tip.position"]`` (S, 3).
    by : sequence of str
        Names of inputs (``"spring.stiffness"``); of initial coordinates, rates and states of force laws
        (``"crank.position"``, ``"crank.rate"``, ``"tyre.side"``); of the model, with ``model=`` the Model:
        ``"BODY.mass"``, ``"BODY.center_of_mass"``, ``"BODY.inertia"`` (xx, yy, zz, xy, xz, yz), ``"JOINT.point"``,
        ``"MARKER.point"`` (world axes, reference pose).
    model : Model or callable, optional
        The Model that was compiled, or a function that builds one; then ``by`` may name its arguments. They may enter
        profiles of drivers, functions of time, and ratios of couplers and gears.
    at : mapping, optional
        Values of the arguments of ``model`` by name.
    method : str
        "direct" (costs grow with parameters), "adjoint" (with values), or "auto".
    checkpoints : int, optional
        Keep this many States instead of the record of the run, and take the steps between them once more. Memory holds
        the States and the record of one part; ``result`` has the channels that ``of`` reads.

    Returns
    -------
    Sensitivity
        Values (k,), ``jacobian`` (k, np), and ``gradient`` (np,) of a single value.

    Raises
    ------
    UnknownNameError
        For an unknown name; the message has the nearest ones.
    InputError
        For what has no derivative; the message has the reason.
    StepError
        When a step fails.

    Examples
    --------
    >>> found = rtmbs.sensitivity(sim, 2.0, of=lambda r: np.sum(r["tip.position"][:, 2] ** 2), by=["spring.stiffness"])
    >>> found.value, found.gradient
    """
    one_of("method", method, (AUTO, DIRECT, ADJOINT))
    if checkpoints is not None:
        whole("checkpoints", checkpoints, 1, MOST_CHECKPOINTS)
    check(sim)
    values = checked_values(model, at)
    own = private_simulation(sim)
    taken = CheckpointedRun(own, steps_to(own, t_end), checkpoints or 1)
    check_steady(own.system, taken.t, own.h)
    parameters = parameters_of(own, by, model, values, taken.t)
    parameters, tape, start = prepare(own, parameters)
    point = np.array([value_of(own, one, values) for one in parameters.found])
    cost = RecordedCost(of, run_result(own.system, own.equations.tables, one_sample(own.state), {}), taken.t)
    readings = read_run(taken, cost)
    cost.take(readings.values)
    chosen = method if method != AUTO else DIRECT if len(point) <= DIRECT_FIRST * cost.count else ADJOINT
    solve = by_direct if chosen == DIRECT else by_adjoint
    jacobian, missed = solve(parameters, start, taken, tape, Channels(own, cost.names, readings), cost)
    if not missed.size <= MISSED:
        t = taken.t[missed.step + 1]
        raise InputError(
            f"the step that ends at t = {t:g} s misses the equations that are differentiated by {missed.size:.1g} of "
            "the largest rates or accelerations, next to a singular pose, from loose tolerances or across a branch of "
            "a recorded force law; take a smaller step h, or give such a law trace=False"
        )
    if not np.all(np.isfinite(jacobian)):
        raise InputError("a step of the run has a singular matrix, and no derivative; take a smaller step h")
    return Sensitivity(cost.value, jacobian, parameters.names, point, readings.result, chosen, missed.size)


def check(sim: Simulation) -> None:
    """Refuse a Simulation without derivatives here; raises InputError."""
    if not isinstance(sim, Simulation):
        raise wrong_argument("sensitivity", MEANT, sim)
    method, system = sim.method, sim.system
    check_captured(system)
    if sim._controllers is not None:
        raise InputError("sensitivity takes no sampled controllers; give it a Simulation without add_controller")
    refuse_contacts(system, "sensitivity")
    refuse_bearings(system.bearings, "sensitivity")
    refuse_convex(system.forces, "sensitivity")
    refuse_sets(system, "sensitivity")
    refuse_rigid(system.rigid, "sensitivity")
    demand(method, Capability.SENSITIVITY, "sensitivity")
    usual = type(method)()
    for name in tape_for(method).usual:
        if getattr(method, name) != getattr(usual, name):
            raise InputError(
                f"sensitivity needs {name} = {getattr(usual, name)!r}, not {getattr(method, name)!r}; change the method"
            )


def private_simulation(sim: Simulation) -> Simulation:
    """Return a copy of a Simulation at the present state, with this state as its start."""
    own = copy(sim)
    own.change(threads=1)  # groups of threads make Newton matrices of their own
    store_of(own).go_on_from(own.state.copy(), own.t)
    for state in store_of(own).states:
        own.method.begin(own.equations, state)
    return own


def prepare(sim: Simulation, parameters: SensitivityParameters) -> tuple[SensitivityParameters, StepTape, FirstChange]:
    """Return the parameters with penalty factors, the recorded step, and the derivatives of the first state."""
    tape = tape_of(sim, parameters)
    moved = StartEquations(tape, sim.system, sim.state, tape.penalties(sim), parameters.pins).change(
        parameters.names, parameters.pins, parameters.sizes, parameters.states(len(sim.state.s))
    )
    if not tape.follows_penalties:
        return parameters, tape, moved
    parameters = parameters.with_alpha(sim, moved.state[: sim.system.n])
    return parameters, tape_of(sim, parameters), moved


def tape_for(method: Method) -> type[StepTape]:
    """Return the recorder of the steps of a method."""
    return next(tape for kind, tape in TAPES.items() if isinstance(method, kind))


def tape_of(sim: Simulation, parameters: SensitivityParameters) -> StepTape:
    """Return the recorder of the steps of a Simulation; the last one is used again where all its data are the same."""
    system, tables, variations = sim.system, sim.equations.tables, parameters.variations
    kind, redundant = tape_for(sim.method), bool(sim.start_report.redundant)
    key = (threading.get_ident(), kind, sim.h, parameters.names, redundant)
    kept = RECORDED.setdefault(system, {})
    numbers = (tables.closures.assembly_offset, tables.balance.component, variations.alpha, variations.inputs)
    lasting = not variations.tables and not variations.timed
    found = kept.get(key) if lasting else None  # asked once: another thread may clear it
    if found is not None and all(map(np.array_equal, found[0], numbers)):
        return found[1]
    tape = kind(system, tables, variations, sim.h, redundant)
    if lasting:
        kept.clear()
        kept[key] = tuple(one.copy() for one in numbers), tape
    return tape


def value_of(sim: Simulation, parameter: Any, values: Mapping[str, float]) -> float:
    """Return the initial value of a parameter."""
    if parameter.design is not None:
        return float(parameter.design.value)
    if parameter.slot >= 0:
        return float(sim.state.u[parameter.slot])
    if parameter.state >= 0:
        return float(sim.state.s[parameter.state])
    dof, order = parameter.pin
    return float((sim.state.z, sim.state.zd)[order][dof])


def by_direct(
    parameters: SensitivityParameters,
    start: FirstChange,
    run: CheckpointedRun,
    tape: StepTape,
    channels: Channels,
    cost: RecordedCost,
) -> tuple[Array, StepDefect]:
    """Return the derivatives (k, np) by the direct method, and the defect of the steps."""
    by_channels, worst = cost.by_channels().tocsc(), StepDefect(0.0, 0)
    jacobian = np.zeros((cost.count, len(parameters.found)))
    for first, recorded in run.again():
        X, lam, missed = direct_method(LinearSteps(tape, recorded, tape.penalties(run.sim), run.sizes), start)
        found, lead = channels.derivatives(recorded.samples, first, parameters, X, lam), int(first > 0)
        places = cost.places(slice(first + lead, first + len(found)))
        jacobian += by_channels[:, places] @ cost.joined(found[lead:])
        start, worst = FirstChange(X[-1], lam[-1]), max(worst, missed.behind(first))
    return jacobian, worst


def by_adjoint(
    parameters: SensitivityParameters,
    start: FirstChange,
    run: CheckpointedRun,
    tape: StepTape,
    channels: Channels,
    cost: RecordedCost,
) -> tuple[Array, StepDefect]:
    """Return the derivatives (k, np) by the discrete adjoint, and the defect of the steps."""
    weights = np.array([cost.split(row) for row in cost.by_channels().toarray()])
    adjoint, worst = Adjoint(tape, cost.count), StepDefect(0.0, 0)
    explicitly = np.zeros((cost.count, len(parameters.found)))
    entered = tape.variations.count < REVERSE_FROM * cost.count
    for first, recorded in run.again(backwards=True):
        samples = recorded.samples
        own = weights[:, first : first + len(samples.t)]
        steps = LinearSteps(tape, recorded, tape.penalties(run.sim), run.sizes, by_parameters=entered)
        missed = adjoint.through(steps, channels.pulled_back(samples, first, own))
        worst, lead = max(worst, missed.behind(first)), int(first > 0)
        for j, parameter in enumerate(parameters.found):
            if (explicit := channels.partial_derivative(samples, first, parameter)) is not None:
                explicitly[:, j] += np.einsum("ksw,sw->k", own[:, lead:], explicit[lead:])
    return adjoint.ended(start) + explicitly, worst


def direct_method(steps: LinearSteps, start: FirstChange) -> tuple[Array, Array, StepDefect]:
    """Return derivatives of all states (K + 1, nx, np) and multipliers (K + 1, m, np), and the largest defect."""
    tape, count, missed = steps.tape, steps.recorded.steps, StepDefect(0.0, 0)
    X = np.zeros((count + 1, *start.state.shape))
    lam = np.zeros((count + 1, *start.lam.shape))
    X[0], lam[0] = start.state, start.lam
    dy = np.zeros((tape.y.size, start.state.shape[1]))
    for chunk in steps.chunks():
        part = slice(chunk.first, chunk.first + len(chunk.given) + 1)
        values = chunk.evaluated(tape.values_of(len(chunk.given), chunk.size))
        sweep_forward(steps.blocks(dy.shape[1]), values, chunk.case, chunk.made, X[part], lam[part], dy)
        missed = max(missed, chunk.worst(largest(values[:, tape.y["zd"]]) / steps.sizes[0]))
    return X, lam, missed


class Adjoint:
    """Gradients of k values, accumulated from the last segment of a run to the first."""

    def __init__(self, tape: StepTape, k: int) -> None:
        self.p, self.gradient = np.zeros((tape.x.size, k)), np.zeros((tape.variations.count, k))
        self.began = False

    def through(self, steps: LinearSteps, by_samples: list[Direction]) -> StepDefect:
        """Propagate over a segment backwards, with derivatives of the values by its samples; return the largest defect.

        The last sample of a segment is the first of the one behind, which has counted it as the state before a step.
        """
        nc, ns, missed = steps.tape.nc, steps.tape.ns, StepDefect(0.0, 0)
        none = np.zeros((len(by_samples[0].z), nc)), np.zeros((len(by_samples[0].z), ns))
        parts = [np.hstack((one.z, one.zd, one.zdd, none[0], one.s, none[1])) for one in by_samples]
        g, self.f = np.stack(parts, axis=2), np.stack([one.lam for one in by_samples], axis=2)
        if not self.began:
            self.p += g[-1]
            self.began = True
        for chunk in steps.chunks(backwards=True):
            missed = max(missed, self.through_chunk(steps, chunk, g, self.f))
        return missed

    def through_chunk(self, steps: LinearSteps, chunk: Steps, g: Array, f: Array) -> StepDefect:
        """Propagate over a chunk of steps; g are derivatives by all states of the segment, f by their multipliers."""
        count, tape, values = len(chunk.given), steps.tape, steps.values_in_cache(chunk)
        blocks, order = steps.blocks(self.p.shape[1]), np.arange(len(values))
        w, off = np.zeros((count, tape.y.size, self.p.shape[1])), np.zeros(count)
        gradient, each = self.gradient_of(steps, chunk)
        for part, simd in chunk.segments():
            before = slice(chunk.first + part.start, chunk.first + part.stop)
            behind = slice(before.start + 1, before.stop + 1)
            evaluate_back(
                blocks, simd.program, simd.memory, simd.lanes, order, chunk.given[part], chunk.known[part], values,
                chunk.case[part], chunk.made[part], g[before], f[behind], self.p, w[part], each,
                gradient[part] if each else gradient, off[part],
            )  # fmt: skip
        if not steps.by_parameters:
            self.subtract(steps, chunk, steps.parameter_adjoints(chunk, w))
        return chunk.worst(off / steps.sizes[0])

    def gradient_of(self, steps: LinearSteps, chunk: Steps) -> tuple[Array, bool]:
        """Return where the gradients by the parameters of a chunk belong, and whether each step has its own."""
        return self.gradient[None], False

    def subtract(self, steps: LinearSteps, chunk: Steps, found: Array) -> None:
        """Subtract H^T w (K, np, k) of a chunk from the gradients."""
        self.gradient -= found.sum(axis=0)

    def ended(self, start: FirstChange) -> Array:
        """Return the gradients (k, np), with the effect of parameters on the first state."""
        return np.asarray((self.gradient + start.state.T @ self.p + start.lam.T @ self.f[0]).T)


def adjoint_method(steps: LinearSteps, start: FirstChange, by_samples: list[Direction]) -> tuple[Array, StepDefect]:
    """Return gradients (k, np) over a whole run, and the largest defect."""
    found = Adjoint(steps.tape, len(by_samples))
    missed = found.through(steps, by_samples)
    return found.ended(start), missed
