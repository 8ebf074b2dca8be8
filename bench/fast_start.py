"""Starts of changed mechanisms: processor times with patterns taken over and built anew, compilations, and a sweep.

python -m bench.fast_start [--rounds 40]

Lengths, masses and rates of a crank-rocker change from one to the next. ``anew`` forgets the patterns of the mechanisms
before. The sweep changes an input and an initial value, 100 steps a run.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from itertools import count
from typing import Any

import rtmbs
from rtmbs.core.remembered import forget
from rtmbs.jit.compiled import listening

numbers = count(1)


def crank_rocker() -> rtmbs.Model:
    """Return a crank-rocker that differs from all before."""
    k = next(numbers)
    model = rtmbs.Model("crank_rocker")
    points = ((0.0, 0.0), (0.0, 0.2 + 1e-5 * k), (0.5, 0.4), (0.6, 0.0))
    for j, name in enumerate(("crank", "coupler", "rocker")):
        (y, z), (v, w) = points[j], points[j + 1]
        mass = 1.0 + 1e-4 * k
        center = (0.0, 0.5 * (y + v), 0.5 * (z + w))
        model.add_body(name, mass=mass, inertia=(0.01 * mass,) * 3, center_of_mass=center)
    for name, first, second, (y, z) in (
        ("crank_pivot", "ground", "crank", points[0]), ("pin", "crank", "coupler", points[1]),
        ("rocker_pivot", "ground", "rocker", points[3]), ("knee", "coupler", "rocker", points[2]),
    ):  # fmt: skip
        hinge = rtmbs.Revolute(axis=(1, 0, 0))
        model.add_joint(name, hinge, first, second, point=(0.0, y, z), cut=name == "knee")
    model.add_force("spring", rtmbs.TorsionSpring(stiffness=1.0 + 0.01 * k, damping=0.01), joint="rocker_pivot")
    model.set_initial("crank_pivot", rate=5.0 + 1e-3 * k)
    return model


def processor_time(prepare: Callable[[], object], act: Callable[[object], object], rounds: int) -> tuple[float, float]:
    """Return the median and the least processor time [ms] of an act on what was prepared beside the clock."""
    times = []
    for _ in range(rounds):
        given = prepare()
        begin = time.process_time()
        act(given)
        times.append(1e3 * (time.process_time() - begin))
    return statistics.median(times), min(times)


def compiled_anew() -> Any:
    """Return a changed System whose patterns nothing knows."""
    forget()
    return crank_rocker().compile()


def sweep_of_inputs(rounds: int) -> tuple[float, float]:
    """Return the processor time of a run [ms] of a sweep, in one process, and the kernels that it compiled."""
    compiled: list[str] = []

    def make(stiffness: float, rate: float) -> rtmbs.Simulation:
        sim = rtmbs.Simulation(system, h=1e-2)
        sim.inputs["spring.stiffness"] = stiffness
        sim.set("crank_pivot.rate", rate)
        return sim

    system = crank_rocker().compile()
    make(1.0, 5.0).run(0.05)
    values = {"stiffness": [1.0 + 0.1 * k for k in range(rounds)], "rate": [4.0, 5.0]}
    with listening(compiled.append, compiled.append):
        begin = time.process_time()
        table = rtmbs.sweep(
            make, values, {"peak": "largest pin.rate"}, t_end=1.0, h=1e-2, engine=rtmbs.Serial(), progress=False
        )
        used = time.process_time() - begin
    assert not table.failed
    return 1e3 * used / len(table["peak"]), len(compiled)


def main() -> None:
    """Print the times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    rounds = parser.parse_args().rounds
    known = crank_rocker().compile()
    rtmbs.Simulation(known).run(0.05)
    compiled: list[str] = []
    with listening(compiled.append, compiled.append):
        for what, prepare, act in (
            ("compile of a changed Model", crank_rocker, lambda model: model.compile()),
            ("compile anew", lambda: (forget(), crank_rocker())[1], lambda model: model.compile()),
            ("Simulation of a changed System", lambda: crank_rocker().compile(), rtmbs.Simulation),
            ("Simulation of a known System", lambda: known, rtmbs.Simulation),
            ("Simulation anew", lambda: (compiled_anew(), forget())[0], rtmbs.Simulation),
        ):
            middle, least = processor_time(prepare, act, rounds)
            print(f"{what:32s} median {middle:6.2f} ms, least {least:6.2f} ms")
    print(f"kernels compiled by {4 * rounds} changes: {len(compiled)}")
    each, kernels = sweep_of_inputs(rounds)
    print(f"sweep over an input and an initial rate: {each:.2f} ms a run of 100 steps, {kernels} kernels compiled")


if __name__ == "__main__":
    main()
