"""Light bodies between heavy ones: a loop whose masses are up to 1e9 apart stays closed, its reactions of order two."""

from itertools import pairwise

import numpy as np

from bench.campaigns.campaign import Campaign, Tally
from rtmbs import Model, Prismatic, Revolute, RtmbsError, Simulation, ViolationMeter
from rtmbs.library.linkages import add_bar

OPEN = 1e-6  # of the crank's length
ORDER = 1.5  # of the reactions at least, between three steps
T_END, STEPS = 0.2, (2e-3, 1e-3, 5e-4)  # [s]
LIGHT = ((1,), (2,), (1, 2), (0, 2))  # crank, rod, slider; a heavy slider whips a light crank round its dead centre
X, Y = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)


def slider_crank(seed: int) -> tuple[Model, str]:
    """Return a slider-crank of which one or two bodies are 1 to 1e9 times lighter than the rest, or without mass."""
    rng = np.random.default_rng((seed, 5))
    scale = 10.0 ** rng.uniform(-3, 3)
    masses = scale * rng.uniform(0.5, 2.0, 3)
    light = list(LIGHT[rng.integers(len(LIGHT))])
    masses[light] *= 10.0 ** rng.uniform(-9, 0, len(light)) if rng.random() < 0.9 else 0.0
    crank, rod, angle = 0.1, rng.uniform(0.3, 0.5), rng.uniform(0.3, 1.2)
    tip = (0.0, crank * np.cos(angle), crank * np.sin(angle))
    wrist = (0.0, tip[1] + np.sqrt(rod**2 - tip[2] ** 2), 0.0)
    model = Model(f"slider-crank {seed}")
    for name, start, end, mass in (("crank", (0.0, 0.0, 0.0), tip, masses[0]), ("rod", tip, wrist, masses[1])):
        add_bar(model, name, start, end, mass, axial=1e-3 * mass)
    model.add_body("slider", mass=masses[2], inertia=(1e-3 * masses[2],) * 3, position=wrist)
    model.add_joint("pivot", Revolute(axis=X), "ground", "crank", point=(0.0, 0.0, 0.0))
    model.add_joint("pin", Revolute(axis=X), "crank", "rod", point=tip)
    model.add_joint("slide", Prismatic(axis=Y), "ground", "slider", point=wrist)
    model.add_joint("wrist", Revolute(axis=X), "rod", "slider", point=wrist, cut=True)
    model.set_initial("pivot", position=0.0, rate=10.0)
    return model, f"masses {masses[0]:.1e}, {masses[1]:.1e}, {masses[2]:.1e} kg"


def tried(model: Model) -> tuple[float, float]:
    """Return the largest opening of the loop [m], and the order of the reactions in the cut joint."""
    system, ends, opened = model.compile(), [], 0.0
    for h in STEPS:
        meter, sim = ViolationMeter(), Simulation(system, h=h)
        result = sim.run(T_END, observers=[meter])
        opened = max(opened, meter.largest["position_violation"])
        every = round(STEPS[0] / h)
        ends.append(result["wrist.reaction"][every::every, :3])
    apart = [float(np.linalg.norm(one - other)) for one, other in pairwise(ends)]
    return opened, float(np.log2(apart[0] / apart[1])) if apart[1] > 0.0 else np.inf


def run(cases: int, first: int) -> Tally:
    """Try every slider-crank with three steps."""
    tally = Tally()
    for seed in range(first, first + cases):
        model, masses = slider_crank(seed)
        try:
            opened, order = tried(model)
        except RtmbsError as error:
            tally.fail(f"seed {seed}, {masses}: {error}")
            continue
        tally.largest("loop open [m]", opened)
        tally.largest("order below two", 2.0 - order)
        if opened <= OPEN * 0.1 and order >= ORDER:
            tally.survive()
        else:
            tally.fail(f"seed {seed}, {masses}: loop open by {opened:.1e} m, reactions of order {order:.2f}")
    return tally


CAMPAIGN = Campaign(
    "mass_ratios",
    f"loops with masses up to 1e9 apart stay closed to {OPEN:g} of the crank, with reactions of order two",
    full=400,
    bounded=60,
    run=run,
)
