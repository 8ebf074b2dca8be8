"""States of the native library, of an FMU and of a Simulation, step by step: ``python -m bench.native_bytes``.

Each mechanism is stepped three times: by ``Simulation.step``, by ``rtmbs_step``, and by ``fmi3DoStep``. After every
step all numbers of the three states are compared bit by bit. The table has the number of steps with equal bytes.

    python -m bench.native_bytes [--steps 10000] [--target x86_64_v3-linux] [mechanism ...]
"""

import argparse
import math
import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import rtmbs
from bench.documents import table
from bench.native_host import Communicating, Mechanism, opened
from rtmbs import contact
from rtmbs.export.instance import checksum
from rtmbs.export.packages import HOST, Exported, exported, native_library
from rtmbs.jit.native_code import TARGETS
from rtmbs.library import build

H = 1e-3
STEPS = 10_000
X86 = tuple(name for name in TARGETS if name.startswith("x86_64_v"))


def mount(t: Any, k: Any, p: Any, s: Any) -> Any:
    """A spring, and a spring and a damper in a row beside it: a Maxwell element."""
    pull = p["series"] * (k.z - s["way"])
    return -p["spring"] * k.z - pull, pull / p["damper"]


def engine_mount() -> Any:
    """Return a mass on a rail with a mount that has a state."""
    model = rtmbs.Model("engine mount")
    engine = model.add_body("engine", mass=80.0, inertia=(3.0, 4.0, 4.0))
    model.add_joint("rail", rtmbs.Prismatic(axis=(0, 0, 1)), model.ground, engine)
    numbers = {"spring": 2e5, "series": 1e5, "damper": 3e3}
    model.add_force("mount", mount, joint="rail", states={"way": 0.0}, units={"way": "m"}, parameters=numbers)
    return model.compile()


def car() -> Any:
    """Return the sedan of the library, its tyres with states."""
    return rtmbs.vehicle.read("sedan", variant="from_models", impossible_inertia="nearest").compile()


def splined_crank() -> Any:
    """Return a four-bar with its crank driven by a spline."""
    t = np.linspace(0.0, 12.0, 49)
    values = 6.0 * t + 0.6 * np.sin(1.3 * t)
    start, rate, _ = rtmbs.Spline(t, values)(0.0)  # the model starts at 6 rad/s
    model = build("crank_rocker")
    model.add_driver("drive", rtmbs.Spline(t, values - start - (rate - 6.0) * t), joint=next(iter(model.joints)))
    return model.compile()


def hopping_ball() -> rtmbs.Model:
    """Return a ball that hops along a rough plane, on a hinge with a stop."""
    m = rtmbs.Model("hop", gravity=(0, 0, -9.81))
    m.add_body("ball", mass=1.0, inertia=(4e-3, 4e-3, 4e-3), position=(0, 0, 0.11), shape=rtmbs.Sphere(0.1))
    m.add_joint("free", rtmbs.Floating(), "ground", "ball", point=(0, 0, 0.11))
    m.set_initial("free", rate=(0.5, 0.2, 0, 0, 0, 0))
    m.add_contact("floor", ("ground", contact.Plane()), "ball", stiffness=1e4, exponent=1.0, friction=0.4)
    m.add_body("flap", mass=0.2, inertia=(1e-3, 1e-3, 1e-3), center_of_mass=(0.1, 0, 0))
    m.add_joint("hinge", rtmbs.Revolute((0, 1, 0)), "ball", "flap", point=(0, 0, 0.11))
    m.add_stop("stop", "hinge", lower=-0.5, upper=0.05, stiffness=50.0, dissipation=0.5)
    return m


class Compared(NamedTuple):
    """A mechanism, and the inputs that are drawn before every step, with the size of their changes."""

    make: Callable[[], Any]
    inputs: Mapping[str, float] = {}


MECHANISMS = {
    "four-bar 4 x 40": Compared(lambda: build("fourbar", ny=4, nz=40).compile()),
    "Bricard": Compared(lambda: build("bricard").compile()),
    "governor": Compared(lambda: build("governor").compile()),
    "slider-crank": Compared(lambda: build("slider_crank").compile()),
    "driven crank, a sine": Compared(lambda: build("driven_fourbar").compile()),
    "driven crank, a spline": Compared(splined_crank),
    "engine mount, a law with a state": Compared(engine_mount, {"gravity": 1.0}),
    "slider-crank, three inputs before every step": Compared(lambda: build("slider_crank").compile(), {"gravity": 1.0}),
    "hopping ball, a contact with friction and a stop": Compared(lambda: hopping_ball().compile()),
    "car, two torques before every step": Compared(car, {"drive_fl.torque": 400.0, "drive_fr.torque": 400.0}),
}


def state_bytes(sim: rtmbs.Simulation) -> bytes:
    """Return the state of a Simulation as the native library keeps it."""
    state = sim.state
    u, zdd, lam, sd = state.before or (state.u, state.zdd, state.lam, state.sd)  # what the next step begins with
    arrays = (state.z, state.zd, zdd, lam, state.R0, state.memory["energy"], state.s, sd, state.u, state.u, u)
    return b"".join(array.tobytes() for array in arrays)


def drawn(rng: random.Random, start: list[float], size: float) -> list[float]:
    """Return values near those of the start."""
    return [value + size * rng.uniform(-0.5, 1.5) for value in start]


def equal_steps(library: Any, found: Exported, sim: rtmbs.Simulation, steps: int, inputs: Mapping[str, float]) -> int:
    """Return after how many steps the states of all three were still equal."""
    it, fmu, rng = Mechanism(library, found.file), Communicating(library, found.file, found.token), random.Random(35)
    start = {name: np.atleast_1d(np.array(sim.inputs[name], float)).tolist() for name in inputs}
    references = {port.name: 1 + k for k, port in enumerate(found.ports.settable)}
    for k in range(steps):
        for name, values in start.items():
            given = drawn(rng, values, inputs[name])
            sim.inputs[name] = given if len(given) > 1 else given[0]
            for axis, value in enumerate(given):
                full = f"{name}[{axis}]" if len(given) > 1 else name
                it.set(full, value)
                fmu.set(references[full], value)
        taken = sim.step().outcome.accepted
        if not taken or not library.rtmbs_taken(it.step()) or not fmu.step(k * H, H):
            return k
        if not state_bytes(sim) == it.arrays == fmu.arrays:
            return k
    return steps


def rows(library: Any, names: list[str], steps: int) -> Iterator[list[str]]:
    """Yield the lines of the table."""
    for name in names:
        one = MECHANISMS[name]
        sim = rtmbs.Simulation(one.make(), h=H)
        found = exported(sim, list(one.inputs), (), H, None)
        numbers = sum(map(len, (sim.state.z, sim.state.zd, sim.state.zdd, sim.state.lam, sim.state.s)))
        same = equal_steps(library, found, sim, steps, one.inputs)
        moved = float(np.abs(sim.state.zd).max()) if len(sim.state.zd) else math.nan
        yield [name, f"{numbers}", f"{same:,} of {steps:,}", f"{moved:.3g}", f"{checksum(state_bytes(sim)):016x}"]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(MECHANISMS)}; all unless given")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--target", default=HOST, choices=X86)
    given = parser.parse_args()
    file: Path = native_library(exported(build("top").compile(), (), (), H, None).instance, given.target)
    head = ["mechanism", "numbers in a state", "steps with equal bytes", "largest rate at the end", "digest of the end"]
    found = list(rows(opened(file), given.names or list(MECHANISMS), given.steps))
    print(f"target {given.target}\n\n{table(head, found)}")


if __name__ == "__main__":
    main()
