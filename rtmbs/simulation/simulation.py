"""Simulation: a System in motion. Steps call the method, then the observers that are due."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from rtmbs.core.bounds import BEYOND
from rtmbs.core.names import Keyed, StrictAttributes
from rtmbs.core.notebook import folded_html, number_text, title_html
from rtmbs.errors import InputError, shown, warn, with_count
from rtmbs.integrators.checks import step_size, switches
from rtmbs.integrators.contract import Method
from rtmbs.integrators.penalty_trapezoidal import PenaltyTrapezoidal
from rtmbs.integrators.report import StepReport
from rtmbs.integrators.settings import KEPT_WHOLE, PASSED, Chunk, chunk_from, first, take_row
from rtmbs.jit.compile_progress import announced
from rtmbs.methods import Capability, capabilities_of, demand
from rtmbs.results.reactions import reaction
from rtmbs.results.result import Result
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.sources import make_source
from rtmbs.semirecursive.start.prepare import StartReport, prepare
from rtmbs.simulation.access import LOOK, STEP, Claim, guarded
from rtmbs.simulation.channel_reader import ChannelReader
from rtmbs.simulation.inputs import Controller, Controllers, Inputs, controller_of
from rtmbs.simulation.jumps import fill_timed_rows, mean_inputs
from rtmbs.simulation.observers.observer import Observer, Schedule
from rtmbs.simulation.options import Options
from rtmbs.simulation.renewed_forces import renew_contacts, warn_of_overlaps
from rtmbs.simulation.running import check_run, recorded_run
from rtmbs.simulation.state_store import CALM, NO_RAMPS, StateStore
from rtmbs.simulation.step_checks import (
    FastStates,
    HalfTurns,
    fast_states_of,
    half_turns_of,
)
from rtmbs.simulation.stiff_forces import StiffForces, stiff_forces_of
from rtmbs.state import State, copied, state_pair
from rtmbs.system.input_slots import evaluate_signals
from rtmbs.system.recorded_laws import CapturedValues, captured_values_of, check_captured
from rtmbs.system.system import System, warning_text

Array = NDArray[np.float64]

RUN_ONLY = "rigid contacts change within steps, and sim.run finds where; sim.step must be sim.run(sim.t + sim.h)"
NO_SIZES = np.zeros(0)
WARM_UP_STEPS = 3  # steps that never count, before the first one

if TYPE_CHECKING:
    from rtmbs.simulation.passing import PassingBodies


class Simulation(Keyed, StrictAttributes):
    """Simulation of a System: steps it in time by a method.

    Parameters
    ----------
    system : System
        Mechanism that ``Model.compile`` returned.
    h : float, default 5e-3
        Step [s].
    method : Method, optional
        Object with options of its own, ``PenaltyTrapezoidal()`` unless given; see ``rtmbs.methods``.
    jacobian : str, default "structured"
        Source of the stiffness and damping matrices K and C. "structured" is the closed form. The others are
        "finite-difference", "central-difference", "finite-difference-page", "complex-step",
        "autograd" (reverse mode), "autograd-forward" (the mode of the paper) and "trace".
    assembly_offset : bool, default False
        Measure inconsistent redundant closures from the pose as it is (METHODS 1.13).
    threads : int, default 1
        Largest number of threads in ``run``. Parts of the mechanism that share nothing but ground are dealt out to them
        in groups, each with a Newton iteration of its own. Connected parts stay on one thread. More than one is for
        methods with the capability THREADS, as the default.
    t0 : float, default 0.0
        Time of the start [s], at which functions of time and drivers are asked.

    Attributes
    ----------
    inputs : Inputs
        Parameters, motor signals and wrenches by name, which may be set between steps.
    start_report : StartReport
        Report of the consistent start.

    Raises
    ------
    InputError
        For an option out of range, and for a function of time that is not finite at the start.
    UnknownNameError
        For a ``jacobian`` that does not exist.
    ModelError
        For a massless body that nothing holds.
    StartError
        When no consistent start exists.

    Examples
    --------
    >>> system = rtmbs.library.build("pendulum").compile()
    >>> sim = rtmbs.Simulation(system, h=1e-3, method=rtmbs.PenaltyTrapezoidal(penalty=1e7))
    >>> sim.run(2.0)["pivot.angle"].shape
    (2001,)
    """

    _remedy = "; sim.change({name}=...) changes options of a Simulation and of its method"

    inputs: Inputs
    start_report: StartReport
    _store: StateStore
    _claim: Claim  # that of the store
    _reader: ChannelReader | None  # of channels by name, made when it is first asked for
    _captured: CapturedValues | None  # what recorded laws read beside their arguments
    _half_turns: HalfTurns | None  # of bushings
    _fast_states: FastStates | None  # of force laws
    _stiff_forces: StiffForces | None
    _passing: "PassingBodies | None"  # through each other, of contacts
    _controllers: Controllers | None
    _plain: bool  # no function of time, no friction that follows its joint

    def __init__(
        self,
        system: System,
        h: float = 5e-3,
        method: Method | None = None,
        *,
        jacobian: str = "structured",
        assembly_offset: bool = False,
        threads: int = 1,
        t0: float = 0.0,
    ) -> None:
        if not isinstance(system, System):
            raise InputError(
                f"a Simulation takes a compiled System, not {shown(system)}; write Simulation(model.compile(), ...)"
            )
        check_captured(system)
        step_size(h)
        if isinstance(t0, bool) or not isinstance(t0, int | float | np.number) or not abs(t0) <= BEYOND:
            raise InputError(f"t0 is {shown(t0)}; it must be a time in seconds")
        switches(assembly_offset=assembly_offset)
        options = Options(PenaltyTrapezoidal() if method is None else method, jacobian, threads)
        if system.states:
            demand(options.method, Capability.FORCE_STATES, f"model {system.name!r} with states of force laws")
        equations = SemiRecursiveEquations(system, make_source(jacobian, system))
        equations.threads = int(threads)
        evaluate_signals(system, float(t0), equations.u)
        if bad := equations.not_finite_inputs():
            raise InputError(f"{', '.join(bad)}: not finite at t = {t0:g}; it must return finite numbers")
        with announced():
            start = prepare(equations, h, options.method, assembly_offset)
        memory = options.method.remember(equations, h)
        arrays, u = start.arrays, equations.u.copy()
        state = State(
            system.fingerprint, float(t0), 0, float(h), *arrays[:4], arrays.R0, u, memory, arrays.s, arrays.sd
        )  # fmt: skip
        options.method.begin(equations, state)
        store = StateStore(equations, options, state)
        remember_system(system)
        vars(self).update(
            _store=store, _claim=store._claim, _reader=None, inputs=Inputs(system, store), start_report=start.report,
            _captured=captured_values_of(system), _half_turns=half_turns_of(system, equations.tables),
            _fast_states=fast_states_of(system, equations.tables),
            _stiff_forces=None, _passing=None, _controllers=None,
            _plain=not (system.signals or system.bearings),
        )  # fmt: skip
        self._warm_up()  # steps that never count tell nothing, so the check comes behind them
        self._watch()
        warn_of_overlaps(self)
        store.watched = not system.rigid

    def _watch(self) -> None:
        """Begin the checks of what steps of h do not resolve."""
        system, tables = self._store.system, self._store.equations.tables
        vars(self).update(_stiff_forces=stiff_forces_of(system, tables))
        if len(tables.laws.frame_a):
            from rtmbs.simulation.passing import passing_bodies_of  # contacts are laws, and most Systems have none

            vars(self).update(_passing=passing_bodies_of(system, tables))
        if self._fast_states is not None:
            self._warn_of_fast_states()

    def _warm_up(self) -> None:
        """Take a few steps that never count, so that the first real one is no slower than others.

        They load the kernel, measure the clock and touch the memory. Only the fused step, and functions of time keep
        their values: nothing asks a function of the user.
        """
        store = self._store
        method = store.options.method
        if Capability.WARM_UP not in capabilities_of(method) or not method.takes_many(store.equations):
            return
        start = store.states[0].copy()
        steps = WARM_UP_STEPS if StateStore.by_hand_loaded else CALM + 1  # the last loads the kernel of steps by hand
        with announced():
            for _ in range(steps):  # the first one loads the kernel, which drives all else out of the caches
                plain = not store.system.signals
                report = Simulation.step(self) if plain else store.advance(*store.states)
                if report.dense or not report.outcome.accepted:
                    break
        store.states, store.compiled = state_pair(start), True

    def _warn_of_fast_states(self) -> None:
        """Warn of states of force laws that are too fast for the step, each once."""
        if self._fast_states is not None:
            for one in self._fast_states.look(self.state):
                warn(str(one))

    def _warn_of_stiff_forces(self, old: State, zd: Array, zdd: Array) -> None:
        """Warn of coordinates whose accelerations (k, n) steps from ``old`` do not resolve, each once."""
        assert self._stiff_forces is not None
        started = self._store.started
        if not self._stiff_forces.suspects(old.h, old.zd, started, zd, zdd):
            return
        method, rates = type(self._store.options.method).__name__, np.concatenate((old.zd[None], zd))
        for one in self._stiff_forces.look(old.h, rates, np.concatenate((started[None], zdd)), method):
            warn(str(one))

    def _warn_of_passing(self, old: State, z: Array, zd: Array, R0: Array, u: Array) -> None:
        """Warn of bodies that pass through each other in steps from ``old`` that end with z, zd (k, n), each once."""
        if self._passing is not None:
            for one in self._passing.look(old, z, zd, R0, u):
                warn(str(one))

    # ---- stepping ---------------------------------------------------------------------------------------------------

    @guarded(STEP)
    def step(self) -> StepReport:
        """Take one step.

        A step that fails does not raise. It leaves the state byte for byte as it was, as an exception in it does.

        Returns
        -------
        StepReport
            Counts and sizes of the step; ``report.outcome.accepted`` is True when the state was advanced.

        Raises
        ------
        StateError
            For arrays, positions or a time written into ``state`` that no step can begin from.
        BusyError
            While another thread steps the Simulation, and in a function of the user that a step calls.

        Examples
        --------
        >>> sim = rtmbs.Simulation(rtmbs.library.build("pendulum").compile(), h=1e-3)
        >>> report = sim.step()
        >>> report.outcome.name, sim.t
        ('CONVERGED', 0.001)
        """
        if self._captured is not None:
            self._captured.step()
        store = self._store
        if not store.watched:
            raise InputError(RUN_ONLY)
        if self._controllers is not None:
            self._controllers.act(self)
            self._controllers.check_inside(store.states[0])
        if store.renewed:
            renew_contacts(store)
        if self._plain and self._half_turns is None:
            stiff_forces = self._stiff_forces
            stepped = store.step_by_hand(NO_SIZES if stiff_forces is None else stiff_forces.system.typical)
            if stepped is not None:
                new, old = store.states
                if self._passing is not None:
                    self._warn_of_passing(old, new.z[None], new.zd[None], new.R0[None], new.u[None])
                if stepped[1]:
                    self._warn_of_stiff_forces(old, new.zd[None], new.zdd[None])
                return stepped[0]
        old, new = store.begin_step()
        if store.ramps:
            store.reach_ramps(new.u)
        across = None
        if (system := store.system).signals:
            evaluate_signals(system, new.t, new.u)
            if store.options.method.averages_inputs:
                across = mean_inputs(system, old.t, old.h, old.u, new.u)
            if across is not None:
                after, new.u = new.u, across
        report = store.advance(old, new)
        if self._half_turns is not None and report.outcome.accepted:
            report = self._half_turns.checked(report, old, new)
        if report.outcome.accepted:
            if across is not None:
                if store.loads is not None:
                    after[store.loads.slots] = new.u[store.loads.slots]
                new.u = after
                store.solve_accelerations(new)
            vars(store).update(states=(new, old), ramps=NO_RAMPS, begun=None)
            if self._stiff_forces is not None and across is None:
                self._warn_of_stiff_forces(old, new.zd[None], new.zdd[None])
            self._warn_of_passing(old, new.z[None], new.zd[None], new.R0[None], new.u[None])
        return report

    @guarded(STEP, "run")
    def _take_chunk(self, chunk: Chunk, passed: Any = 0.0, whole: bool = False) -> tuple[int, bool]:
        """Take a step for every row in one kernel call, byte for byte as ``step`` would; for ``run``.

        ``passed`` (k,): nobody looks at the end of the step, so a method may leave out rates and accelerations.
        Returns (steps taken, whether the next one is for ``step``). It stops before a step that fails, before one
        across a jump of a function of time, and early after a while, unless ``whole``: further calls then take the
        rest. Functions of time are asked ahead.
        """
        store = self._store
        old, new = store.begin_step()
        if store.begun is not None or old.before is not None:
            return 0, True
        store.started = old.zdd
        checked = self._half_turns is not None or self._stiff_forces is not None
        chunk.stats[:, PASSED] = KEPT_WHOLE if self._half_turns is not None else 0.0 if checked else passed
        chunk.u[:] = old.u
        store.reach_ramps(chunk.u)
        if store.system.signals:
            chunk = first(chunk, fill_timed_rows(store.system, old, chunk.u))
            if not len(chunk.u):
                return 0, True
        with nullcontext() if store.compiled else announced():
            store.check_arrays(old)
            done, failed = advance_many(store, old, chunk, whole)
        store.compiled = True
        if self._half_turns is not None and done:
            good = self._half_turns.good(old, chunk, done)
            done, failed = good, failed or good < done
        if done:
            new.t_ref, new.k, new.h = old.t_ref, old.k + done, old.h
            new.u[:] = chunk.u[done - 1]
            take_row(new, chunk, done - 1)
            store.equations.u = new.u
            vars(store).update(states=(new, old), ramps=NO_RAMPS)
            if self._stiff_forces is not None:
                self._warn_of_stiff_forces(old, chunk.zd[:done], chunk.zdd[:done])
            self._warn_of_passing(old, chunk.z[:done], chunk.zd[:done], chunk.R0[:done], chunk.u[:done])
        return done, failed

    @guarded(STEP, nests=True)
    def run(
        self,
        t_end: float,
        *,
        observers: Iterable[Observer] = (),
        progress: bool = False,
        on_failure: str = "halve",
        at_most: int = 6,
        record: Schedule | None = None,
        channels: Sequence[str] | None = None,
        file: str | Path | None = None,
        tolerance: float | None = None,
        when: Any = None,
        until: Callable[["Simulation"], bool] | None = None,
        most_steps: int = 1_000_000,
    ) -> Result:
        """Step to ``t_end`` and return the record of the run.

        A step that fails after all its tries is taken in 2, 4, ... parts, and the run goes on with h.
        ``Result.warnings`` counts such steps. An exception that ends a run early, StepError and KeyboardInterrupt
        alike, carries the Result so far as ``result``. Its last sample is the state of the Simulation, and another
        ``run`` goes on from there.

        With ``tolerance`` the steps are chosen. The errors that they add to a coordinate, estimated, sum up to the
        tolerance at ``t_end`` in typical sizes (1 rad; characteristic length), METHODS 1.34. Where they grow in the
        motion, the run begins anew with smaller steps, or ends with an InputError when it was observed. Penalties and
        Newton matrix follow the step, projections follow the tolerance, and h of the Simulation stays for later. The
        Result has ``steps`` and ``events``. No step turns a body or moves a coordinate by more than 1.5 typical sizes:
        the estimate is blind to whole turns.

        Parameters
        ----------
        t_end : float
            End of the run [s], a whole number of steps away unless there is a ``tolerance``.
        observers : iterable of Observer, optional
            Observers that look between steps.
        progress : bool, default False
            Show a bar.
        on_failure : str, default "halve"
            "halve" takes a step that fails in parts. "raise" ends the run there.
        at_most : int, default 6
            Number of halvings of a step that fails, 0 to 20.
        record : Schedule, optional
            Steps that are recorded; every step unless given. With a tolerance, ``Every(dt)`` and ``At(times)`` read
            dense output at just these times.
        channels : sequence of str, optional
            Names of the channels that are recorded; all unless given. Not with a tolerance.
        file : str or Path, optional
            File (.h5, .csv) that is written in blocks while the run goes on, see ``rtmbs.ChannelRecorder``. Memory
            stays small, and a kill loses one block at most. Not with a tolerance.
        tolerance : float, optional
            Largest error at ``t_end`` in typical sizes; steps of h unless given.
        when : callable, Event or list of them, optional
            Function of an ``Instant`` or an Event, or several of them. The change of its sign stops the run, or calls
            an action. With steps of h the step is taken anew from its beginning up to the event, and the run goes on
            to the next multiple of h: the time of the event has the order of the method. ``Result.events`` has them.
        until : callable, optional
            Function of the Simulation. The run ends with the first step at whose end it returns True. Not with a
            tolerance.
        most_steps : int, default 1_000_000
            Largest number of steps that a run with a tolerance tries. A run that needs more ends early with an
            InputError that says why.

        Returns
        -------
        Result
            Channels of every step, or of the steps that ``record`` chooses.

        Raises
        ------
        InputError
            When ``t_end`` is no whole number of steps away or the record does not fit into the memory. Also for
            options, a tolerance or an event out of range, and for an event function that raises or returns no number.
            An event that never happens is no error: ``Result.warnings`` counts it.
        UnknownNameError
            For a channel that does not exist.
        StepError
            When a step fails for good.
        EventError
            For events without end, as ever smaller bounces.
        ResultError
            When the disk is full.
        BusyError
            While another thread steps the Simulation.

        Examples
        --------
        >>> sim = rtmbs.Simulation(rtmbs.library.build("pendulum").compile(), h=1e-3)
        >>> result = sim.run(10.0, until=lambda sim: sim["P.position"][0] > 0.0)
        >>> result = sim.run(sim.t + 2.0, record=rtmbs.Every(0.01), channels=["pivot.angle"])
        >>> result = sim.run(sim.t + 2.0, tolerance=1e-6, record=rtmbs.Every(0.01), when=lambda s: s["P.position"][0])
        >>> [event.t == sim.t for event in result.events]
        [True]
        >>> result = sim.run(sim.t + 2.0, when=lambda s: s["P.position"][0])
        >>> sim.t == result.events[0].t
        True
        """
        check_run(progress, on_failure, at_most, most_steps, record, until)
        check_captured(self._store.system)
        if tolerance is not None:
            if channels is not None or file is not None:
                raise InputError(
                    "channels and file go with steps of h; with a tolerance, take record=Every(dt) and save the result"
                )
            if until is not None:
                raise InputError("until looks at steps of h; with a tolerance write when=, which finds the exact time")
            from rtmbs.simulation.controlled import run_with_tolerance  # scipy.optimize takes long to load

            parts = at_most * (on_failure == "halve")
            return run_with_tolerance(self, t_end, tolerance, when, record, observers, parts, progress, most_steps)
        events, controllers = None, self._controllers
        located = when is not None or self._store.system.rigid
        if located or (controllers is not None and not controllers.on_grid(self._store.present())):
            from rtmbs.simulation.running import EventRun  # as above

            events = EventRun(self, when, on_failure, at_most)
        try:
            recorder = recorded_run(
                self, t_end, observers, progress, on_failure, at_most, record, channels, file, until, events
            )  # fmt: skip
        finally:
            self._store.watched = not self._store.system.rigid
        self._warn_of_fast_states()
        return recorder.result()

    # ---- the present state ------------------------------------------------------------------------------------------

    @property
    def state(self) -> State:
        """The present State; it is overwritten two steps on, so ``state.copy()`` keeps it.

        The next step, and the next channel that is read, notice positions and rates that are written into it: a balance
        of energy begins anew, and the accelerations follow. Positions that open a loop are taken back, and raise
        StateError: ``set`` moves the rest as well. ``restore`` takes a state that was changed by hand, and looks at all
        of it.
        """
        return self._store.state

    def snapshot(self, take: Callable[[State], Any] = copied) -> Any:
        """Return a copy of the present State, for a caller who keeps that of every step.

        The State itself is not given out, so the next step need not look for changes in it. Such a look takes longer
        than a copy.

        Parameters
        ----------
        take : callable, optional
            Function that copies a State left by a step, without checks. A State that was given out before is copied by
            ``State.copy``.

        Returns
        -------
        State
            Copy of the present State, or the return value of ``take``.

        Raises
        ------
        BusyError
            In a function of the user that a step calls.
        """
        return self._store.snapshot(take)

    @property
    def t(self) -> float:
        """Time [s]."""
        return self._store.states[0].t

    @property
    def h(self) -> float:
        """Step [s]."""
        return self._store.states[0].h

    @h.setter
    def h(self, h: float) -> None:
        self._store.set_step(h)

    @guarded(LOOK)
    def keys(self) -> list[str]:
        """Return the names of all channels: those of a Result."""
        return list(self._channels().sources(self._store.settled()))

    @guarded(LOOK, "[...]")
    def __getitem__(self, name: Any) -> Any:
        """Return a channel of the present state, a number or an array: ``sim["tip.position"]``.

        A pattern of ``fnmatch`` or a list of names gives a dict by name: ``sim["tip.*"]``. Names, axes and
        units are those of a Result. Only the channel itself is worked out. An angle of a cut joint is between -pi and
        pi: a single state does not tell its turns. Raises UnknownNameError.
        """
        state = self._store.settled()
        self._store.notice(state)
        return self._channels().value(name, state)

    @guarded(LOOK)
    def read(self, names: Sequence[str]) -> Array:
        """Return numbers of several channels of the present state, one after the other.

        The list is prepared at the first call. Coordinates of joints, and positions, velocities, accelerations and
        orientations of bodies and markers are then read in one kernel call. Other channels take as long as
        ``sim[name]``.

        Parameters
        ----------
        names : Sequence[str]
            Names of channels.

        Returns
        -------
        ndarray
            Numbers (k,) of the channels, in their units; a channel with components gives all of them.

        Raises
        ------
        UnknownNameError
            For a channel that does not exist.
        InputError
            For an argument that is no list of names.

        Examples
        --------
        >>> sim = rtmbs.Simulation(rtmbs.library.build("pendulum").compile(), h=1e-3)
        >>> angle, x, y, z = sim.read(["pivot.angle", "P.position"])
        """
        state = self._store.settled()
        self._store.notice(state)
        return self._channels().values(names, state)

    def _channels(self) -> ChannelReader:
        """Return the reader of channels of the present System."""
        store = self._store
        if self._reader is None or self._reader.tables is not store.equations.tables:
            reader = ChannelReader(store.system, store.equations.tables, store.equations.shapes)
            vars(self)["_reader"] = reader
            return reader
        return self._reader

    @guarded(LOOK)
    def reaction(self, joint: str) -> Array:
        """Return the wrench of the first body of a joint on the second, at the joint point of the second.

        Parameters
        ----------
        joint : str
            Name of a joint, a rod, or a constraint between two frames.

        Returns
        -------
        ndarray
            Force and moment [fx, fy, fz, nx, ny, nz] (6,), world axes [N, N m].

        Raises
        ------
        UnknownNameError
            For a joint that does not exist.

        Examples
        --------
        >>> sim = rtmbs.Simulation(rtmbs.library.build("pendulum").compile(), h=1e-3)
        >>> sim.reaction("pivot").shape
        (6,)
        """
        return reaction(self._store.equations, self._store.settled(), joint)

    # ---- changes between steps --------------------------------------------------------------------------------------

    def set(self, name: str, value: float, *, consistent: str = "nearest") -> None:
        """Set a joint coordinate, a rate, or the switch of a lock, at the present time.

        The other coordinates and rates become the nearest ones that close the loops, and the accelerations follow.
        Positions stay when a rate is set. A failure changes nothing. An impact is a rate set by an impulse: momenta
        that an internal impulse keeps stay. ``sim.set("LOCK.locked", True)`` closes a lock of ``Model.add_lock`` in its
        present pose by an impulse, and False opens it (METHODS 8.5).

        Parameters
        ----------
        name : str
            Name of the coordinate or rate, such as "crank.angle" or "crank.rate", or "LOCK.locked".
        value : float
            Value [rad or m, rad/s or m/s]; True or False for a lock.
        consistent : {"nearest", "impulse"}, default "nearest"
            Change of the other rates: the least one that closes the loops, or that of an impulse along the coordinate
            through the mass matrix (METHODS 8.4).

        Raises
        ------
        UnknownNameError
            For a coordinate that does not exist.
        InputError
            For a coordinate that is driven or of a cut joint, and for a value that is no finite number or many turns
            away.
        StartError
            Where the loops do not close.

        Examples
        --------
        >>> sim = rtmbs.Simulation(rtmbs.library.build("pendulum").compile(), h=1e-3)
        >>> sim.set("pivot.angle", 1.0)
        >>> sim["pivot.angle"]
        1.0
        """
        self._store.set(name, value, consistent)

    def apply_impulse(self, target: str, impulse: Any = None, *, point: Any = None, moment: Any = None) -> None:
        """Change the rates by an impulse at the present time, through the mass matrix and the loops (METHODS 8.4).

        Positions stay, accelerations follow. A failure changes nothing.

        Parameters
        ----------
        target : str
            Name of a body, or of a joint coordinate such as "elbow.angle".
        impulse : array_like, optional
            On a body: impulse (3,) in world axes [N s]. On a coordinate: one number [N m s or N s].
        point : array_like, optional
            Point (3,) of the body that it acts at, in body axes [m]; the mass centre unless given.
        moment : array_like, optional
            Angular impulse (3,) on a body, world axes [N m s].

        Raises
        ------
        UnknownNameError
            For a body or coordinate that does not exist.
        InputError
            For a body that does not move, a coordinate of a cut joint, and vectors of another shape.
        StartError
            For a coordinate without inertia.

        Examples
        --------
        >>> sim = rtmbs.Simulation(rtmbs.library.build("pendulum").compile(), h=1e-3)
        >>> sim.apply_impulse("pivot.angle", 0.5)
        """
        self._store.apply_impulse(target, impulse, point, moment)

    def change(self, **options: Any) -> None:
        """Change options between steps.

        Time, positions and rates stay. The next step is that of a Simulation made with these options that goes on from
        the same State. ``penalty`` takes the place of ``alpha`` and the reverse, and the penalty factors of the State
        follow.

        Parameters
        ----------
        **options : object
            ``method``, ``jacobian`` and ``threads``, and the options of the method by their names.

        Raises
        ------
        InputError
            For an option that is not valid; then nothing has changed.
        UnknownNameError
            For an option that does not exist; then nothing has changed.

        Examples
        --------
        >>> sim = rtmbs.Simulation(rtmbs.library.build("pendulum").compile(), h=1e-3)
        >>> sim.change(jacobian="trace", max_iterations=4)
        >>> sim.method.max_iterations
        4
        """
        self._store.change(**options)

    def attach(self, force: str, body: str, point: Any = (0.0, 0.0, 0.0)) -> None:
        """Let a force law that acts on one body act on another body from now on.

        Accelerations follow at once, as with an input. A State does not carry the attachment: attach again before a
        State of that time is restored. A run that is being recorded refuses it.

        Parameters
        ----------
        force : str
            Name of a force law on one body.
        body : str
            Name of the body that it acts on from now on.
        point : array_like, default (0.0, 0.0, 0.0)
            Point of action (3,) in body axes [m].

        Raises
        ------
        UnknownNameError
            For a force or a body that does not exist.
        InputError
            For a force that is no law on one body, and for ground.
        """
        self._store.attach(force, body, point)

    def restore(self, state: State | str | Path) -> None:
        """Go on from a State, or from a state file.

        Parameters
        ----------
        state : State, str or Path
            State, which is copied, or the file of a State.

        Raises
        ------
        StateError
            When the Simulation cannot go on from it, as from that of another model.

        Examples
        --------
        >>> sim = rtmbs.Simulation(rtmbs.library.build("pendulum").compile(), h=1e-3)
        >>> start = sim.state.copy()
        >>> result = sim.run(1.0)
        >>> sim.restore(start)
        >>> sim.t
        0.0
        """
        self._store.restore(state)
        if self._controllers is not None:
            self._controllers.go_back(self.t)

    def add_controller(
        self,
        controller: Any,
        period: float | None = None,
        *,
        delay: float = 0.0,
        channels: Sequence[str] = (),
        inputs: Sequence[str] = (),
        name: str = "",
    ) -> Controller:
        """Let a sampled controller set inputs from now on, each held until the next sample (zero-order hold).

        Samples are taken at the present time and every ``period`` after it, where a step begins: a Result shows the
        inputs before the sample of its time. Steps end at samples and effects, so order, tolerance and events stay. A
        restored State forgets later samples.

        Parameters
        ----------
        controller : callable or state space
            Function of the Simulation that returns a dict of numbers by input, and keeps nothing from call to call. Or
            a state space of python-control or scipy.signal with A, B, C, D and ``dt``; a continuous one is sampled by
            zero-order hold.
        period : float, optional
            Time from sample to sample [s]; that of a discrete state space unless given.
        delay : float, default 0.0
            Time from a sample to its effect [s], also longer than the period.
        channels : sequence of str, optional
            Channels that a state space reads, in the order of its inputs.
        inputs : sequence of str, optional
            Inputs of the Simulation that a state space sets, in the order of its outputs.
        name : str, optional
            Name in messages.

        Returns
        -------
        Controller
            Samples so far.

        Raises
        ------
        InputError
            For times out of range and for a state space that does not fit.
        UnknownNameError
            For a channel or an input that does not exist.

        Examples
        --------
        >>> model = rtmbs.library.build("pendulum")
        >>> motor = model.add_force("motor", rtmbs.Motor(rtmbs.Input()), joint="pivot")
        >>> sim = rtmbs.Simulation(model.compile(), h=1e-3)
        >>> def damp(sim):
        ...     return {"motor.torque": -0.5 * sim["pivot.rate"]}
        >>> controller = sim.add_controller(damp, period=2e-3, delay=1e-3)
        >>> result = sim.run(1.0)
        """
        made = controller_of(self, controller, period, delay, channels, inputs, name)
        present = [] if self._controllers is None else self._controllers.all
        vars(self)["_controllers"] = Controllers([*present, made])
        return made

    # ---- parts ------------------------------------------------------------------------------------------------------

    @property
    def system(self) -> System:
        """The compiled mechanism."""
        return self._store.system

    @property
    def equations(self) -> SemiRecursiveEquations:
        """The equations of motion, with scratch of their own."""
        return self._store.equations

    @property
    def method(self) -> Method:
        """The method of time integration, with its options."""
        return self._store.options.method

    def __repr__(self) -> str:
        state, system = self._store.states[0], self._store.system
        sizes = f"{with_count(system.n, 'coordinate')}, {with_count(system.m, 'loop equation')}"
        warnings = warning_text(system) + "".join(f"; warning: {one}" for one in self._warnings())
        return (
            f"Simulation({system.name!r}, t = {state.t:g} s, h = {state.h:g} s, method={options_text(self.method)}: "
            f"{sizes}{warnings})"
        )

    def _repr_html_(self) -> str:
        """Return the coordinates and the inputs of the present state as tables for notebooks."""
        state, system = self._store.states[0], self._store.system
        values = zip(system.coordinate_names, state.z, state.zd, strict=True)
        coordinates = [(name, number_text(z), number_text(zd)) for name, z, zd in values]
        inputs = [(name, number_text(state.u[place])) for name, place in system.inputs.items()]
        tables = folded_html("coordinates", ("coordinate", "value [rad, m]", "rate [rad/s, m/s]"), coordinates)
        return f"{title_html(repr(self))}\n{tables}\n{folded_html('inputs', ('input', 'value'), inputs)}"

    def _warnings(self) -> dict[str, int]:
        """Return warnings that a run repeats in ``Result.warnings``: forces too stiff, states of laws too fast."""
        checks = (self._fast_states, self._stiff_forces, self._passing)
        return {str(one): 1 for check in checks if check for one in check.found.values()}

    # ---- copies -----------------------------------------------------------------------------------------------------

    def _twin(self) -> Self:
        """Return a Simulation at the same state that shares the equations: one of the two steps at a time.

        It has no controllers: its steps are parts of one that begins and ends with held inputs.
        """
        twin = self._on(self._store.twin())
        vars(twin)["_controllers"] = None
        return twin

    def _on(self, store: StateStore) -> Self:
        """Return a Simulation with another store, and otherwise the attributes of this one."""
        other = object.__new__(type(self))
        parts = {"_store": store, "_claim": store._claim, "inputs": self.inputs._of(store)}
        vars(other).update(self.__getstate__(), **parts)
        if self._controllers is not None:
            vars(other)["_controllers"] = self._controllers.copy()
        return other

    def __copy__(self) -> Self:
        """Return a Simulation at the same state with equations of its own, for another thread."""
        return self._on(self._store.independent())

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes for pickle, and for copies: the reader of channels is made anew on first use."""
        return {**vars(self), "_reader": None}


