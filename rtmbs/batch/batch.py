"""``Batch``: many copies of one mechanism, each with a state, inputs and numbers of its own, stepped together."""

from collections.abc import Mapping, Sequence
from copy import copy as copied
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.batch.copies import (
    NO_LAYOUT,
    OwnLayout,
    Workers,
    as_numbers,
    check_same_structure,
    copies_of,
    inputs_of,
    layout_of,
    merged,
    one_step,
    plan_of,
    room_of,
    state_row,
    with_mass,
    write_row,
)
from rtmbs.batch.kernels import BAD_INPUT, NOT_FOLLOWED, RUNNING, CopyRun, CopyStates
from rtmbs.contact.convex import refuse_convex
from rtmbs.contact.switched import refuse_rigid
from rtmbs.core.bounds import BEYOND
from rtmbs.core.names import StrictAttributes
from rtmbs.errors import InputError, StateError, shown, unknown_name
from rtmbs.integrators.checks import whole
from rtmbs.integrators.contract import Method
from rtmbs.integrators.penalty_trapezoidal import PenaltyTrapezoidal
from rtmbs.integrators.report import TAKEN, Outcome
from rtmbs.integrators.settings import Settings
from rtmbs.methods import Capability, demand
from rtmbs.results.sample_kernels import COORDINATE
from rtmbs.semirecursive.loop_jacobian import loop_jacobian
from rtmbs.semirecursive.machine_code import OUTCOMES
from rtmbs.semirecursive.start.rank import effective_masses
from rtmbs.simulation.jumps import fill_timed_rows
from rtmbs.simulation.set_coordinate import check_settable, close_motion
from rtmbs.simulation.simulation import Simulation, store_of
from rtmbs.simulation.state_store import NO_RAMPS
from rtmbs.state import State, state_pair
from rtmbs.system.contact_tables import refuse_sets
from rtmbs.system.system import BodyInfo, System
from rtmbs.system.tables import Tables

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]

MOST_COPIES = 10_000_000
MOST_THREADS = 256


