"""An exception at any line of any call: the call has happened or it has not, and everything can be read afterwards."""

import copy
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import rtmbs
from bench.campaigns.campaign import Campaign, Tally, each
from bench.campaigns.machines import contents, rich

HOME = str(Path(rtmbs.__file__).parent)
MODEL = rich()
MODEL.add_force("pull", lambda t, k, p: (-0.1 * k.v, np.zeros(3)), body="ball")
SYSTEM = MODEL.compile()
READ = ["t", "ball.position", "crank_pivot.reaction", "slide.velocity"]


def machine(steps: int) -> rtmbs.Simulation:
    """Return a new Simulation after a few steps."""
    sim = rtmbs.Simulation(SYSTEM, h=1e-3)
    for _ in range(steps):
        sim.step()
    return sim


def new_h(sim: rtmbs.Simulation) -> None:
    sim.h = 2e-3


def new_input(sim: rtmbs.Simulation) -> None:
    sim.inputs["motor.force"] = 0.7


def new_inputs(sim: rtmbs.Simulation) -> None:
    sim.inputs["wind.force"] = (1.0, 2.0, 3.0)


def ramped(sim: rtmbs.Simulation) -> None:
    sim.inputs.ramp("motor.force")
    sim.inputs["motor.force"] = 0.4


def faster(sim: rtmbs.Simulation) -> None:
    sim.state.zd[:] *= 1.0


CALLS: dict[str, Any] = {
    "step": lambda sim: sim.step(),
    "set": lambda sim: sim.set("rail.displacement", 0.1),
    "restore": lambda sim: sim.restore(START),
    "change": lambda sim: sim.change(max_iterations=7),
    "h": new_h,
    "input of one number": new_input,
    "input of three numbers": new_inputs,
    "ramp": ramped,
    "attach": lambda sim: sim.attach("pull", "slide", (0.1, 0.0, 0.0)),
    "read": lambda sim: sim.read(READ),
    "channel": lambda sim: sim["crank_pivot.reaction"],
    "state": faster,
    "reaction": lambda sim: sim.reaction("crank_pivot"),
    "copy": copy.copy,
}
START = machine(1).state.copy()


class Fault:
    """Raises KeyboardInterrupt at one line of rtmbs that runs; counts them all when the number is negative."""

    def __init__(self, at: int) -> None:
        self.at, self.count = at, 0

    def line(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "line":
            self.count += 1
            if self.count == self.at:
                sys.settrace(None)
                raise KeyboardInterrupt
        return self.line

    def call(self, frame: FrameType, event: str, arg: Any) -> Any:
        return self.line if frame.f_code.co_filename.startswith(HOME) else None


def interrupted(act: Any, sim: rtmbs.Simulation, at: int) -> int:
    """Do ``act`` with a fault at a line; return the lines that ran."""
    fault, before = Fault(at), sys.gettrace()
    sys.settrace(fault.call)
    try:
        act(sim)
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)
    return fault.count


def seen(sim: rtmbs.Simulation) -> dict[str, Any]:
    """Return what the user can see of a Simulation now and two steps on, by its bytes."""
    now = contents(sim.state) | {"read": sim.read(READ).tobytes(), "of": sim["crank_pivot.reaction"].tobytes()}
    for _ in range(2):
        sim.step()
    return now | {f"later {name}": value for name, value in contents(sim.state).items()} | {"h of sim": sim.h}


KNOWN: dict[str, tuple[int, dict[str, Any], dict[str, Any]]] = {}


def judged(seed: int, tally: Tally) -> str:
    """Interrupt one call at one line; return what is wrong with what is left."""
    rng = np.random.default_rng(seed)
    name = list(CALLS)[seed % len(CALLS)]
    act = CALLS[name]
    if name not in KNOWN:
        after = machine(2)
        interrupted(act, machine(2), -1)  # what a process does once
        lines = interrupted(act, after, -1)
        KNOWN[name] = lines, seen(machine(2)), seen(after)
    lines, before, after_call = KNOWN[name]
    sim, at = machine(2), int(rng.integers(1, lines + 1))
    interrupted(act, sim, at)
    try:
        found = seen(sim)
    except Exception as error:  # noqa: BLE001 - whatever comes out is what is looked for
        return f"{name} at line {at} of {lines}: {type(error).__name__}: {error}"
    if found in (before, after_call):
        return ""
    mixed = [key for key, value in found.items() if value != before[key] and value != after_call[key]]
    return f"{name} at line {at} of {lines}: neither before nor after, {', '.join(mixed) or 'some of each'}"


CAMPAIGN = Campaign(
    name="whole calls",
    claim="an exception at any line of a call leaves the Simulation as before it or as after it, and all can be read",
    full=4_000,
    bounded=140,
    run=lambda cases, seed: each(judged, cases, seed),
)
