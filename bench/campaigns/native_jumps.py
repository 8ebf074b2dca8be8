"""Functions of time with jumps in the native library: closed forms of a free mass, and the bytes of a Simulation."""

import numpy as np

import rtmbs
from bench.campaigns.campaign import Campaign, Tally, each
from bench.native_host import Mechanism, opened
from rtmbs.export.packages import exported, native_library

STEPS = 120
ROUNDING = 1e-10  # of the largest rate


def judged(case: int, tally: Tally) -> str:
    """Return what is wrong with a mass that forces of stairs push; "" when nothing is.

    A force that is constant between jumps moves it along parabolas. Mean inputs make the rate exact to rounding. The
    position is right to order two: at most the jump times h^2 / 8 a jump.
    """
    rng = np.random.default_rng((case, 35))
    h, mass = float(10.0 ** rng.uniform(-4.0, -2.0)), float(10.0 ** rng.uniform(-1.0, 2.0))
    count = int(rng.integers(2, 12))
    times = np.sort(rng.uniform(0.0, STEPS * h, count - 1))
    if rng.random() < 0.5:
        times = np.round(times / h) * h  # on the grid
    if rng.random() < 0.3:
        times = np.sort(np.append(times, times[-1] + rng.uniform(1e-3, 0.5) * h))  # several in one step
    times = np.unique(np.concatenate(([0.0], times)))
    forces = rng.uniform(-50.0, 50.0, len(times))
    model = rtmbs.Model("mass", gravity=(0.0, 0.0, 0.0))
    body = model.add_body("mass", mass=mass, inertia=np.eye(3))
    model.add_joint("slide", rtmbs.Prismatic(axis=rng.normal(size=3)), "ground", body)
    model.add_force("push", rtmbs.Motor(rtmbs.Staircase(times, forces)), joint="slide")
    sim = rtmbs.Simulation(model.compile(), h=h)
    found = exported(sim, (), ["slide.displacement", "slide.rate"], h, None)
    it = Mechanism(opened(native_library(found.instance)), found.file)
    end = STEPS * h
    spans = np.diff(np.append(times, end).clip(max=end))  # a jump may lie beyond the end
    late = end - times
    jumps = np.diff(forces, prepend=0.0)
    rate, place = float(forces @ spans) / mass, float(jumps @ (0.5 * late.clip(0.0) ** 2)) / mass
    for _ in range(STEPS):
        sim.step()
    if it.step(STEPS):
        return "a step was refused"
    size = max(float(np.abs(forces).max()) * end / mass, 1e-12)
    error = abs(it.read("slide.rate") - rate) / size
    tally.largest("error of the rate, relative", error)
    gap = abs(it.read("slide.displacement") - place)
    bound = float(np.abs(jumps[1:]).sum()) * h * h / 8.0 / mass + 1e-10 * size * end
    tally.largest("error of the position over its bound", gap / bound)
    if error > ROUNDING or gap > bound:
        return f"rate off by {error:.2g}, position by {gap / bound:.2g} of its bound"
    same = it.read("slide.rate") == sim["slide.rate"] and it.read("slide.displacement") == sim["slide.displacement"]
    return "" if same else "other bytes than those of a Simulation"


def run(cases: int, seed: int) -> Tally:
    """Try ``cases`` masses from ``seed`` on."""
    return each(judged, cases, seed)


CAMPAIGN = Campaign(
    "native_jumps",
    "a native mass that stairs of force push has the rates of its parabolas, and the bytes of a Simulation",
    3000,
    100,
    run,
)
