"""Simulation: a System in motion. Steps call the integrator, then the observers that are due."""

import copy
from collections.abc import Iterable
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, StartError, StepError, shown
from rtmbs.integrators.registry import TRAPEZOIDAL
from rtmbs.integrators.report import StepReport
from rtmbs.integrators.settings import Rows, StateArrays
from rtmbs.integrators.tries import MOST_TRIES
from rtmbs.jit.compiling import announced
from rtmbs.model.checks import as_floats
from rtmbs.observers.base import Observer
from rtmbs.observers.recorder import Recorder
from rtmbs.observers.schedule import Schedule
from rtmbs.results.reactions import reaction
from rtmbs.results.result import Result
from rtmbs.semirecursive.balance import OWN
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.sources import make_source
from rtmbs.simulation.failures import in_parts, step_error
from rtmbs.simulation.inputs import Inputs, evaluate_signals, not_finite_inputs
from rtmbs.simulation.jumps import mean_inputs
from rtmbs.simulation.one_thread import one_thread
from rtmbs.simulation.options import MOST_HALVINGS, Options, one_of, step_size, switches, whole
from rtmbs.simulation.running import run, steps_between
from rtmbs.simulation.stepper import Stepper, arrays_of, out_of_range
from rtmbs.start.accelerations import first_accelerations
from rtmbs.start.checks import check_closed
from rtmbs.start.penalty import penalty_factors
from rtmbs.start.prepare import prepare
from rtmbs.start.report import StartReport
from rtmbs.state import State, check_time
from rtmbs.system.attach import attached
from rtmbs.system.system import System
from rtmbs.system.tables import ROTATION
from rtmbs.topology import Topology

Array = NDArray[np.float64]

SAME_ENERGY = 1e-9  # relative difference of a state's energy that is rounding
REHEARSALS = 3  # steps that never count, before the first one


