"""Mode "manual": a Connection to a Simulation that its own program steps, with commands between the steps.

    connection = ManualConnection(sim)
    while not connection.over:
        if connection.should_step():
            connection.sync(sim, sim.step())

Commands take effect inside ``should_step``, in the thread of the program, so they never meet a step under way.
"""

import time
from collections import deque
from typing import Any

from rtmbs.errors import InputError, RtmbsError
from rtmbs.integrators.report import StepReport
from rtmbs.simulation import Simulation
from rtmbs.viewer.scene.description import SceneDescription
from rtmbs.viewer.session.commands import Command, Quit, Reload, coalesced
from rtmbs.viewer.session.connection import LocalConnection
from rtmbs.viewer.session.controller import Controller
from rtmbs.viewer.session.origin import FromSimulation


class ManualConnection(LocalConnection):
    """A Connection without a thread; ``options`` are those of Controller. It plays from the start unless told
    otherwise.
    """

    def __init__(self, sim: Simulation, *, playing: bool = True, **options: Any) -> None:
        super().__init__()
        self._commands: deque[Command] = deque()
        self._asked = time.perf_counter()
        self._controller = Controller(FromSimulation(sim), self, mode="manual", playing=playing, **options)
        self._controller.build({}, {})

    # ---- the program's side -----------------------------------------------------------------------------------------

    def should_step(self) -> bool:
        """Apply commands; True when the program is to take one step now, and ``sync`` it."""
        controller = self._controller
        commands, self._commands = coalesced(self._commands), deque()
        while commands and not (controller.ahead or controller.over):
            self._handle(commands.pop(0))
        self._commands.extendleft(reversed(commands))
        if controller.stale:
            controller.publish()
        wanted = not controller.over and (controller.playing or controller.ahead > 0)
        if wanted and controller.ahead:
            controller.ahead -= 1
        self._asked = time.perf_counter()
        return wanted

    def sync(self, sim: Simulation, report: StepReport | None = None) -> None:
        """Publish the present state of ``sim``. ``report``: of its step; None after another change.

        The time since ``should_step`` counts as that of the step. Raises InputError for another Simulation.
        """
        controller = self._controller
        if sim is not controller.sim:
            raise InputError("sync: this is not the Simulation that the viewer was opened with")
        if report is not None:
            seconds = time.perf_counter() - self._asked
            controller.live.took(report)
            controller.count(report, seconds)
        if controller.playing:
            controller.timing.mark(sim.t)
        controller.publish()

    @property
    def over(self) -> bool:
        """True once the window was closed."""
        return self._controller.over

    def _handle(self, command: Command) -> None:
        try:
            self._controller.handle(command)
        except RtmbsError as error:
            self._controller.refuse(error)

    # ---- the window's side ------------------------------------------------------------------------------------------

    def describe(self) -> SceneDescription:
        assert self._scene is not None
        return self._scene

    def send(self, command: Command) -> None:
        self._commands.append(command)

    @property
    def ended(self) -> bool:
        return False

    def restart(self) -> None:
        self.send(Reload())

    def close(self) -> None:
        self._controller.handle(Quit())
        self._controller.close()
