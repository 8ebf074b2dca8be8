"""Inputs and sensors between steps: `python -m bench.inputs` times steps with and without them, in turns.

Two Simulations of one mechanism go through the same motion. One has an input written before every step, held or ramped.
Blocks of steps take turns, so that other programs on the machine slow both down. The medians of all steps are compared.
"""

import math
import time
from collections.abc import Callable

import numpy as np

import rtmbs
from bench.documents import DOCS, table, told
from bench.measures.car import car

BLOCKS, STEPS = 12, 50
WAYS = ("held", "ramped")
CHANNELS = (
    "chassis.position", "chassis.velocity", "chassis.angular_velocity", "hub_0.rate", "hub_1.rate", "hub_2.rate",
    "hub_3.rate", "low_arm_0.angle", "mount_0.acceleration", "seat_0.position",
)  # fmt: skip
OTHERS = {
    "an orientation": "chassis.orientation",
    "a reaction": "hub_0.reaction",
    "an energy": "energy.kinetic",
}


def crank_rocker() -> rtmbs.Model:
    """Return a crank-rocker with a motor at its crank."""
    model = rtmbs.library.build("crank_rocker")
    model.add_force("motor", rtmbs.Motor(rtmbs.Input(0.0)), joint=next(iter(model.joints)))
    return model


def four_bar() -> rtmbs.Model:
    """Return the multiple four-bar of 4 x 10 with a motor at its first joint."""
    model = rtmbs.library.build("fourbar", ny=4, nz=10)
    model.add_force("motor", rtmbs.Motor(rtmbs.Input(0.0)), joint=next(iter(model.joints)))
    return model


MECHANISMS: dict[str, tuple[Callable[[], rtmbs.Model], str, float]] = {
    "crank-rocker": (crank_rocker, "motor.torque", 0.05),
    "four-bar 4 x 10": (four_bar, "motor.torque", 1.0),
    "car": (car, "drive_2.torque", 50.0),
}


def step_times(build: Callable[[], rtmbs.Model], name: str, size: float, how: str) -> tuple[float, float]:
    """Return the medians of a plain step, and of one with the input ``name`` written before it [us]."""
    system = build().compile()
    plain, written = rtmbs.Simulation(system, h=1e-3), rtmbs.Simulation(system, h=1e-3)
    plain.inputs[name] = size
    if how == "ramped":
        written.inputs.ramp(name)
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(BLOCKS):
        for _ in range(STEPS):
            begun = time.perf_counter()
            plain.step()
            times[0].append(time.perf_counter() - begun)
        for _ in range(STEPS):
            begun = time.perf_counter()
            written.inputs[name] = size * math.sin(40.0 * written.t)
            written.step()
            times[1].append(time.perf_counter() - begun)
    return 1e6 * float(np.median(times[0])), 1e6 * float(np.median(times[1]))


def reading_time(sim: rtmbs.Simulation, names: tuple[str, ...], steps: int = 1000) -> float:
    """Return the median time of ``sim.read`` of channels after a step [us]."""
    wanted, times = list(names), []
    for _ in range(steps):
        sim.step()
        begun = time.perf_counter()
        sim.read(wanted)
        times.append(time.perf_counter() - begun)
    return 1e6 * float(np.median(times))


def reading_times() -> str:
    """Return a table: ten quick channels of the car, and others alone."""
    sim = rtmbs.Simulation(car().compile(), h=1e-3)
    rows = [["ten of coordinates, points and their rates", f"{reading_time(sim, CHANNELS):.1f}"]]
    for what, name in OTHERS.items():
        rows.append([f"{what}, `{name}`", f"{reading_time(sim, (name,)):.0f}"])
    return table(["channels of the car", "`sim.read` [us]"], rows)


def main() -> None:
    """Print the table; ``--write`` puts it into docs/modelling.md."""
    head = ["mechanism", *(f"{what}" for how in WAYS for what in ("plain step [us]", f"input {how} [us]", "ratio"))]
    rows = []
    for title, (build, name, size) in MECHANISMS.items():
        pairs = [step_times(build, name, size, how) for how in WAYS]
        numbers = [f"{plain:.0f} {written:.0f} {written / plain:.2f}".split() for plain, written in pairs]
        rows.append([title, *(number for three in numbers for number in three)])
    text = f"{table(head, rows)}\n\n{reading_times()}"
    told(text, DOCS / "modelling.md", "python -m bench.inputs")


if __name__ == "__main__":
    main()
