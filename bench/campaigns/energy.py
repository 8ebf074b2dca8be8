"""Energy of random unequal loops over many revolutions: four-bars and slider-cranks, skew planes, odd units."""

import numpy as np
from numpy.typing import NDArray

from bench.campaigns.campaign import Campaign, Tally
from rtmbs import Model, PenaltyTrapezoidal, Prismatic, Revolute, RtmbsError, Simulation
from rtmbs.library.linkages import add_bar
from rtmbs.semirecursive.balance import KEPT

KEEPS = 5e-3  # of the exchanged energy, the change of the energy of the path: what turning points leave
LOSES = 5e-3  # the same of the mean of E from the first fifth to the last; the rule without a balance 1e-2 to 1e-1
FARTHER = 1.0  # error of positions, of the error without the balance, for one degree of freedom
STEPS = 12_000  # 60 s of 5 ms, 60 to 100 revolutions
REFERENCE_STEPS = 200
RADIANS_A_STEP = 0.03  # of the crank at the start

Array = NDArray[np.float64]


def linkage(seed: int) -> tuple[Model, float]:
    """Return a free four-bar whose crank goes round, or a slider-crank, and the step that fits its speed."""
    rng = np.random.default_rng((seed, 8))
    unit, crank = 10.0 ** rng.uniform(-2, 2), rng.uniform(0.2, 0.5)
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    across, y, z = turn.T  # axis of the joints, and the plane
    angle, rate = rng.uniform(0.0, 2.0 * np.pi), rng.uniform(3.0, 8.0)
    tip = crank * np.array([np.cos(angle), np.sin(angle)])
    if sliding := rng.random() < 0.4:
        far = np.array([tip[0] + np.sqrt(rng.uniform(1.0, 1.5) ** 2 - tip[1] ** 2), 0.0])
    else:
        coupler, rocker = rng.uniform(1.0, 1.3), rng.uniform(0.85, 1.1)  # shortest + longest < the other two
        gap = np.array([1.0, 0.0]) - tip
        along = (gap @ gap + coupler**2 - rocker**2) / (2.0 * np.linalg.norm(gap))
        ahead = gap / np.linalg.norm(gap)
        far = tip + along * ahead + np.sqrt(coupler**2 - along**2) * np.array([-ahead[1], ahead[0]])

    def place(point: Array) -> Array:
        return unit * (point[0] * y + point[1] * z)

    model = Model(f"loop {seed}", gravity=tuple(unit * 9.81 * rng.normal(size=3) / np.sqrt(3.0)))
    masses = np.sort(10.0 ** rng.uniform(-1, 1, 3))[::-1]  # a light crank would be whipped through its dead centres
    axis = Revolute(axis=tuple(across))
    thin = 1e-2 * masses * unit**2
    base, tip_at, far_at = place(np.zeros(2)), place(tip), place(far)
    add_bar(model, "crank", base, tip_at, masses[0], axial=thin[0] * crank**2)
    add_bar(model, "coupler", tip_at, far_at, masses[1], axial=thin[1])
    model.add_joint("crank", axis, "ground", "crank", point=base)
    model.add_joint("pin", axis, "crank", "coupler", point=tip_at)
    if sliding:
        model.add_body("last", mass=masses[2], inertia=(thin[2],) * 3, position=far_at)
        model.add_joint("guide", Prismatic(axis=tuple(y)), "ground", "last", point=far_at)
    else:
        add_bar(model, "last", place(np.array([1.0, 0.0])), far_at, masses[2], axial=thin[2])
        model.add_joint("guide", axis, "ground", "last", point=place(np.array([1.0, 0.0])))
    model.add_joint("knee", axis, "coupler", "last", point=far_at, cut=True)
    model.set_initial("crank", position=0.0, rate=rate)
    return model, RADIANS_A_STEP / rate


def distance(model: Model, h: float, steps: int) -> float:
    """Return the error of positions with the balance over that without, from a reference with far smaller steps."""
    system = model.compile()

    def end(parts: int, hold: bool) -> Array:
        sim = Simulation(system, h=h / parts, method=PenaltyTrapezoidal(hold_energy=hold))
        sim.run(steps * h)
        return np.asarray(sim.state.z / system.typical)

    coarse, fine = end(16, False), end(32, False)
    exact = fine + (fine - coarse) / 3.0
    with_it, without = (float(np.abs(end(1, hold) - exact).max()) for hold in (True, False))
    return with_it / without


def losses(model: Model, h: float) -> tuple[float, float]:
    """Return the change of the path's energy and the loss of the mean of E, of the exchanged energy."""
    sim = Simulation(model.compile(), h=h)
    start = float(sim.state.memory["energy"][:, KEPT].sum())
    result = sim.run(STEPS * h)
    energy, exchanged = result["energy.total"], float(np.ptp(result["energy.kinetic"]))
    fifth = len(energy) // 5
    lost = abs(float(energy[-fifth:].mean() - energy[:fifth].mean()))
    return abs(float(sim.state.memory["energy"][:, KEPT].sum()) - start) / exchanged, lost / exchanged


def run(cases: int, first: int) -> Tally:
    """Step every loop, compare its energy with that of the start and its positions with a reference."""
    tally = Tally()
    for seed in range(first, first + cases):
        model, h = linkage(seed)
        try:
            (path, lost), ratio = losses(model, h), distance(model, h, REFERENCE_STEPS)
        except RtmbsError as error:
            tally.fail(f"seed {seed}: {error}")
            continue
        tally.largest("energy of the path off, of the exchanged", path)
        tally.largest("mean energy lost, of the exchanged", lost)
        tally.largest("error of positions, of that without the balance", ratio)
        if path <= KEEPS and lost <= LOSES and ratio <= FARTHER:
            tally.survive()
        else:
            tally.fail(f"seed {seed}: path off by {path:.1e}, mean lost {lost:.1e}, positions {ratio:.2g} times as far")
    return tally


CAMPAIGN = Campaign(
    "energy",
    f"free loops of unequal links keep the energy of their path to {KEEPS:g} of the exchanged over {STEPS} steps, the "
    f"mean of E to {LOSES:g}; their positions are no farther off than without",
    full=400,
    bounded=40,
    run=run,
)
