"""``differentiable``: a run as a function of parameters and of inputs in time, with exact gradients; JAX, PyTorch.

Inputs in time are values at the ends of steps, with straight lines between. A trapezoidal step takes the value at its
end; that at its start stands in the accelerations before it. So the gradient by each value is that of one step, which
the discrete adjoint has on its way back (METHODS 1.37): any number of values costs one pass. JAX and PyTorch take the
run as a function of theirs.
"""

# Both libraries are asked for when a function is made; neither is known to the type checker.
# mypy: allow-untyped-defs, allow-untyped-calls
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, shown, unknown_name
from rtmbs.integrators.checks import is_number
from rtmbs.integrators.penalty_trapezoidal import PenaltyTrapezoidal
from rtmbs.results.catalogue import run_result
from rtmbs.results.result import Result
from rtmbs.results.samples import Samples as RunSamples
from rtmbs.results.samples import one_sample
from rtmbs.simulation.running import steps_to
from rtmbs.simulation.set_coordinate import close_motion
from rtmbs.simulation.simulation import Simulation, store_of
from rtmbs.studies.sensitivities.channels import (
    Channels,
    CheckpointedRun,
    Cost,
    Reader,
    RecordedCost,
    read_part,
    read_run,
)
from rtmbs.studies.sensitivities.initial_state import FirstChange
from rtmbs.studies.sensitivities.parameters import (
    SensitivityParameter,
    SensitivityParameters,
    built,
    checked_values,
    parameters_of,
)
from rtmbs.studies.sensitivities.sensitivity import (
    MISSED,
    REVERSE_FROM,
    Adjoint,
    check,
    prepare,
    private_simulation,
    value_of,
)
from rtmbs.studies.sensitivities.steps import LinearSteps, Steps
from rtmbs.studies.sensitivities.variations import Variations
from rtmbs.system.system import Signal, System


def of_jax(run: Any) -> Callable[[Any, Any], Any]:
    """Return a differentiable run as a function of JAX."""
    try:
        import jax
    except ImportError:
        raise InputError("functions of JAX need the package; pip install 'rtmbs[jax]'") from None
    if jax.numpy.asarray(np.zeros(1)).dtype != np.float64:
        raise InputError("runs are computed in float64; call jax.config.update('jax_enable_x64', True) first")
    count, steps, controls = len(run(None, zeros(run))), run.steps + 1, len(run.controls)
    shape = jax.ShapeDtypeStruct((count,), np.float64)
    slopes = (
        shape,
        jax.ShapeDtypeStruct((count, len(run.names)), np.float64),
        jax.ShapeDtypeStruct((count, steps, controls), np.float64),
    )

    def value(p, u):
        return np.asarray(run(np.asarray(p), np.asarray(u)))

    def derivatives(p, u):
        return run.jacobians(np.asarray(p), np.asarray(u))

    @jax.custom_vjp
    def function(p, u):
        return jax.pure_callback(value, shape, p, u, vmap_method="sequential")

    def forward(p, u):
        found, by_p, by_u = jax.pure_callback(derivatives, slopes, p, u, vmap_method="sequential")
        return found, (by_p, by_u)

    def backward(kept, weights):
        by_p, by_u = kept
        return weights @ by_p, jax.numpy.tensordot(weights, by_u, 1)

    function.defvjp(forward, backward)

    def called(p=None, u=None):
        p = run.start if p is None else p
        u = jax.numpy.zeros((steps, controls)) if u is None else jax.numpy.asarray(u, np.float64)
        p = jax.numpy.asarray(p, np.float64).reshape(-1)  # gradients have the shape that the caller gave
        return function(p, u[:, None] if u.ndim == 1 else u)

    return called