def store_of(sim: Simulation) -> StateStore:
    """Return the states of a Simulation with their equations and options, for code that moves them."""
    return sim._store


def drag(sim: Simulation, body: str, point: Any, target: Any) -> float:
    """Move a body by one of its points to a place, kinematically: loops stay closed, time stands still.

    The pose is the one near the present pose in which the point comes nearest to the place. Rates become zero, but
    for those that drivers give. A failure changes nothing.

    Parameters
    ----------
    sim : Simulation
        Simulation that is changed.
    body : str
        Name of the body.
    point : array_like
        Point (3,) in body axes [m].
    target : array_like
        Place (3,) in world axes [m].

    Returns
    -------
    float
        Distance of the point from the place [m]; larger than zero where the mechanism does not reach it.

    Raises
    ------
    UnknownNameError
        For a body that does not exist.
    InputError
        For ground, and for a point that is no three numbers.
    StartError
        Where the loops are open at the present pose.

    Examples
    --------
    >>> sim = rtmbs.Simulation(rtmbs.library.build("pendulum").compile(), h=1e-3)
    >>> round(drag(sim, "bob", (0, 0, 0), (5, 0, 0)), 6) >= 0.0
    True
    """
    return store_of(sim).drag(body, point, target)


def thread_groups(sim: Simulation) -> tuple[tuple[str, ...], ...]:
    """Return names of the coordinates that advance together, a tuple a thread of ``run``.

    There is one group only when ``threads`` is 1, when everything hangs together, and when a step asks Python: for a
    function of time, a called law, another source of K and C, or a step that is not fused.
    """
    equations, system = store_of(sim).equations, sim.system
    groups = sim.method.groups(equations)
    coordinates = [range(system.n)] if groups is None else groups.coordinates
    names = system.coordinate_names
    return tuple(tuple(names[i] for i in group) for group in coordinates)


