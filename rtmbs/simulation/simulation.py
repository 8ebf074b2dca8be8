"""Simulation: a System in motion. Steps call the method, then the observers that are due."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, ResultError, StepError, shown, warn
from rtmbs.integrators.checks import one_of, step_size, switches, whole
from rtmbs.integrators.chunks import first, take_row
from rtmbs.integrators.method import Method
from rtmbs.integrators.penalty_trapezoidal import PenaltyTrapezoidal
from rtmbs.integrators.report import StepReport
from rtmbs.integrators.settings import Chunk
from rtmbs.jit.compile_progress import announced
from rtmbs.observers.base import Observer
from rtmbs.observers.channel_recorder import ChannelRecorder
from rtmbs.observers.recorder import Recorder
from rtmbs.observers.schedule import Schedule
from rtmbs.results.reactions import reaction
from rtmbs.results.result import Result
from rtmbs.semirecursive.diagnosis import out_of_range
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.sources import make_source
from rtmbs.simulation.failures import in_parts, step_error
from rtmbs.simulation.fast_states import fast_states_of
from rtmbs.simulation.half_turns import HalfTurns, half_turns_of
from rtmbs.simulation.input_holder import NO_GOALS
from rtmbs.simulation.inputs import Inputs
from rtmbs.simulation.jumps import mean_inputs
from rtmbs.simulation.known import know
from rtmbs.simulation.live_state import pair
from rtmbs.simulation.one_thread import ASKED, LOOK, NOTHING, STEP, guarded, visited
from rtmbs.simulation.options import MOST_HALVINGS, Options
from rtmbs.simulation.outside import Watch, check_outside, watch_of
from rtmbs.simulation.progress import TimeBar
from rtmbs.simulation.running import check_end, observers_of, run, steps_between
from rtmbs.simulation.state_holder import StateHolder
from rtmbs.simulation.timed_rows import fill_timed_rows
from rtmbs.start.prepare import prepare
from rtmbs.start.report import StartReport
from rtmbs.state import State, check_time
from rtmbs.system.input_slots import evaluate_signals, not_finite_inputs
from rtmbs.system.system import System

Array = NDArray[np.float64]

NO_FACTORS = np.zeros(0)  # penalty factors of a method that has none
MOST_TRIED = 2**31  # steps of a run with a tolerance: what it keeps of each of them needs memory
WARM_UP_STEPS = 3  # steps that never count, before the first one


class Simulation(StateHolder):
    """Steps a System in time by a method.

    Parameters
    ----------
    system : what ``Model.compile`` returned
    h : step [s]
    method : an object with options of its own: ``PenaltyTrapezoidal()`` unless given, see also ``rtmbs.METHODS``
    jacobian : source of K and C, see ``semirecursive.sources``
    assembly_offset : measure inconsistent redundant closures from the pose as it is (METHODS 1.13)
    threads : at most so many threads in ``run``. Parts of the mechanism that share nothing but ground are dealt out to
        them as ``groups``, each with a Newton iteration of its own; what hangs together stays on one thread

        Simulation(model.compile(), h=1e-3, method=rtmbs.PenaltyTrapezoidal(penalty=1e7)).run(2.0)

    Raises InputError for an option out of range, ModelError for a massless body that nothing holds, StartError when
    no consistent start exists.
    """

    _watch: Watch | None  # over what recorded laws read beside their arguments
    _half_turns: HalfTurns | None  # over bushings

    def __init__(
        self,
        system: System,
        h: float = 5e-3,
        method: Method | None = None,
        *,
        jacobian: str = "structured",
        assembly_offset: bool = False,
        threads: int = 1,
    ) -> None:
        if not isinstance(system, System):
            raise InputError(
                f"a Simulation takes a compiled System, not {shown(system)}; write Simulation(model.compile(), ...)"
            )
        check_outside(system)
        step_size(h)
        switches(assembly_offset=assembly_offset)
        self._inside: Any = None  # who is in a guarded method
        self.options = Options(PenaltyTrapezoidal() if method is None else method, jacobian, threads)
        self.system = system
        equations = self.equations = SemiRecursiveEquations(system, make_source(jacobian, system))
        equations.threads = int(threads)
        evaluate_signals(system, 0.0, equations.u)
        if bad := equations.not_finite_inputs():
            raise InputError(f"{', '.join(bad)}: not finite at t = 0; it must return finite numbers")
        with announced():
            start = prepare(equations, h, self.method, assembly_offset)
        self.start_report: StartReport = start.report
        memory = self.method.remember(equations, h)
        self._memory = {name: values.shape for name, values in memory.items()}
        arrays, u = start.arrays, equations.u.copy()
        state = State(
            system.fingerprint, 0.0, 0, float(h), *arrays[:4], arrays.R0, u, memory, arrays.s, arrays.sd
        )  # fmt: skip
        self.method.begin(equations, state)
        self._work = self.method.start(equations, state)
        self._states = pair(state)  # the one that counts, and the one the next step writes
        self._accelerations_current = True
        self._shown: tuple[object, ...] | None = None  # the motion that somebody saw since the last step
        self._goals = NO_GOALS
        self._watch = watch_of(system)
        self._half_turns = half_turns_of(system, equations.tables)
        self._fast_states = fast_states_of(system, equations.tables)
        know(system)
        self.inputs = Inputs(system, self)
        self._stepped = False
        self._warm_up()
        self._tell_fast_states()

    def _warm_up(self) -> None:
        """Take a few steps that never count, so that the first real one is no slower than others.

        They load the kernel, measure the clock and touch the memory. Only the fused step, and functions of time keep
        their values: nothing asks a function of the user.
        """
        fused = self.equations.fused()
        if fused is None or not isinstance(self.method, PenaltyTrapezoidal) or not self.method.fused:
            return
        start = self._states[0].copy()
        with announced():
            for _ in range(WARM_UP_STEPS):  # the first one loads the kernel, which drives all else out of the caches
                plain = not self.system.signals
                report = Simulation.step(self) if plain else self._advance(*self._states)
                if report.dense or not report.outcome.accepted:
                    break
        self._states, self._stepped = pair(start), True

    def _tell_fast_states(self) -> None:
        """Warn of states of force laws that are too fast for the step, each once."""
        if self._fast_states is not None:
            for one in self._fast_states.look(self.state):
                warn(str(one))

    # ---- stepping ---------------------------------------------------------------------------------------------------

    @guarded(STEP)
    def step(self) -> StepReport:
        """Take one step and report how it ended; ``report.outcome.accepted`` tells whether the state was advanced.

        A step that fails does not raise. It leaves the state byte for byte as it was, as whatever raises in it does.
        """
        if self._watch is not None:
            self._watch.step()
        old, new = self._start_of_step(), self._states[1]
        new.t_ref, new.k, new.h = old.t_ref, old.k + 1, old.h
        self._take_inputs(old, new)
        if self._goals:
            self._reach_goals(new.u)
        evaluate_signals(self.system, new.t, new.u)
        averages = self.method.averages_inputs
        across = mean_inputs(self.system, old.t, old.h, old.u, new.u) if averages else None
        if across is not None:
            after, new.u = new.u, across
        report = self._advance(old, new)
        if self._half_turns is not None and report.outcome.accepted:
            report = self._half_turns.judged(report, old, new)
        if report.outcome.accepted:
            if across is not None:
                new.u = after
                self._solve_accelerations(new)
            vars(self).update(_states=(new, old), _goals=NO_GOALS)
        return report

    def _advance(self, old: State, new: State) -> StepReport:
        """Let the method take a step between two states of the right shapes."""
        self._validate(old)
        self._validate(new)
        if self._stepped:
            return self.method.advance(self.equations, self._work, old, new)
        with announced():
            report = self.method.advance(self.equations, self._work, old, new)
        self._stepped = True
        return report

    @property
    def takes_chunks(self) -> bool:
        """True when many steps fit in one kernel call: the fused step."""
        return self.method.takes_many(self.equations)

    @guarded(STEP, "run")
    def take_chunk(self, chunk: Chunk) -> tuple[int, bool]:
        """Take a step for every row in one kernel call, byte for byte as ``step`` would; for ``run``.

        Returns (steps taken, whether the next one is for ``step``). It stops early after a while, before a step that
        fails, and before one across a jump of a function of time. Functions of time are asked ahead.
        """
        old, new = self._start_of_step(), self._states[1]
        self._take_inputs(old, new)
        chunk.u[:] = old.u
        self._reach_goals(chunk.u)
        if self.system.signals:
            chunk = first(chunk, fill_timed_rows(self.system, old, chunk.u))
            if not len(chunk.u):
                return 0, True
        with nullcontext() if self._stepped else announced():
            self._validate(old)
            done, failed = self.method.advance_many(self.equations, self._work, old, chunk)
        self._stepped = True
        if self._half_turns is not None and done:
            good = self._half_turns.good(old, chunk, done)
            done, failed = good, failed or good < done
        if done:
            new.t_ref, new.k, new.h = old.t_ref, old.k + done, old.h
            new.u[:] = chunk.u[done - 1]
            take_row(new, chunk, done - 1)
            self.equations.u = new.u
            vars(self).update(_states=(new, old), _goals=NO_GOALS)
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
        """Step to ``t_end`` [s] and return what was recorded: every step, or those that ``record`` says.

        A step that fails after all its tries is taken in 2, 4, ... parts, ``at_most`` times, and the run goes on with
        h; ``Result.warnings`` counts such steps. With ``on_failure="raise"`` it ends the run.
        Raises InputError when t_end is no whole number of steps away or the record does not fit, StepError when a step
        fails for good. Whatever ends a run early, StepError and KeyboardInterrupt alike, carries the Result so far as
        ``result``: its last sample is the state of the Simulation, and another ``run`` goes on from there.

        ``channels`` records only these. ``file`` (.h5, .csv) writes them in blocks while the run goes on, see
        ``rtmbs.ChannelRecorder``: memory stays small, and a kill loses one block at most.

            sim.run(3600.0, record=rtmbs.Every(0.01), channels=["crank.angle"], file="long.h5")

        ``until`` is a function of the Simulation. The run ends with the first step at whose end it is true.

            sim.run(10.0, until=lambda sim: sim["tip.position"][2] < 0.0)

        With ``tolerance`` the steps are chosen: the errors that they add to a coordinate, estimated, sum up to the
        tolerance at ``t_end`` in typical sizes (1 rad; characteristic length), METHODS 1.34. Where they grow in the
        motion, the run begins anew with smaller steps, or ends with an InputError when it was observed. Penalties and
        Newton matrix follow the step, projections the tolerance, and h of the Simulation stays for later.
        ``record=Every(dt)`` or ``At(times)`` then reads dense output at just these times. The Result tells its
        ``steps`` and ``events``. ``when`` is a function of an ``Instant``, an ``Event`` or a list of them: the change
        of its sign stops the run, or calls an action.

            sim.run(2.0, tolerance=1e-6, record=Every(0.01), when=lambda s: s["ball.position"][2])

        No step turns a body or moves a coordinate by more than 1.5 typical sizes: the estimate is blind to whole turns.
        A run that would try more than ``most_steps`` steps ends early with an InputError that says why.

        Raises InputError for a tolerance or an event out of range, and for an event function that raises or returns no
        number; one that never changes its sign is counted in ``Result.warnings``. Raises EventError for events without
        end, as ever smaller bounces.
        """
        switches(progress=progress)
        one_of("on_failure", on_failure, ("raise", "halve"))
        whole("at_most", at_most, 0, MOST_HALVINGS)
        whole("most_steps", most_steps, 1, MOST_TRIED)
        if not (record is None or isinstance(record, Schedule)):
            raise InputError(f"record is {shown(record)}; it must be a schedule such as rtmbs.Every(0.1)")
        if until is not None and not callable(until):
            raise InputError(f"until is {shown(until)}; it must be a function of the Simulation that tells when to end")
        check_outside(self.system)
        if tolerance is not None:
            if channels is not None or file is not None:
                raise InputError(
                    "channels and file go with steps of h; with a tolerance, take record=Every(dt) and save the result"
                )
            if until is not None:
                raise InputError("until looks at steps of h; with a tolerance write when=, which finds the exact time")
            return self._run_within(
                t_end, tolerance, when, record, observers, at_most * (on_failure == "halve"), progress, most_steps
            )
        if when is not None:
            raise InputError("when needs a tolerance: write sim.run(t_end, tolerance=1e-6, when=...)")
        watching = observers_of(observers)
        chosen = channels is not None or file is not None
        recorder = ChannelRecorder(record, channels, file) if chosen else Recorder(record)
        self._validate(self.state)
        try:
            run(self, self.steps_to(t_end), recorder, watching, progress, on_failure, at_most, until)
        except BaseException as error:
            recorder.stop()
            if recorder.count and (isinstance(error, ResultError) or not isinstance(error, InputError)):
                error.result = recorder.result()  # type: ignore[attr-defined]
            raise
        self._tell_fast_states()
        return recorder.result()

    def _run_within(
        self, t_end: float, tolerance: float, when: Any, record: Schedule | None, observers: Any, at_most: int,
        progress: bool, most_steps: int,
    ) -> Result:  # fmt: skip
        """Run with steps that follow ``tolerance``; h stays that of the Simulation before and after."""
        from rtmbs.simulation.controlled import Controlled, check_method  # scipy.optimize takes long to load
        from rtmbs.simulation.error_growth import MOST_AGAIN, ToleranceError
        from rtmbs.simulation.events import events_of
        from rtmbs.simulation.jump_times import jump_times
        from rtmbs.simulation.record_times import RecordTimes
        from rtmbs.simulation.step_choice import check_tolerance, projection_tol

        check_tolerance(tolerance)
        check_method(self.method, tolerance)
        events, watching, h = events_of(when), observers_of(observers), self.h
        method: Any = self.method
        self._take_goals()
        self._validate(self.state)
        check_end(self.t, t_end)
        span = t_end - self.t
        with visited(self, NOTHING, ASKED):
            jumps = jump_times(self.system, self.t, t_end, max(min(h, span), span / most_steps))
        start, again = self.state.copy(), 0
        with TimeBar(self.t, t_end, progress) as bar:
            while True:
                times = RecordTimes(record, self.t, t_end)
                controlled = Controlled(
                    self, t_end, tolerance, events, times, watching, at_most, jumps, bar, most_steps, again
                )
                try:
                    # the balance of energy keeps a bias of the rates that belongs to one h (METHODS 1.7)
                    self.change(hold_energy=False, projection_tol=projection_tol(tolerance, method.projection_tol))
                    controlled.run()
                except ToleranceError as error:
                    if again == MOST_AGAIN or watching or controlled.acted:
                        error.result = controlled.result()  # type: ignore[attr-defined]
                        raise
                    self.back_to(((start.copy(), start.copy()), NO_GOALS))
                    again += 1
                    continue
                except BaseException as error:
                    if controlled.kept:
                        error.result = controlled.result()  # type: ignore[attr-defined]
                    raise
                finally:
                    self.change(method=method)
                    self.step_from_here(h)
                return controlled.result()

    def steps_to(self, t_end: float) -> int:
        """Return the whole number of steps to ``t_end``; InputError names the nearest h otherwise."""
        check_time(self.state, "this state")
        return steps_between(self.t, t_end, self.h)

    def retry(self, report: StepReport, on_failure: str, at_most: int) -> StepReport:
        """Take the failed step in 2, 4, ... parts when asked and of use; raise the matching error otherwise."""
        state = self.state
        spoilt = not_finite_inputs(self.system, state.u) or out_of_range(
            self.system, state, state.memory.get("alpha", NO_FACTORS)
        )
        if on_failure == "raise" or report.hopeless or spoilt:
            raise self.error(report)
        return in_parts(self, report, at_most)

    def error(self, report: StepReport) -> StepError:
        """Return the error that a failed step stands for, with step, time, history and names."""
        return step_error(self.state.k + 1, report)

    @guarded(LOOK)
    def reaction(self, joint: str) -> Array:
        """Return the wrench [f, n] (6,) of the first body on the second at the joint point, world axes [N, N m]."""
        return reaction(self.equations, self._settled(), joint)