def of_torch(run: Any) -> Callable[[Any, Any], Any]:
    """Return a differentiable run as a function of PyTorch."""
    try:
        import torch
    except ImportError:
        raise InputError("functions of PyTorch need the package; pip install 'rtmbs[torch]'") from None

    class Run(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx, p, u):
            found, by_p, by_u = run.jacobians(p.detach().numpy(), u.detach().numpy())
            ctx.save_for_backward(torch.from_numpy(by_p), torch.from_numpy(by_u))
            return torch.from_numpy(np.array(found))

        @staticmethod
        def backward(ctx, weights):
            if torch.is_grad_enabled():
                raise InputError("a run has first derivatives alone; leave out create_graph=True")
            by_p, by_u = ctx.saved_tensors
            return weights @ by_p, torch.tensordot(weights, by_u, 1)

    def function(p=None, u=None):
        p = torch.from_numpy(run.start) if p is None else p.reshape(-1)  # gradients have the caller's shape
        u = torch.from_numpy(zeros(run)) if u is None else u
        return Run.apply(p, u[:, None] if u.ndim == 1 else u)

    return function


def zeros(run: Any) -> Any:
    """Return controls that are zero."""
    return np.zeros((run.steps + 1, len(run.controls)))


Array = NDArray[np.float64]
PullBack = Callable[[Any], tuple[Array, Array]]


class Samples:
    """Function of time through values at equal steps, with straight lines between."""

    def __init__(self, t: float, h: float) -> None:
        self.t, self.h, self.values = t, h, np.zeros(2)

    def __call__(self, t: float) -> Any:
        """Return the value at a time [s], in a list."""
        place = (t - self.t) / self.h
        k = min(max(int(place + 0.5), 0), len(self.values) - 1)
        if abs(place - k) < 1e-6:  # an end of a step
            return [self.values[k]]
        return [np.interp(place, np.arange(len(self.values)), self.values)]