def options_text(method: Any) -> str:
    """Return a method with the options that differ from their defaults: ``PenaltyTrapezoidal(penalty=1e7)``."""
    if not is_dataclass(method):
        return repr(method)
    given = [(one.name, getattr(method, one.name)) for one in fields(method) if one.repr and one.init]
    usual = {one.name: repr(one.default) for one in fields(method)}
    changed = [f"{name}={value!r}" for name, value in given if repr(value) != usual[name]]
    return f"{type(method).__name__}({', '.join(changed)})"


SYSTEMS: "WeakValueDictionary[str, System]" = WeakValueDictionary()  # forgotten with their last owner


def remember_system(system: System) -> None:
    """Register a System for as long as it lives."""
    SYSTEMS[system.fingerprint] = system


def system_of(state: State) -> System | None:
    """Return a living System that the State belongs to; None when there is none."""
    return SYSTEMS.get(state.fingerprint)


def advance_many(store: StateStore, old: State, chunk: Chunk, whole: bool) -> tuple[int, bool]:
    """Take a step for every row in one kernel call; (accepted steps, whether the next one is for ``advance``).

    A call ends early when it takes long. With ``whole`` others take the rest, so the clock does not count the rows.
    """
    method = store.options.method
    done, failed = method.advance_many(store.equations, store.work, old, chunk)
    for _ in range(len(chunk.stats) if whole else 0):
        if failed or not 0 < done < len(chunk.stats):
            break
        before = copied(old)
        take_row(before, chunk, done - 1)
        before.k, before.u[:] = old.k + done, chunk.u[done - 1]
        more, failed = method.advance_many(store.equations, store.work, before, chunk_from(chunk, done))
        done += more
    return done, failed