class Batch(StrictAttributes):
    """Copies of one mechanism, stepped together by compiled code without the interpreter lock.

    Every copy has the bytes of a ``Simulation`` of its own that is given the same inputs before the same steps. A copy
    whose step fails, or whose inputs are not finite, keeps the state before that step, is marked by its Outcome in
    ``outcomes``, and rests until ``reset``. The others do not notice.

    Parameters
    ----------
    system : System or sequence of System
        Mechanism that ``Model.compile`` returned. All copies start where a Simulation of the System starts. Several
        Systems, one for each copy, differ in numbers only: masses, points and lengths, inputs and initial values.
    n : int, optional
        Number of copies; that of the Systems unless given.
    h : float, default 5e-3
        Step [s].
    method : Method, optional
        Method of time integration with the capability BATCH, ``PenaltyTrapezoidal()`` unless given.
    threads : int, default 1
        Number of threads that share the copies. Their number does not change a byte.

    Raises
    ------
    InputError
        For an option out of range, a method without the capability BATCH, a force law that Python calls, a mechanism
        with bushings, and Systems of different mechanisms.

    Examples
    --------
    >>> batch = rtmbs.Batch(rtmbs.library.build("pendulum").compile(), 3, h=1e-3)
    >>> angles = batch.rollout({}, steps=100, channels=["pivot.angle"])
    >>> angles.shape
    (3, 100, 1)
    """

    outcomes: NDArray[np.object_]  # (n,) Outcome of the last step of each copy
    _sim: Simulation  # takes the steps that a kernel does not accept
    _copies: CopyStates
    _k: Integers  # (n,) steps since t = 0
    _stale: Mask  # (n,) accelerations are not those of the inputs yet
    _workers: Workers
    _layout: OwnLayout  # of the numbers that differ between copies
    _settings: tuple[Settings, ...]  # those that copies have, and the number of its own for each
    _settings_of: Integers  # (n,)
    _systems: tuple[System, ...]  # one for all, or one for each
    _starts: tuple[State, ...]  # likewise
    _start: State
    _bodies: dict[int, Mapping[str, BodyInfo]]  # of copies that have masses of their own
    _plans: dict[tuple[str, ...], Any]

    def __init__(
        self,
        system: System | Sequence[System],
        n: int | None = None,
        h: float = 5e-3,
        method: Method | None = None,
        *,
        threads: int = 1,
    ) -> None:
        systems = (system,) if isinstance(system, System) else tuple(system)
        n = len(systems) if n is None else n
        whole("n", n, 1, MOST_COPIES)
        whole("threads", threads, 1, MOST_THREADS)
        if len(systems) not in (1, n):
            raise InputError(f"{len(systems)} Systems were given for {n} copies; give one for all, or one for each")
        demand(PenaltyTrapezoidal() if method is None else method, Capability.BATCH, "rtmbs.Batch")
        sim = Simulation(systems[0], h, method)
        check_batch(sim)
        vars(sim).update(_stiff_forces=None, _passing=None, _fast_states=None)
        store = store_of(sim)
        start = sim.state.copy()
        copies = copies_of(start, int(n), store.equations.m)
        copies.alpha[:], copies.weight[:] = sim.method.loop_weights(store.work, start)
        vars(self).update(
            outcomes=np.full(int(n), Outcome.CONVERGED, object), _sim=sim, _copies=copies,
            _k=np.zeros(int(n), np.int64), _stale=np.zeros(int(n), np.bool_), _start=start, _plans={}, _bodies={},
            _layout=NO_LAYOUT, _settings=(store.work.settings,), _settings_of=np.zeros(int(n), np.int64),
            _systems=systems, _starts=(start,),
            _workers=Workers(store.equations, sim.method.compiled_step, store.work, int(threads)),
        )  # fmt: skip
        if len(systems) > 1:
            self._start_each(systems)

    # ---- steps ------------------------------------------------------------------------------------------------------

    def rollout(
        self,
        inputs: Any,
        names: Sequence[str] | None = None,
        *,
        steps: int | None = None,
        channels: Sequence[str] = (),
        out: Any = None,
    ) -> Array:
        """Take steps with inputs as arrays, and return channels at the end of every step.

        An input takes effect at the beginning of its step and holds, as one that is set by hand does.

        Parameters
        ----------
        inputs : mapping or array_like
            Inputs by name, each (n, steps) or (n, steps, numbers); or one array (n, steps, numbers) of all ``names``,
            one after the other. Arrays of NumPy or with DLPack. One dimension may be 1 where all copies or all steps
            have the same.
        names : sequence of str, optional
            Names of the inputs in one array.
        steps : int, optional
            Number of steps; that of the inputs unless given.
        channels : sequence of str, optional
            Names of channels: coordinates, rates and accelerations of joints in the tree, motions of points of bodies
            and markers.
        out : array, optional
            Array of float64 of the caller, NumPy or DLPack, that the channels are written to.

        Returns
        -------
        ndarray
            Channels (n, steps, numbers), in their units. NaN from the step on in which a copy failed.

        Raises
        ------
        InputError
            For inputs and channels that no kernel takes, and arrays of other shapes.
        UnknownNameError
            For an input or a channel that does not exist.

        Examples
        --------
        >>> batch = rtmbs.Batch(rtmbs.library.build("pendulum").compile(), 2, h=1e-3)
        >>> gravity = np.zeros((2, 50, 3))
        >>> gravity[1] = 0.0, 0.0, -9.81
        >>> batch.rollout({"gravity": gravity}, channels=["pivot.rate"])[0, -1]
        array([0.])
        """
        given, slots = inputs_of(self._sim, self.n, inputs, names, steps)
        plan, points, size = self._plan(tuple(channels))
        written = room_of(out, (self.n, given.shape[1], size))
        run = self._run_of(given, slots, plan, points, written)
        self._advance(run)
        done = np.arange(given.shape[1]) < run.taken[:, None]
        if not done.all():
            written[~done] = np.nan
        return written

    def step(self, inputs: Mapping[str, Any] | None = None) -> Mask:
        """Take one step with inputs by name.

        Parameters
        ----------
        inputs : mapping, optional
            Inputs by name, each one number, (n,) or (n, numbers); others hold.

        Returns
        -------
        ndarray
            Mask (n,) of the copies that took the step.

        Raises
        ------
        InputError
            For an array of another shape.
        UnknownNameError
            For an input that does not exist.

        Examples
        --------
        >>> batch = rtmbs.Batch(rtmbs.library.build("pendulum").compile(), 2, h=1e-3)
        >>> batch.step({"gravity": (0.0, 0.0, -1.62)})
        array([ True,  True])
        """
        rows = {name: one_step(self._sim, self.n, name, value) for name, value in (inputs or {}).items()}
        given, slots = inputs_of(self._sim, self.n, rows, None, 1)
        run = self._run_of(given, slots, *NO_CHANNELS, np.zeros((self.n, 1, 0)))
        self._advance(run)
        return np.asarray(run.taken == 1)

    def _plan(self, channels: tuple[str, ...]) -> tuple[Integers, Array, int]:
        """Return the rows, points and size of a list of channels for the kernel."""
        if channels not in self._plans:
            self._plans[channels] = plan_of(self._sim, self._systems, channels)
        return self._plans[channels]

    def _run_of(self, given: Array, slots: Integers, plan: Integers, points: Array, *rest: Any) -> CopyRun:
        """Return the description of a run for kernels."""
        out, n, steps = rest[-1], self.n, given.shape[1]
        group, timed, slot, held = self._timed_rows(steps)
        moving = bool(np.any(plan[:, 0] != COORDINATE))
        accelerating = bool(np.any(plan[:, 1] == 2))
        counted = "taken", "unread", "followed", "changed", "reason", "ending"
        counts = {name: np.zeros(n, np.int64) for name in counted}
        return CopyRun(
            given=given, slot=slots, timed=timed, timed_slot=slot, group=group, held=held, plan=plan, points=points,
            moving=np.array([int(moving), int(len(points) > 1), int(accelerating)]), out=out,
            known=np.zeros_like(self._copies.u), **counts,
        )  # fmt: skip

    def _timed_rows(self, steps: int) -> tuple[Integers, Array, Integers, Integers]:
        """Return group of each copy, values of functions of time for each group, their slots, and where they hold."""
        system, start = self._sim.system, self._start
        slots = np.array(
            [k for signal in system.signals for k in range(signal.slot, signal.slot + signal.size)], np.int64
        )
        if not len(slots):
            return np.zeros(self.n, np.int64), np.zeros((1, steps, 0)), slots, np.ones((1, steps), np.int64)
        times, first, group = np.unique(self._k, return_index=True, return_inverse=True)
        timed, held = np.zeros((len(times), steps, len(slots))), np.zeros((len(times), steps), np.int64)
        for g, (k, copy) in enumerate(zip(times.tolist(), first.tolist(), strict=True)):
            state = start.copy()
            state.k, state.u[:] = k, start.u
            state.u[slots] = self._copies.u[copy, slots]
            for step in range(steps):  # the values before a step are those behind the one before it, also across jumps
                row = np.repeat(state.u[None], 1, axis=0)
                held[g, step] = fill_timed_rows(system, state, row)
                timed[g, step] = row[0, slots]
                state.k, state.u[:] = state.k + 1, row[0]
        return group.astype(np.int64), timed, slots, held

    def _advance(self, run: CopyRun) -> None:
        """Take the steps of a run: kernels first, and single steps of what they do not accept."""
        self._settle()
        steps, alive = run.given.shape[1], self.alive
        which = np.flatnonzero(alive)
        if self.system.bearings:
            self._take_single_steps(run, which)
            which = which[:0]
        while len(which):
            run.reason[which] = RUNNING
            self._step_kernels(run, which)
            for i in which[run.reason[which] != RUNNING].tolist():
                self._take_over(run, i)
            going = (run.taken[which] < steps) | (run.unread[which] == 1)
            which = which[going & self.alive[which]]
        self._k += run.taken
        stepped = alive & self.alive & (run.taken > 0)  # copies that failed have their outcome, and any code
        for code in np.unique(run.ending[stepped]).tolist():
            self.outcomes[stepped & (run.ending == code)] = OUTCOMES[code]

    def _take_single_steps(self, run: CopyRun, which: Integers) -> None:
        """Take all steps of the copies ``which`` as Simulations do: loads of bearings follow reactions in Python."""
        slots, store = run.slot, store_of(self._sim)
        for k in range(run.given.shape[1]):
            for i in which.tolist():
                row, given = self._copies.u[i], run.given[i, k]
                if not np.all(np.abs(given) <= BEYOND):
                    self.outcomes[i] = Outcome.NOT_FINITE
                    continue
                changed = not np.array_equal(row[slots], given)
                row[slots] = given
                if changed:
                    self._load(i, k)
                    store.solve_accelerations(store.states[0])
                    write_row(self._copies, i, store.states[0])
                self._take_over(run, i)
            which = which[self.alive[which]]
            if len(which) and run.out.shape[2]:
                read = self._reading_of(run.plan, run.points, run.out.shape[2])
                self._step_kernels(read, which)
                run.out[which, k] = read.out[which, 0]
        run.unread[:] = 0

    def _reading_of(self, plan: Integers, points: Array, size: int) -> CopyRun:
        """Return a run that takes no step and reads the channels of all copies."""
        given, out = np.zeros((self.n, 1, 0)), np.zeros((self.n, 1, size))
        read = self._run_of(given, np.zeros(0, np.int64), plan, points, out)
        read.taken[:], read.unread[:] = 1, 1
        return read

    def _step_kernels(self, run: CopyRun, which: Integers) -> None:
        """Let kernels step the copies ``which``, those of the same settings together."""
        for number, settings in enumerate(self._settings):
            mine = which[self._settings_of[which] == number] if len(self._settings) > 1 else which
            if len(mine):
                self._workers.step(settings, self._copies, run, mine)

    def _take_over(self, run: CopyRun, i: int) -> None:
        """Do in Python what stopped the kernel at copy ``i``."""
        reason = run.reason[i]
        if reason == BAD_INPUT:
            self.outcomes[i] = Outcome.NOT_FINITE
        elif reason == NOT_FOLLOWED:
            self._solve_accelerations(i)
            run.followed[i] = 1
        else:
            outcome = self._step_alone(i, int(run.taken[i]), run.known[i] if run.changed[i] else None)
            if outcome in TAKEN:
                run.taken[i] += 1
                run.unread[i] = 1
                run.ending[i] = next(code for code, one in OUTCOMES.items() if one is outcome)
            else:
                self.outcomes[i] = outcome
                self._stale[i] |= bool(run.changed[i])
            run.changed[i] = 0

    def _state_of(self, i: int, ahead: int = 0) -> State:
        """Return a State with the numbers of copy ``i``, ``ahead`` steps into a run."""
        copies, start = self._copies, self._start
        z, zd, zdd, lam, R0, u = (
            values[i].copy() for values in (copies.z, copies.zd, copies.zdd, copies.lam, copies.R0, copies.u)
        )
        memory = {name: values.copy() for name, values in start.memory.items()}
        for name in ("energy", "momentum"):
            if name in memory:
                memory[name][:] = copies.energy[i]
        if "alpha" in memory:
            memory["alpha"][:] = copies.alpha[i]
        return State(
            start.fingerprint, start.t_ref, int(self._k[i]) + ahead, start.h, z, zd, zdd, lam, R0, u, memory,
            copies.s[i].copy(), copies.sd[i].copy(),
        )  # fmt: skip

    def _load(self, i: int, ahead: int = 0, known: Array | None = None) -> None:
        """Let the Simulation of single steps stand where copy ``i`` does; accelerations are of ``known`` inputs."""
        store = store_of(self._sim)
        state = self._state_of(i, ahead)
        if self._layout.fields:
            self._take_system(self._system_of(i), i)
        begun = None if known is None else known.copy()
        vars(store).update(states=state_pair(state), ramps=NO_RAMPS, begun=begun, shown=None, checked=[])
        store.restart_method()

    def _step_alone(self, i: int, ahead: int, known: Array | None) -> Outcome:
        """Take a step of copy ``i`` as a Simulation does, with its further tries; its state stays when that fails."""
        self._load(i, ahead, known)
        report = self._sim.step()
        if report.outcome in TAKEN:
            write_row(self._copies, i, store_of(self._sim).states[0])
        return report.outcome

    def _solve_accelerations(self, i: int) -> None:
        """Solve for accelerations of copy ``i`` that the kernel did not find; they stay where there are none."""
        self._load(i)
        store = store_of(self._sim)
        state, row = store.states[0], state_row(self._copies, i)
        if self.system.bearings:
            store.solve_accelerations(state)
            write_row(self._copies, i, state)
            return
        store.equations.u = state.u
        found = store.accelerations_of(state)
        if found is not None:
            row.zdd[:], row.lam[:], row.sd[:] = found

    def _settle(self) -> None:
        """Let accelerations follow inputs that were set since the last step."""
        which = np.flatnonzero(self._stale)
        if not len(which):
            return
        failed = np.zeros(self.n, np.int64)
        if self.system.bearings:
            failed[which] = 1
        for number, settings in () if self.system.bearings else enumerate(self._settings):
            mine = which[self._settings_of[which] == number]
            self._workers.members[0].follow(settings, self._copies, mine, failed)
        for i in np.flatnonzero(failed).tolist():
            self._solve_accelerations(i)
        self._stale[:] = False

    # ---- numbers of the mechanism of each copy ----------------------------------------------------------------------

    def _start_each(self, systems: Sequence[System]) -> None:
        """Start every copy with a System of its own."""
        starts, numbers = [], []
        for i, system in enumerate(systems):
            check_same_structure(systems[0], system, i)
            store = store_of(Simulation(system, self.h, self.method) if i else self._sim)
            starts.append(store.state.copy())
            starts[-1].fingerprint = self._start.fingerprint
            numbers.append((store.equations.tables, store.work.settings))
            self._copies.alpha[i], self._copies.weight[i] = self.method.loop_weights(store.work, starts[-1])
            write_row(self._copies, i, starts[-1])
        vars(self).update(_starts=tuple(starts))
        self._take_numbers(numbers, layout_of(numbers[0], numbers[1:]))

    def _take_numbers(self, numbers: Sequence[tuple[Tables, Settings]], layout: OwnLayout) -> None:
        """Let tables and settings of every copy be these."""
        own, scalars = np.zeros((self.n, layout.size)), dict[tuple[float, float], int]()
        found, of = [], np.zeros(self.n, np.int64)
        for i, (tables, settings) in enumerate(numbers):
            layout.row(tables, settings, own[i])
            key = settings.reuse_below, settings.held
            if key not in scalars:
                scalars[key] = len(scalars)
                found.append(settings)
            of[i] = scalars[key]
        store, threads = store_of(self._sim), self._workers.threads
        workers = Workers(store.equations, self.method.compiled_step, store.work, threads, layout)
        vars(self).update(
            _copies=self._copies._replace(own=own), _layout=layout, _settings=tuple(found), _settings_of=of,
            _workers=workers,
        )  # fmt: skip

    def _numbers_of(self, i: int) -> tuple[Tables, Settings]:
        """Return tables and settings of copy ``i``."""
        settings = self._settings[self._settings_of[i]]
        return self._layout.looking_at(self._workers.members[0].given, settings, self._copies.own[i])

    def _system_of(self, i: int) -> System:
        """Return the System of copy ``i``."""
        system = self._systems[i if len(self._systems) > 1 else 0]
        return replace(system, tables=self._numbers_of(i)[0]) if self._layout.fields else system

    def _take_system(self, system: System, i: int) -> None:
        """Let the Simulation that takes single steps have the System of copy ``i``."""
        store = store_of(self._sim)
        equations = store.equations
        equations.assembly_offset[:] = system.tables.closures.assembly_offset
        parts = equations.parts  # components are those of the structure, and finding them takes long
        equations.take_tables(system)
        equations._parts = parts
        equations.masses = np.array(self._numbers_of(i)[1].mass)
        vars(store).update(system=system)

    def set_masses(self, body: str, masses: Any, inertia: Any = None, *, copies: Any = None) -> None:
        """Give a body of each copy a mass, and an inertia, of its own; nothing is compiled.

        The copy goes on at its positions and rates, as a Simulation of the changed mechanism that starts there: with
        effective masses, penalty factors and accelerations of its own.

        Parameters
        ----------
        body : str
            Name of the body.
        masses : array_like
            Mass of the body in each of the copies (k,), or one for all [kg].
        inertia : array_like, optional
            Inertia about the mass centre, body axes, (k, 3, 3) or (3, 3) [kg m^2]; unless given, that of the System
            grows with the mass.
        copies : array_like, optional
            Numbers or mask (n,) of the copies; all unless given.

        Raises
        ------
        UnknownNameError
            For a body that does not exist.
        InputError
            For ground, and for numbers that no body has.

        Examples
        --------
        >>> batch = rtmbs.Batch(rtmbs.library.build("pendulum").compile(), 3, h=1e-3)
        >>> batch.set_masses("bob", [1.0, 2.0, 3.0])
        """
        which = self._numbers(copies)
        bodies = self.system.bodies
        if body not in bodies:
            raise unknown_name("body", body, list(bodies)[1:])
        if bodies[body].dof < 0:
            raise InputError(f"body {body!r} does not move; its mass has no effect")
        mass = as_numbers(masses, (len(which),), "masses")
        turned = None if inertia is None else as_numbers(inertia, (len(which), 3, 3), "inertia")
        good = np.all(np.isfinite(mass)) and np.all(mass >= 0.0)
        if not good or not (turned is None or np.all(np.isfinite(turned))):
            raise InputError(f"masses of body {body!r} must be finite numbers from 0 on, and inertias finite")
        self._settle()
        numbers = [self._numbers_of(i) for i in range(self.n)]
        rows = {int(i): place for place, i in enumerate(which)}
        jacobian = loop_jacobian(self._systems[0])
        for i, place in rows.items():
            one = with_mass(self._bodies_of(i)[body], float(mass[place]), None if turned is None else turned[place])
            self._bodies[i] = {**self._bodies_of(i), body: one}
            numbers[i] = self._restarted(i, merged(numbers[i][0], self._bodies[i], one.dof), jacobian)
        self._take_numbers(numbers, layout_of((self._workers.members[0].given, self._settings[0]), numbers))
        self._stale[which] |= bool(self.system.bearings)

    def _bodies_of(self, i: int) -> Mapping[str, BodyInfo]:
        """Return the bodies of copy ``i``."""
        return self._bodies.get(i) or self._systems[i if len(self._systems) > 1 else 0].bodies

    def _restarted(self, i: int, tables: Tables, jacobian: Any) -> tuple[Tables, Settings]:
        """Let copy ``i`` start at its positions and rates with other tables; returns them with its settings."""
        store, method = store_of(self._sim), self.method
        equations, state = store.equations, self._state_of(i)
        self._take_system(replace(self._system_of(i), tables=tables), i)
        equations.u = state.u
        equations.close(state.z, state.R0)
        equations.masses, _ = effective_masses(equations, jacobian)
        equations.alpha = method.penalties(equations, self.h)
        state.memory = method.remember(equations, self.h)
        if (found := store.accelerations_of(state)) is not None:
            state.zdd[:], state.lam[:], state.sd[:] = found
        method.begin(equations, state)
        work = method.start(equations, state)
        self._copies.alpha[i], self._copies.weight[i] = method.loop_weights(work, state)
        write_row(self._copies, i, state)
        return equations.tables, work.settings

    # ---- states -----------------------------------------------------------------------------------------------------

    @property
    def n(self) -> int:
        """Number of copies."""
        return len(self._k)

    @property
    def h(self) -> float:
        """Step [s]."""
        return self._start.h

    @property
    def t(self) -> Array:
        """Times (n,) of the copies [s]."""
        return np.asarray(self._start.t_ref + self._k * self._start.h)

    @property
    def system(self) -> System:
        """The compiled mechanism."""
        return self._sim.system

    @property
    def method(self) -> Method:
        """The method of time integration, with its options."""
        return self._sim.method

    @property
    def alive(self) -> Mask:
        """Mask (n,) of the copies that have not failed since their last reset."""
        return np.array([outcome in TAKEN for outcome in self.outcomes], np.bool_)

    def read(self, channels: Sequence[str]) -> Array:
        """Return channels of the present states.

        Parameters
        ----------
        channels : sequence of str
            Names of channels, as in ``rollout``.

        Returns
        -------
        ndarray
            Numbers (n, k) of the channels, one after the other, in their units.

        Raises
        ------
        InputError
            For a channel that no kernel reads.
        UnknownNameError
            For a channel that does not exist.

        Examples
        --------
        >>> batch = rtmbs.Batch(rtmbs.library.build("pendulum").compile(), 2, h=1e-3)
        >>> batch.read(["pivot.rate"])
        array([[0.],
               [0.]])
        """
        plan, points, size = self._plan(tuple(channels))
        self._settle()
        run, which = self._reading_of(plan, points, size), np.arange(self.n)
        while len(which):
            self._step_kernels(run, which)
            which = which[run.unread[which] == 1]
        return np.asarray(run.out[:, 0])

    def state(self, copy: int) -> State:
        """Return a copy of the State of one copy of the mechanism.

        Parameters
        ----------
        copy : int
            Number of the copy.

        Returns
        -------
        State
            State that ``Simulation.restore`` takes.

        Raises
        ------
        InputError
            For a number that no copy has.
        """
        whole("copy", copy, 0, self.n - 1)
        self._settle()
        return self._state_of(int(copy))

    def simulation(self, copy: int) -> Simulation:
        """Return a Simulation that stands where one copy does, for all of its channels and functions.

        Parameters
        ----------
        copy : int
            Number of the copy.

        Returns
        -------
        Simulation
            Simulation of its own; the copy does not notice what it does.

        Raises
        ------
        InputError
            For a number that no copy has.

        Examples
        --------
        >>> batch = rtmbs.Batch(rtmbs.library.build("pendulum").compile(), 2, h=1e-3)
        >>> batch.simulation(1).reaction("pivot").shape
        (6,)
        """
        self.state(copy)
        self._load(int(copy))
        return copied(self._sim)

    def reset(self, copies: Any = None, states: Any = None, values: Mapping[str, Any] | None = None) -> None:
        """Let copies go on from given states, or from their start, with some coordinates and rates of their own.

        Parameters
        ----------
        copies : array_like, optional
            Numbers or mask (n,) of the copies; all unless given.
        states : State or sequence of State, optional
            State for all of these copies, or one for each; the start of the System unless given.
        values : mapping, optional
            Coordinates and rates of joints in the tree by name, such as random ones, each one number or (k,) for k
            copies [rad or m, rad/s or m/s]. The others become the nearest ones that close the loops.

        Raises
        ------
        InputError
            For numbers that no copy has, and a coordinate that is driven or of a cut joint.
        UnknownNameError
            For a coordinate that does not exist.
        StateError
            For a State of another mechanism or method.
        StartError
            Where the loops do not close; then no copy has changed.

        Examples
        --------
        >>> batch = rtmbs.Batch(rtmbs.library.build("pendulum").compile(), 2, h=1e-3)
        >>> batch.step()
        array([ True,  True])
        >>> batch.reset([1])
        >>> batch.t
        array([0.001, 0.   ])
        """
        which = self._numbers(copies)
        if states is None:
            states = [self._starts[i] for i in which] if len(self._starts) > 1 else self._start
        given = [states] if isinstance(states, State) else list(states)
        if len(given) not in (1, len(which)):
            raise InputError(
                f"states has {len(given)} States for {len(which)} copies; give one for each, or one for all"
            )
        prepared = [self._prepared(state, int(i)) for i, state in zip(which, given, strict=False)]
        own = self._closed(which, prepared, values or {})
        for place, i in enumerate(which.tolist()):
            state = prepared[place if len(prepared) > 1 else 0]
            write_row(self._copies, i, state)
            self._k[i] = state.k
        if own is not None:
            self._copies.z[which], self._copies.zd[which] = own
            self._copies.energy[which] = 0.0
        self.outcomes[which] = Outcome.CONVERGED
        pushed = [one.before is not None for one in prepared]
        self._stale[which] = np.array(pushed) | (own is not None) | bool(self._bodies)

    def _closed(
        self, which: Integers, states: Sequence[State], values: Mapping[str, Any]
    ) -> tuple[Array, Array] | None:
        """Return positions and rates (k, n) with some values, nearest to those of ``states``; None without values."""
        if not values or not len(which):
            return None
        equations, given = store_of(self._sim).equations, []
        for name, value in values.items():
            numbers = as_numbers(value, (len(which),), f"{name!r}")
            dof, order = check_settable(equations, name, numbers[0])
            if not np.all(np.isfinite(numbers)):
                raise InputError(f"{name!r} holds a number that is not finite")
            given.append((order, dof, numbers))
        z, zd = (np.array([getattr(one, name) for one in states]) for name in ("z", "zd"))
        z, zd = (np.ascontiguousarray(np.broadcast_to(one, (len(which), equations.n))).copy() for one in (z, zd))
        pinned = np.zeros((2, equations.n), np.bool_)
        for order, dof, numbers in given:
            (zd if order else z)[:, dof], pinned[order, dof] = numbers, True
        if equations.m:
            for place, i in enumerate(which.tolist()):
                state = states[place if len(states) > 1 else 0]
                if self._layout.fields:
                    self._take_system(self._system_of(i), i)
                close_motion(equations, state, z[place], zd[place], pinned)
        return z, zd

    def _prepared(self, state: State, i: int) -> State:
        """Return a State that copy ``i`` can start from; StateError for one of another mechanism, step or method."""
        if any(state is one for one in self._starts[:1]) or state is self._starts[i if len(self._starts) > 1 else 0]:
            return state
        if self._layout.fields:
            self._take_system(self._system_of(i), i)
        if not isinstance(state, State):
            raise InputError(
                f"states holds {shown(state)}; it must hold States, as Batch.state and sim.state give them"
            )
        if state.h != self._start.h or state.t_ref != self._start.t_ref:
            raise StateError(
                f"this state has h = {state.h!r} s and t_ref = {state.t_ref!r} s; copies of a Batch have h = "
                f"{self._start.h!r} s and count steps from t_ref = {self._start.t_ref!r} s"
            )
        self._sim.restore(state)
        return store_of(self._sim).states[0].copy()

    def _numbers(self, copies: Any) -> Integers:
        """Return the numbers of some copies; InputError for others."""
        if copies is None:
            return np.arange(self.n)
        numbers = np.atleast_1d(np.asarray(copies))
        if numbers.dtype == np.bool_ and numbers.shape == (self.n,):
            return np.flatnonzero(numbers)
        good = numbers.ndim == 1 and (numbers.dtype.kind in "iu" or not numbers.size)
        if not good or np.any((numbers < 0) | (numbers >= self.n)):
            raise InputError(
                f"copies is {shown(copies)}; it must hold numbers from 0 to {self.n - 1}, or a mask ({self.n},)"
            )
        return numbers.astype(np.int64)

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        failed = self.n - int(np.count_nonzero(self.alive))
        return f"Batch({self.system.name!r}, {self.n} copies, h = {self.h:g} s: {failed} failed)"