class DifferentiableRun:
    """Values of a run as a function of parameters and of inputs in time; ``differentiable`` returns it.

    Parameters
    ----------
    sim : Simulation
        Start of the run.
    t_end : float
        End of the run [s].
    of : callable or str or sequence of str
        Function of the channels, or names of channels whose last values count.
    by : sequence of str
        Names of the parameters.
    controls : sequence of str
        Names of the inputs in time.
    model : callable, optional
        Function that builds the Model.
    at : mapping, optional
        Values of its arguments.

    Attributes
    ----------
    names : tuple[str, ...]
        Name of each parameter.
    start : ndarray
        Values (np,) of the parameters in the Simulation.
    """

    names: tuple[str, ...]
    start: Array

    def __init__(
        self, sim: Simulation, t_end: float, of: Cost | str | Sequence[str], by: Sequence[str] = (),
        controls: Sequence[str] = (), model: Any = None, at: Mapping[str, float] | None = None,
    ) -> None:  # fmt: skip
        check(sim)
        if not isinstance(sim.method, PenaltyTrapezoidal):
            raise InputError(f"differentiable takes PenaltyTrapezoidal, not {type(sim.method).__name__}")
        self.values, self.model, self.of, self.by = checked_values(model, at), model, of, tuple(by)
        self.own, self.t_end = private_simulation(sim), t_end
        self.steps, self.controls = steps_to(self.own, t_end), tuple(controls)
        self.functions = [Samples(self.own.t, self.own.h) for _ in self.controls]
        self.slots = [control_slot(self.own, name) for name in self.controls]
        self.system = self.with_samples(self.own.system)
        self.first = self.own.state.copy()
        self.asked: SensitivityParameters | None = None
        found = self.found
        self.names = tuple(one.name for one in found)
        self.start = np.array([value_of(self.own, one, self.values) for one in found], np.float64)
        self.kept: Simulation | None = None
        self.offered: Result | None = None
        self.read: Channels | None = None
        self.cost: RecordedCost | None = None
        self.reader: Reader | None = None
        self.lock = RLock()  # there is one Simulation, and one set of functions of time with the controls of a call

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy or a pickle takes along; what only one process has is made anew."""
        none = dict.fromkeys(("lock", "kept", "offered", "read", "asked", "cost", "reader"))
        return {**vars(self), **none}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, lock=RLock())

    def with_samples(self, system: System) -> System:
        """Return the System whose controls are functions of time; a balance of energy does not know their work."""
        if not self.controls:
            return system
        signals = tuple(
            Signal(slot, 1, function, name, ())
            for slot, function, name in zip(self.slots, self.functions, self.controls, strict=True)
        )
        none = system.tables.balance._replace(component=np.full(system.n, -1), first=np.zeros(0, np.int64))
        return replace(system, signals=(*system.signals, *signals), tables=system.tables._replace(balance=none))

    def parameters(self, sim: Simulation, t: Array, values: Mapping[str, float]) -> SensitivityParameters:
        """Return the parameters that are asked for; those of no ``model`` are the same in every call."""
        if self.model is not None:
            return parameters_of(sim, list(self.by), self.model, values, t)
        if self.asked is None:
            self.asked = parameters_of(sim, list(self.by), None, values, t)
        return self.asked

    def simulation_at(self, parameters: Array, controls: Array) -> tuple[Simulation, dict[str, float]]:
        """Return a Simulation that begins the run, and the arguments of ``model``."""
        values = {**self.values}
        for name, value in zip(self.names, parameters.tolist(), strict=True):
            if name in values:
                values[name] = value
        for k, function in enumerate(self.functions):
            function.values = controls[:, k]
        sim = self.built(values)
        state, system = self.first.copy(), sim.system
        pinned = np.zeros((2, system.n), np.bool_)
        for one, value in zip(self.found, parameters.tolist(), strict=True):
            if one.slot >= 0:
                state.u[one.slot] = value
            elif one.state >= 0:
                state.s[one.state] = value
            elif one.pin is not None:
                dof, order = one.pin
                (state.z, state.zd)[order][dof] = value
                pinned[order, dof] = True
        state.u[self.slots] = controls[0]
        if system.m and (pinned.any() or values != self.values):
            pinned |= np.array([system.pinned_z, system.pinned_zd])
            close_motion(sim.equations, state, state.z, state.zd, pinned)
        store_of(sim).go_on_from(state, state.t)
        for one in store_of(sim).states:
            sim.method.begin(sim.equations, one)
        return sim, values

    @property
    def found(self) -> tuple[Any, ...]:
        """Parameters of the Simulation at the start."""
        if not self.by:
            return ()
        return self.parameters(self.own, np.array([self.first.t, self.t_end]), self.values).found

    def built(self, values: Mapping[str, float]) -> Simulation:
        """Return a Simulation of the mechanism with these arguments of ``model``."""
        if values == self.values:
            if self.kept is None:
                self.kept = self.like_own(self.system) if self.controls else copy(self.own)
            return self.kept
        return self.like_own(self.with_samples(built(self.model, values).compile()))

    def like_own(self, system: System) -> Simulation:
        """Return a Simulation of a System with the options of that at the start, and its offset of the loops."""
        own = self.own
        offset = own.equations.assembly_offset
        options = {"jacobian": store_of(own).options.jacobian, "assembly_offset": bool(np.any(offset))}
        sim = Simulation(system, own.h, own.method, **options)  # type: ignore[arg-type]
        sim.equations.assembly_offset[:] = offset
        return sim

    # ---- values and gradients ---------------------------------------------------------------------------------------

    def checked(self, parameters: Any, controls: Any) -> tuple[Array, Array]:
        """Return parameters (np,) and controls (steps + 1, k) as arrays. Raises InputError for other shapes."""
        p = self.start if parameters is None else np.asarray(parameters, np.float64).reshape(-1)
        U = np.zeros((self.steps + 1, 0)) if controls is None else np.asarray(controls, np.float64)
        U = U[:, None] if U.ndim == 1 else U
        if p.shape != self.start.shape:
            raise InputError(f"{p.size} numbers given for {self.start.size} parameters: {', '.join(self.names)}")
        if U.shape != (self.steps + 1, len(self.controls)):
            raise InputError(
                f"controls have shape {U.shape}; the shape {(self.steps + 1, len(self.controls))} is needed, a value "
                "at the start and at the end of every step"
            )
        if not (np.all(np.isfinite(p)) and np.all(np.isfinite(U))):
            raise InputError("parameters and controls of a differentiable run must be finite")
        return p, U

    def recorded(self, own: Simulation) -> tuple[CheckpointedRun, RecordedCost, Any]:
        """Take the run of a Simulation of its own; return the record, the cost and its readings."""
        taken = CheckpointedRun(own, self.steps, 1)
        if own.system is not self.system:
            cost = self.cost_of(run_result(own.system, own.equations.tables, one_sample(own.state), {}), taken.t)
            readings = read_run(taken, cost)
        else:
            if self.offered is None:
                self.offered = run_result(own.system, own.equations.tables, one_sample(own.state), {})
            cost = self.cost_of(self.offered, taken.t)
            readings = read_part(taken, cost, self.offered, lambda samples: self.reader_of(own, samples, cost)(samples))
        cost.take(readings.values)
        return taken, cost, readings

    def cost_of(self, offered: Result, t: Array) -> RecordedCost:
        """Return the recorded function of the channels; last values are recorded once."""
        if callable(self.of):
            return RecordedCost(self.of, offered, t)
        if self.cost is None:
            self.cost = RecordedCost(self.of, offered, t)
        return self.cost

    def reader_of(self, own: Simulation, samples: RunSamples, cost: RecordedCost) -> Reader:
        """Return the reader of the channels of whole runs of the System at the start."""
        if self.reader is None or self.reader.names != cost.names:
            self.reader = Reader(own.system, own.equations.tables, samples, cost.names, rank_held=False)
        return self.reader

    def channels(self, own: Simulation, cost: RecordedCost, readings: Any) -> Channels:
        """Return the derivatives of the channels of a run; those of one System share their readers."""
        kept = self.read
        if kept is not None and kept.sim.system is own.system and kept.names == cost.names:
            kept.take(readings)
            return kept
        found = Channels(own, cost.names, readings)
        self.read = found if own.system is self.system else kept
        return found

    def __call__(self, parameters: Any = None, controls: Any = None) -> Array:
        """Return the values (k,) of a run.

        Parameters
        ----------
        parameters : array_like, optional
            Values (np,) of the parameters; those of the Simulation unless given.
        controls : array_like, optional
            Inputs (steps + 1, k) at the start and at the end of every step.

        Returns
        -------
        ndarray
            Values (k,).
        """
        with self.lock:
            sim, _ = self.simulation_at(*self.checked(parameters, controls))
            return self.recorded(sim)[1].value

    def vjp(self, parameters: Any = None, controls: Any = None) -> tuple[Array, PullBack]:
        """Return the values of a run, and the function that pulls weights of the values back.

        Parameters
        ----------
        parameters : array_like, optional
            Values (np,) of the parameters; those of the Simulation unless given.
        controls : array_like, optional
            Inputs (steps + 1, k) at the start and at the end of every step.

        Returns
        -------
        tuple[ndarray, callable]
            Values (k,), and the function of weights (k,) that returns gradients by parameters (np,) and by controls
            (steps + 1, k).

        Raises
        ------
        InputError
            For a step without a derivative; the message has the reason.
        """
        value, by_parameters, by_controls = self.jacobians(parameters, controls)

        def pull_back(weights: Any) -> tuple[Array, Array]:
            w = np.asarray(weights, np.float64).reshape(-1)
            return w @ by_parameters, np.tensordot(w, by_controls, 1)

        return value, pull_back

    def jacobians(self, parameters: Any = None, controls: Any = None) -> tuple[Array, Array, Array]:
        """Return the values of a run and their derivatives.

        Parameters
        ----------
        parameters : array_like, optional
            Values (np,) of the parameters; those of the Simulation unless given.
        controls : array_like, optional
            Inputs (steps + 1, k) at the start and at the end of every step.

        Returns
        -------
        tuple[ndarray, ndarray, ndarray]
            Values (k,), derivatives by parameters (k, np), and by controls (k, steps + 1, c).

        Raises
        ------
        InputError
            For a step without a derivative; the message has the reason.
        """
        with self.lock:
            return self.taken(*self.checked(parameters, controls))

    def taken(self, parameters: Array, controls: Array) -> tuple[Array, Array, Array]:
        """Take a run and differentiate it: see ``jacobians``."""
        sim, values = self.simulation_at(parameters, controls)
        t = np.asarray(self.first.t + self.own.h * np.arange(self.steps + 1), np.float64)
        every, tape, start = prepare(sim, self.all_parameters(sim, t, values))
        taken, cost, readings = self.recorded(sim)
        ((_, record),) = taken.again(backwards=True)
        weights = np.array([cost.split(row) for row in cost.by_channels().toarray()])
        channels, adjoint = self.channels(sim, cost, readings), TimedAdjoint(tape, cost.count)
        entered = not tape.variations.tables or tape.variations.count < REVERSE_FROM * cost.count
        steps = LinearSteps(tape, record, tape.penalties(sim), taken.sizes, by_parameters=entered)
        missed = adjoint.through(steps, channels.pulled_back(record.samples, 0, weights))
        if not missed.size <= MISSED:
            raise InputError(
                f"a step of the run misses the equations that are differentiated by {missed.size:.1g}; take a smaller "
                "step h"
            )
        whole, count = adjoint.ended(start), len(self.names)
        in_time = np.zeros((cost.count, self.steps + 1, len(self.controls)))
        in_time[:, 1:] = np.moveaxis(adjoint.of_step[:, count:], 2, 0)
        in_time[:, 0] = (start.state.T @ adjoint.p + start.lam.T @ adjoint.f[0]).T[:, count:]
        channels.ask_together(every.found)
        for j, one in enumerate(every.found):
            if (explicit := channels.partial_derivative(record.samples, 0, one)) is not None:
                each = np.einsum("ksw,sw->ks", weights, explicit)
                if j < count:
                    whole[:, j] += each.sum(axis=1)
                else:
                    in_time[:, :, j - count] += each
        if not (np.all(np.isfinite(whole)) and np.all(np.isfinite(in_time))):
            raise InputError("a step of the run has a singular matrix, and no derivative; take a smaller step h")
        return cost.value, whole[:, :count], in_time

    def all_parameters(self, sim: Simulation, t: Array, values: Mapping[str, float]) -> SensitivityParameters:
        """Return the parameters, and an input for each of the controls behind them."""
        count, nu = len(self.names) + len(self.controls), len(sim.system.u0)
        inputs, alpha = np.zeros((count, nu)), np.zeros((count, sim.system.m))
        given: tuple[Any, ...] = ()
        tables: tuple[Any, ...] = ()
        timed: tuple[Any, ...] = ()
        if self.by:
            known = self.parameters(self.like(sim), t, values)
            given, size = known.found, len(known.found)
            inputs[:size] = known.variations.inputs
            more = count - size
            tables = tuple(
                (path, np.concatenate((slopes, np.zeros((more, *slopes.shape[1:])))))
                for path, slopes in known.variations.tables
            )
            timed = known.variations.timed
        found = [SensitivityParameter(name, slot=slot) for name, slot in zip(self.controls, self.slots, strict=True)]
        for k, slot in enumerate(self.slots):
            inputs[len(given) + k, slot] = 1.0
        return SensitivityParameters((*given, *found), Variations(count, inputs, alpha, tables, timed))

    def like(self, sim: Simulation) -> Simulation:
        """Return a Simulation whose System has no functions of the controls, as those of ``model`` have none."""
        if not self.controls:
            return sim
        other = copy(sim)
        few = sim.system.signals[: len(sim.system.signals) - len(self.controls)]
        vars(store_of(other)).update(system=replace(sim.system, signals=few))
        return other

    # ---- other libraries --------------------------------------------------------------------------------------------

    def jax(self) -> Callable[[Any, Any], Any]:
        """Return the run as a function of JAX, with a derivative of its own; ``jit`` and ``vmap`` work.

        Returns
        -------
        callable
            Function of parameters (np,) and controls (steps + 1, k) that returns values (k,), in float64.

        Raises
        ------
        InputError
            Where JAX is not installed, or computes in single precision.

        Examples
        --------
        >>> run = rtmbs.differentiable(sim, 1.0, of=cost, controls=["push.force"]).jax()  # doctest: +SKIP
        >>> gradient = jax.jit(jax.grad(lambda u: run(p, u)[0]))(u)  # doctest: +SKIP
        """
        from rtmbs.studies.sensitivities.differentiable import of_jax

        return of_jax(self)

    def torch(self) -> Callable[[Any, Any], Any]:
        """Return the run as a function of PyTorch, with a derivative of its own.

        Returns
        -------
        callable
            Function of tensors of parameters (np,) and controls (steps + 1, k) that returns values (k,), in float64.

        Raises
        ------
        InputError
            Where PyTorch is not installed.

        Examples
        --------
        >>> run = rtmbs.differentiable(sim, 1.0, of=cost, controls=["push.force"]).torch()  # doctest: +SKIP
        >>> run(p, u).sum().backward()  # doctest: +SKIP
        """
        from rtmbs.studies.sensitivities.differentiable import of_torch

        return of_torch(self)

    def __repr__(self) -> str:
        return (
            f"DifferentiableRun({self.own.system.name!r}, {self.steps} steps by {len(self.names)} parameters and "
            f"{len(self.controls)} inputs in time)"
        )


class TimedAdjoint(Adjoint):
    """Gradients of k values that keep those of every step apart."""

    def gradient_of(self, steps: LinearSteps, chunk: Steps) -> tuple[Array, bool]:
        """Return the gradients of the steps of a chunk."""
        if not hasattr(self, "of_step"):
            self.of_step = np.zeros((steps.recorded.steps, *self.gradient.shape))
        return self.of_step[chunk.first : chunk.first + len(chunk.given)], True

    def subtract(self, steps: LinearSteps, chunk: Steps, found: Array) -> None:
        """Subtract H^T w (K, np, k) of a chunk, step by step."""
        own, _ = self.gradient_of(steps, chunk)
        own -= found

    def ended(self, start: FirstChange) -> Array:
        """Return the gradients (k, np), with the effect of parameters on the first state."""
        self.gradient = self.of_step.sum(axis=0)
        return super().ended(start)


def control_slot(sim: Simulation, name: str) -> int:
    """Return the slot of an input in time; InputError for one that is no number that holds."""
    if not isinstance(name, str) or name not in sim.inputs:
        raise unknown_name("input", name, sim.inputs)
    place = sim.inputs._settable(name)
    driven = place.start in sim.inputs._driven or place.start in sim.inputs._constraining
    if place.stop - place.start != 1 or driven or not is_number(sim.inputs[name]):
        raise InputError(f"control {shown(name)} must be an input of one number, as the Input of a force or motor")
    return place.start


def differentiable(
    sim: Simulation,
    t_end: float,
    of: Cost | str | Sequence[str],
    by: Sequence[str] = (),
    *,
    controls: Sequence[str] = (),
    model: Any = None,
    at: Mapping[str, float] | None = None,
) -> DifferentiableRun:
    """Return a run from the present state as a function of parameters and of inputs in time, with exact gradients.

    Parameters
    ----------
    sim : Simulation
        Start of the run, with ``PenaltyTrapezoidal``; it stays as it is.
    t_end : float
        End of the run [s].
    of : callable or str or sequence of str
        Function of the channels, or names of channels whose last values count, as in ``sensitivity``.
    by : sequence of str, optional
        Names of parameters, as in ``sensitivity``: inputs that hold, initial coordinates and rates, states of laws, and
        arguments of ``model``.
    controls : sequence of str, optional
        Names of inputs in time: a value at the start and at the end of every step, straight lines between.
    model : callable, optional
        Function that builds the Model; then ``by`` may name its arguments.
    at : mapping, optional
        Values of its arguments.

    Returns
    -------
    DifferentiableRun
        Function with ``vjp``, ``jax`` and ``torch``.

    Raises
    ------
    UnknownNameError
        For an unknown name.
    InputError
        For what has no derivative; the message has the reason.

    Examples
    --------
    >>> run = rtmbs.differentiable(sim, 1.0, of=["pivot.angle"], controls=["push.force"])  # doctest: +SKIP
    >>> value, pull_back = run.vjp(None, np.zeros((run.steps + 1, 1)))  # doctest: +SKIP
    """
    if isinstance(by, str) or isinstance(controls, str) or not (by or controls):
        raise InputError("differentiable needs lists of names: by=['spring.stiffness'], controls=['push.force']")
    names = [*by, *controls]
    if twice := [one for one in controls if names.count(one) > 1]:
        raise InputError(f"control {shown(twice[0])} is named twice; an input holds, or follows its values in time")
    return DifferentiableRun(sim, t_end, of, by, controls, model, at)