class Simulation:
    """Steps a System with the implicit trapezoidal rule, position penalties and projections.

    Parameters
    ----------
    system : what ``Model.compile`` returned
    h : step [s]
    penalty : dimensionless c of METHODS 1.6, 1e6 unless given; alpha_l = c (4/h^2) m_l for each closure block
    alpha : one penalty in SI units for all, as in the paper, in place of ``penalty``
    tol : tolerance of the increment in typical sizes (1 rad; characteristic length), METHODS 1.11
    jacobian : source of K and C, see ``semirecursive.sources``
    tangent_terms : "paper", "inertia", "lagged" or "exact", METHODS 5
    max_iterations, fixed_iterations : bound of Newton's iteration, or always exactly so many (2 are usual): the same
        work in every step; one that they do not finish is taken and answers UNFINISHED
    refactor : when the Newton matrix is made anew: "every-iteration", "every-step" (again only when the iteration
        hardly contracts), or "adaptive": once a step while corrections are small and the iteration contracts well
    projection_weight : "tangent" (the Newton matrix) or "mass"
    project_velocities, project_accelerations : switch a projection off, to see what it does
    hold_energy : scale the rates of loops after each step so that their energy balances (METHODS 1.7); needs projected
        velocities, and leaves the rule alone beside ``alpha``. Loops with drivers, functions of time, force laws or
        dampers between bodies are left alone
    shim : measure inconsistent redundant closures from the pose as it is (METHODS 1.13)
    integrator : a name of ``integrators.registry``
    fused : one compiled kernel a step (False: the readable step, for comparison)
    threads : at most so many threads in ``run``. Parts of the mechanism that share nothing but ground are dealt out to
        them as ``groups``, each with a Newton iteration of its own; what hangs together stays on one thread
    tries : at most so many further tries of a step whose Newton iteration fails, damped and from other starts (METHODS
        1.11); 0 for none. Steps that need none cost nothing. Fixed iterations spend only their own number

    Raises InputError for an option out of range, ModelError for a massless body that nothing holds, StartError when
    no consistent start exists.
    """

    def __init__(
        self,
        system: System,
        h: float = 5e-3,
        *,
        penalty: float | None = None,
        alpha: float | None = None,
        tol: float = 1e-9,
        jacobian: str = "structured",
        tangent_terms: str = "inertia",
        max_iterations: int = 8,
        fixed_iterations: bool = False,
        refactor: str = "adaptive",
        projection_weight: str = "tangent",
        project_velocities: bool = True,
        project_accelerations: bool = True,
        hold_energy: bool = True,
        shim: bool = False,
        integrator: str = TRAPEZOIDAL,
        fused: bool = True,
        threads: int = 1,
        tries: int = MOST_TRIES,
    ) -> None:
        if not isinstance(system, System):
            raise InputError(
                f"a Simulation takes a compiled System, not {shown(system)}; write Simulation(model.compile(), ...)"
            )
        step_size(h)
        switches(shim=shim)
        self._inside: int | None = None  # the thread that is in a guarded method
        self.options = Options(
            penalty, alpha, tol, tangent_terms, max_iterations, fixed_iterations, refactor, projection_weight,
            project_velocities, project_accelerations, hold_energy, integrator, jacobian, fused, threads, tries,
        )  # fmt: skip
        self.system = system
        self.equations = SemiRecursiveEquations(system, make_source(jacobian, system))
        evaluate_signals(system, 0.0, self.equations.u)
        if bad := not_finite_inputs(system, self.equations.u):
            raise InputError(f"{', '.join(bad)}: not finite at t = 0; it must return finite numbers")
        with announced():
            self._start = prepare(self.equations, h, self.penalty, alpha, shim)
        self.start_report: StartReport = self._start.report
        arrays, u = self._start.arrays, self.equations.u.copy()
        state = State(
            system.fingerprint, 0.0, 0, float(h), *arrays[:4], self.equations.alpha.copy(), arrays.R0, u, arrays.energy
        )
        self._stepper = self._make_stepper(self.options, self.equations, state)
        self._states = (state, state.copy())  # the one that counts, and the one the next step writes
        self._settled = True
        self._shown: tuple[object, ...] | None = None  # the motion that somebody saw since the last step
        self.inputs = Inputs(system, self)
        self._stepped = False
        self._rehearse()

    def _rehearse(self) -> None:
        """Take a few steps that never count, so that the first real one is no slower than others.

        They load the kernel, measure the clock and touch the memory. Only the fused step, and functions of time keep
        their values: nothing asks a function of the user.
        """
        if not self._stepper.fused:
            return
        start = self._states[0].copy()
        with announced():
            for _ in range(REHEARSALS):  # the first one loads the kernel, which drives all else out of the caches
                plain = not self.system.signals
                report = Simulation.step(self) if plain else self._stepper.advance(*self._states)
                if report.dense or not report.outcome.good:
                    break
        self._states, self._stepped = (start, start.copy()), True

    # ---- state -----------------------------------------------------------------------------------------------------

    @property
    def state(self) -> State:
        """The state that counts; it is overwritten two steps on, so ``state.copy()`` keeps it.

        The next step notices positions and rates that are written into it, for the balance of energy alone: loops and
        accelerations stay as they are. ``restore`` takes a state that was changed by hand, and looks at all of it.
        """
        state = self._present()
        if self._shown is None:
            self._shown = state.motion()
        return state

    def _present(self) -> State:
        """Return the state that counts, its accelerations those of its inputs."""
        if not self._settled:
            self._settle()
        return self._states[0]

    def _start_of_step(self) -> State:
        """Return the state that the next step begins from, its balance begun anew where somebody changed its pose."""
        state = self._present()
        if self._shown is not None:
            if self._shown != state.motion():
                state.tidy(self._stepper.shapes)
                self._hold_energy_of(state)
            self._shown = None
        check_time(state, "this state")
        return state

    def read_input(self, place: slice) -> Array:
        """Return the numbers of one input of the state that counts."""
        return self._states[0].u[place]

    @one_thread
    def write_input(self, place: slice, numbers: Array) -> None:
        """Change one input of the state that counts; its accelerations follow before anybody sees them."""
        u = self._states[0].u
        if not np.array_equal(u[place], numbers):
            self._settled = False  # first: an interrupt in between costs a solution, not the order of a step
            u[place] = numbers

    @one_thread
    def attach(self, force: str, body: str, point: Any = (0.0, 0.0, 0.0)) -> None:
        """Let a force law that acts on one body act on ``body`` at ``point`` (3,) in body axes [m] from now on.

        Accelerations follow at once, as with an input. A State does not carry the attachment: attach again before a
        State of that time is restored. A run that is being recorded refuses it.
        Raises UnknownNameError, and InputError for a force that is no law on one body, and for ground.
        """
        try:
            place = as_floats(point)
        except ValueError:
            place = np.zeros(0)
        if place.shape != (3,) or not np.all(np.isfinite(place)):
            raise InputError(f"point is {shown(point)}; it must be three numbers in body axes")
        system = attached(self.system, force, body, place)
        equations = copy.copy(self.equations)
        equations.replace_system(system)
        equations.source = make_source(self.jacobian, system)
        stepper = self._stepper.like(equations, self._stepper.settings)
        vars(self).update(system=system, equations=equations, _stepper=stepper, _settled=False)

    @one_thread
    def _settle(self) -> None:
        """Solve for the accelerations and multipliers that belong to changed inputs: positions and rates stay.

        Forces may jump with an input; a step that began with the accelerations of the old forces would average the two
        and lose an order of accuracy. Inputs too large for that leave them as they are: the step will say NOT_FINITE.
        """
        self._solve_accelerations(self._states[0])
        self._settled = True

    def _solve_accelerations(self, state: State) -> None:
        """Solve for the accelerations and multipliers of ``state``, in place."""
        self.equations.u = state.u
        with np.errstate(over="ignore", invalid="ignore"):
            self._count_inputs(state)
        with np.errstate(over="ignore", invalid="ignore"), suppress(StartError):
            zdd, lam = first_accelerations(self.equations, state.z, state.zd, state.R0, self._start.masses)
            if np.all(np.isfinite(zdd)) and np.all(np.isfinite(lam)):
                state.zdd[:], state.lam[:] = zdd, lam

    def _count_inputs(self, state: State) -> None:
        """Let balances go on with the potentials of changed inputs; what the path has beyond zd stays."""
        found, _ = self.equations.component_energies(state.z, state.zd, state.R0)
        if np.all(np.isfinite(found)):
            begun = np.any(state.energy != 0.0, axis=1)
            state.energy[begun] += (found - state.energy[:, OWN])[begun, None]

    @property
    def topology(self) -> Topology:
        """The printable tree and cuts, with degrees of freedom and redundant closures by numerical rank."""
        report, system, spare = self.start_report, self.system, set(self.start_report.redundant)
        closures = [
            closure for name, closure in zip(system.row_names, system.closure_of_row, strict=True) if name in spare
        ]
        return replace(
            system.topology,
            degrees_of_freedom=report.degrees_of_freedom,
            rank=report.rank,
            redundant=tuple(dict.fromkeys(system.closure_names[closure] for closure in closures if closure >= 0)),
        )

    @property
    def t(self) -> float:
        """Time [s]."""
        return self.state.t

    @property
    def h(self) -> float:
        """Step [s]."""
        return self.state.h

    @h.setter
    @one_thread
    def h(self, h: float) -> None:
        step_size(h)
        state = self.state.copy()
        state.t_ref, state.k, state.h = state.t, 0, float(h)
        state.alpha[:] = self._penalty_factors(h, self.options)
        self.restore(state)

    @property
    def penalty(self) -> float | None:
        """Dimensionless penalty; None beside an alpha."""
        return self.options.c

    @property
    def fixed_alpha(self) -> float | None:
        """Penalty in SI units for all rows; None beside a dimensionless one."""
        return self.options.alpha

    @property
    def jacobian(self) -> str:
        """Name of the source of K and C."""
        return self.options.jacobian

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Names of the coordinates that advance together, a tuple a thread of ``run``.

        There is one group only when ``threads`` is 1, when everything hangs together, and when a step asks Python:
        for a function of time, a called law, another source of K and C, or a step that is not fused.
        """
        names = self.system.coordinate_names
        return tuple(tuple(names[i] for i in group) for group in self._stepper.coordinates)

    @one_thread
    def change(self, **options: Any) -> None:
        """Change options between steps: ``sim.change(jacobian="trace", max_iterations=4)``.

        Takes the options of the constructor but ``h`` (set ``sim.h``) and ``shim``. Time, positions and rates stay; the
        next step is that of a Simulation made with these options that goes on from the same State. ``penalty`` takes
        the place of ``alpha`` and the reverse, and the penalty factors of the State follow.
        Raises InputError or UnknownNameError for an option that is not valid; then nothing has changed.
        """
        old, wanted = self.options, self.options.changed(options)
        state, equations = self.state.copy(), self.equations
        if not isinstance(wanted.jacobian, str) or wanted.jacobian != old.jacobian:
            equations = copy.copy(equations)
            equations.source = make_source(wanted.jacobian, self.system)
        if (wanted.c, wanted.alpha) != (old.c, old.alpha):
            state.alpha[:] = self._penalty_factors(state.h, wanted)
        stepper = self._make_stepper(wanted, equations, state)
        stepper.keep_groups(self._stepper)
        states = (state, state.copy())
        vars(self).update(options=wanted, equations=equations, _stepper=stepper, _states=states, _stepped=False)

    def _penalty_factors(self, h: float, options: Options) -> Array:
        """Return alpha (m,) for steps of ``h``."""
        return penalty_factors(self.system, self._start.masses, h, options.c, options.alpha)

    def _make_stepper(self, options: Options, equations: SemiRecursiveEquations, state: State) -> Stepper:
        """Return what takes steps from ``state`` with these options."""
        settings = options.settings(self.system, state.h, state.alpha, self._start.masses)
        return Stepper(equations, settings, options.fused, options.integrator, options.threads)

    @one_thread
    def restore(self, state: State | str | Path) -> None:
        """Go on from a State, or from a state file; StateError when it cannot, as that of another model."""
        what = "this state" if isinstance(state, State) else f"state file {str(state)!r}"
        taken = state.copy() if isinstance(state, State) else State.load(state)
        what = f"{what} for model {self.system.name!r}"
        taken.check_fit(self.state, what)
        settings = self.options.settings(self.system, taken.h, taken.alpha, self._start.masses)
        check_closed(self.equations, taken, settings, what)
        if np.any(taken.z[self.system.tables.steps.kind == ROTATION]):
            self.equations.commit(arrays_of(taken))  # a step begins with these at zero
        self._hold_energy_of(taken)
        stepper = self._stepper.like(self.equations, settings)  # some follow from h and alpha, which the State brings
        vars(self).update(_stepper=stepper, _states=(taken, taken.copy()), _settled=True)

    # Several attributes that must agree change by one call of ``update``: an interrupt comes before it or after it.

    def _hold_energy_of(self, taken: State) -> None:
        """Let another balance begin where positions or rates of a state were changed by hand."""
        self.equations.u = taken.u
        with np.errstate(all="ignore"):  # numbers out of range are the step's business
            found, size = self.equations.component_energies(taken.z, taken.zd, taken.R0)
            if np.any(np.abs(found - taken.energy[:, OWN]) > SAME_ENERGY * size):
                taken.energy[:] = 0.0

    def twin(self) -> Self:
        """Return a Simulation at the same state that steps by itself; they share equations: one of them at a time."""
        other, state = copy.copy(self), self.state.copy()
        other._states, other._stepper = (
            (state, state.copy()),
            self._stepper.like(self.equations, self._stepper.settings),
        )
        return other

    def take_over(self, twin: Self) -> None:
        """Go on from the state of a twin, with h and the penalty factors of this Simulation."""
        state = twin.state.copy()
        state.t_ref, state.k, state.h = state.t, 0, self.h
        state.alpha[:] = self.state.alpha
        self._states = (state, state.copy())

    def mark(self) -> tuple[State, State]:
        """Return what ``back_to`` goes back to, as long as one step or one call of ``take_rows`` came in between."""
        return self._states

    def back_to(self, mark: tuple[State, State]) -> None:
        """Take back the steps since ``mark``: they wrote the spare state only."""
        self._states = mark

    # ---- stepping --------------------------------------------------------------------------------------------------

    @one_thread
    def step(self) -> StepReport:
        """Take one step. A step that fails, whatever raised in it, leaves the state byte for byte as it was."""
        old, new = self._start_of_step(), self._states[1]
        new.t_ref, new.k, new.h = old.t_ref, old.k + 1, old.h
        self._take_inputs(old, new)
        evaluate_signals(self.system, new.t, new.u)
        across = mean_inputs(self.system, old.t, old.h, old.u, new.u)
        if across is not None:
            after, new.u = new.u, across
        with nullcontext() if self._stepped else announced():
            report = self._stepper.advance(old, new)
        self._stepped = True
        if report.outcome.good:
            if across is not None:
                new.u = after
                self._solve_accelerations(new)
            self._states = (new, old)
        return report

    def _take_inputs(self, old: State, new: State) -> None:
        """Copy inputs and penalty factors; StateError when something else was written into the live State."""
        try:
            new.u[:], new.alpha[:] = old.u, old.alpha
        except (TypeError, ValueError):
            old.tidy(self._stepper.shapes)  # says what they must be
            raise

    @property
    def takes_rows(self) -> bool:
        """True when many steps fit in one kernel call: the fused step, and no function of time to ask in between."""
        return self._stepper.fused and not self.system.signals

    @one_thread
    def take_rows(self, rows: Rows) -> tuple[int, bool]:
        """Take a step for every row in one kernel call, byte for byte as ``step`` would; for ``run``.

        Returns (steps taken, whether the next one failed). It stops early after a while, and before a step that fails:
        ``step`` then says why.
        """
        old, new = self._start_of_step(), self._states[1]
        self._take_inputs(old, new)
        rows.u[:] = old.u
        with nullcontext() if self._stepped else announced():
            done, failed = self._stepper.fill(old, rows)
        self._stepped = True
        if done:
            new.t_ref, new.k, new.h = old.t_ref, old.k + done, old.h
            new.u[:], new.alpha[:] = old.u, old.alpha
            for name in StateArrays._fields:
                getattr(new, name)[:] = getattr(rows, name)[done - 1]
            self._states = (new, old)
        return done, failed

    @one_thread
    def run(
        self,
        t_end: float,
        *,
        observers: Iterable[Observer] = (),
        progress: bool = False,
        on_failure: str = "halve",
        at_most: int = 6,
        record: Schedule | None = None,
    ) -> Result:
        """Step to ``t_end`` [s] and return what was recorded: every step, or those that ``record`` says.

        A step that fails after all its tries is taken in 2, 4, ... parts, ``at_most`` times, and the run goes on with
        h; ``Result.warnings`` counts such steps. With ``on_failure="raise"`` it ends the run.
        Raises InputError when t_end is no whole number of steps away or the record does not fit, StepError when a step
        fails for good. Whatever ends a run early, StepError and KeyboardInterrupt alike, carries the Result so far as
        ``result``: its last sample is the state of the Simulation, and another ``run`` goes on from there.
        """
        switches(progress=progress)
        one_of("on_failure", on_failure, ("raise", "halve"))
        whole("at_most", at_most, 0, MOST_HALVINGS)
        if not (record is None or isinstance(record, Schedule)):
            raise InputError(f"record is {shown(record)}; it must be a schedule such as rtmbs.Every(0.1)")
        recorder, watching = Recorder(record), observers_of(observers)
        self.state.tidy(self._stepper.shapes)
        try:
            run(self, self.steps_to(t_end), recorder, watching, progress, on_failure, at_most)
        except BaseException as error:
            if recorder.count and not isinstance(error, InputError):
                error.result = recorder.result()  # type: ignore[attr-defined]
            raise
        return recorder.result()

    def steps_to(self, t_end: float) -> int:
        """Return the whole number of steps to ``t_end``; InputError names the nearest h otherwise."""
        check_time(self.state, "this state")
        return steps_between(self.t, t_end, self.h)

    def retry(self, report: StepReport, on_failure: str, at_most: int) -> StepReport:
        """Take the failed step in 2, 4, ... parts when asked and of use; raise the matching error otherwise."""
        state = self.state
        spoilt = not_finite_inputs(self.system, state.u) or out_of_range(self.system, state)
        if on_failure == "raise" or report.hopeless or spoilt:
            raise self.error(report)
        return in_parts(self, report, at_most)

    def error(self, report: StepReport) -> StepError:
        """Return the error that a failed step stands for, with step, time, history and names."""
        return step_error(self.state.k + 1, report)

    @one_thread
    def reaction(self, joint: str) -> Array:
        """Return the wrench [f, n] (6,) of the first body on the second at the joint point, world axes [N, N m]."""
        return reaction(self.equations, self.state, joint)


def observers_of(observers: Any) -> list[Observer]:
    """Return what watches a run as a list; InputError for anything that cannot watch."""
    listed = list(observers) if isinstance(observers, Iterable) and not isinstance(observers, str) else [observers]
    for one in listed:
        if not all(callable(getattr(one, name, None)) for name in ("begin", "observe", "end")):
            raise InputError(
                f"observers hold {shown(one)}; each must be an observer, such as rtmbs.EnergyMeter(), in a list"
            )
    return listed