NO_CHANNELS = np.zeros((0, 4), np.int64), np.zeros((1, 0, 3))


def check_batch(sim: Simulation) -> None:
    """Refuse a mechanism that no kernel steps in copies: InputError."""
    system = sim.system
    refuse_rigid(system.rigid, "rtmbs.Batch")
    refuse_convex(system.forces, "rtmbs.Batch")
    refuse_sets(system, "rtmbs.Batch")
    if system.called:
        names = ", ".join(repr(law.name) for law in system.called)
        raise InputError(f"rtmbs.Batch: force laws {names} are called in Python; write them so that they are recorded")
    if len(system.tables.forces.bushings.connector):
        raise InputError("rtmbs.Batch: half turns of bushings are watched in Python; take a Simulation, or springs")
    if not sim.method.takes_many(sim.equations):
        raise InputError(f"rtmbs.Batch takes compiled steps; {uncompiled_reason(sim)}")


def uncompiled_reason(sim: Simulation) -> str:
    """Return why the method has no compiled step for this mechanism."""
    method, kind = sim.method, type(sim.method).__name__
    if not getattr(method, "fused", True):
        return f"{kind} has fused=False"
    if sim.equations.m:
        return f"{kind} has one for mechanisms without loops and drivers; take PenaltyTrapezoidal"
    return f"{kind} has none for functions of time, which its stages ask Python for; give them as inputs"
