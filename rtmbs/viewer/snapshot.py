"""Take a Frame of a session: poses, energies, statistics and subscribed channels, in scratch of its own."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.observers.meters import VIOLATIONS
from rtmbs.results.resample import resample_energies
from rtmbs.results.samples import one_sample
from rtmbs.semirecursive.workspace import workspace
from rtmbs.simulation import Simulation
from rtmbs.state import State
from rtmbs.system.origins import WORLD
from rtmbs.viewer.channels import LiveChannels
from rtmbs.viewer.describe import CHOICES
from rtmbs.viewer.frame import OPTIONS, PLOTS, SAMPLES, Frame
from rtmbs.viewer.session import Session
from rtmbs.viewer.timing import Timing

Array = NDArray[np.float64]

NOWHERE = np.full(3, np.nan)


class Poses:
    """Where the bodies of a System stand, and what energy they have."""

    def __init__(self, session: Session) -> None:
        system = session.sim.system
        bodies = list(system.bodies.values())
        self.tables = session.sim.equations.tables
        self.dofs = np.array([body.dof for body in bodies])
        self.grounds = np.append(self.tables.origins.row, WORLD)[self.dofs]  # rows of ground that they see
        self.rotations = np.array([body.rotation for body in bodies])
        self.positions = np.array([body.position for body in bodies])
        self.ws = workspace(self.tables)
        self._energies: Array = np.zeros((3, 1))

    def read(self, state: State) -> tuple[Array, Array, list[float]]:
        """Return r (nb, 3), A (nb, 3, 3) and kinetic energy, gravity energy and elastic energy [J]."""
        resample_energies(self.tables, one_sample(state), self.ws, self._energies)
        A = self.ws.A[self.dofs]
        r = self.ws.r[self.dofs] - self.ws.r[self.grounds] + np.einsum("bij,bj->bi", A, self.positions)
        return r, A @ self.rotations, self._energies[:, 0].tolist()


class Plots:
    """The last samples of the subscribed channels."""

    def __init__(self, channels: LiveChannels) -> None:
        self.channels, self.ticket = channels, 0
        self._rows: Array = np.full((SAMPLES, 1 + PLOTS), np.nan)
        self.count = 0

    def subscribe(self, names: tuple[str, ...], ticket: int) -> None:
        """Begin anew with these channels; UnknownNameError or InputError leave the old ones."""
        self.channels.subscribe(names)
        self.ticket, self.count = ticket, 0
        self._rows[:] = np.nan

    def sample(self, sim: Simulation) -> None:
        """Append the values at the present state."""
        if not self.channels.names:
            return
        state = sim.state
        self.channels.follow(sim.system, sim.equations.tables)
        row = self._rows[self.count % SAMPLES]
        row[0], row[1 : 1 + len(self.channels.names)] = state.t, self.channels.read(state)
        self.count += 1

    def ordered(self) -> Array:
        """Return the samples oldest first, newest last."""
        return np.roll(self._rows, -(self.count % SAMPLES), axis=0)


class Photographer:
    """Takes frames of one session, of one generation."""

    def __init__(self, session: Session, channels: LiveChannels, timing: Timing, generation: int) -> None:
        self.session, self.timing, self.generation = session, timing, generation
        self.poses, self.plots = Poses(session), Plots(channels)
        self.number = 0

    def take(
        self, playing: bool = False, speed: float = 1.0, deadlines: int = 0, missed: int = 0, sampled: bool = True
    ) -> Frame:
        """Return a Frame of the present state."""
        session, sim, timing = self.session, self.session.sim, self.timing
        state, report = sim.state, self.session.report
        if sampled:
            self.plots.sample(sim)
        r, A, (kinetic, gravity, elastic) = self.poses.read(state)
        violations: dict[str, Any] = {name: getattr(report, name) if report else np.nan for name in VIOLATIONS}
        self.number += 1
        grabbed, point, target, force = self.grab(r, A)
        return Frame(
            generation=self.generation,
            number=self.number,
            step=session.step_number,
            t=state.t,
            h=state.h,
            playing=playing,
            oldest=session.history.oldest,
            newest=session.history.newest,
            outcome=session.outcome,
            r=r,
            A=A,
            z=state.z.copy(),
            zd=state.zd.copy(),
            inputs=state.u.copy(),
            grabbed=grabbed,
            grab_point=point,
            grab_target=target,
            grab_force=force,
            **clocked(timing, state.h),
            deadline=state.h / speed,
            deadlines=deadlines,
            missed=missed,
            desired_speed=speed,
            kinetic=kinetic,
            gravity=gravity,
            elastic=elastic,
            **violations,
            options=option_numbers(session),
            ticket=self.plots.ticket,
            plots=self.plots.ordered(),
            samples_taken=self.plots.count,
        )

    def grab(self, r: Array, A: Array) -> tuple[int, Array, Array, float]:
        """Return the body held, its point and the target (3,) [m], and the pull [N]; body -1 while nothing is held."""
        hold = self.session.hold
        if hold is None:
            return -1, NOWHERE, NOWHERE, 0.0
        body = list(self.session.sim.system.bodies).index(hold.attachment.body)
        point = r[body] + A[body] @ np.array(hold.attachment.point)
        return body, point, np.array(hold.target), hold.force(point)


def clocked(timing: Timing, h: float) -> dict[str, Any]:
    """Return what a Frame says of wall time, by its names; h is the step [s]."""
    p50, p99 = timing.percentiles()
    return {
        "step_times": timing.step_times.ordered(),
        "iterations": timing.iterations.ordered(),
        "steps_taken": timing.step_times.count,
        "p50": p50,
        "p99": p99,
        "phases": timing.phases,
        "actual_speed": timing.actual_speed(),
        "real_time_factor": timing.real_time_factor(h),
    }


def option_numbers(session: Session) -> Array:
    """Return the present options in the order of ``OPTIONS``: words by their place among the choices, None as NaN."""
    numbers = []
    for name in OPTIONS:
        value = session.option(name)
        numbers.append(np.nan if value is None else CHOICES[name].index(value) if name in CHOICES else float(value))
    return np.array(numbers)
