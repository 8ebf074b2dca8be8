"""Singular poses: rows of windows and trammels pass them again and again, on their branch and with their energy."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.campaigns.campaign import Campaign, Tally
from rtmbs import Model, Prismatic, Result, Revolute, RtmbsError, Simulation, library
from rtmbs.library.linkages import add_bar

JUMP = 1e-5  # of the exchanged energy, beside the smooth change from step to step
APART = 0.05  # steps of the fastest post that posts of a parallelogram may be apart
SPIKE = 100.0  # largest reaction of a step that is not marked, in medians
STEPS_OF = (1e-3, 2.5e-3, 5e-3, 1e-2)  # [s]
TRAMMEL_STEP = 2.5e-3  # [s] at most
T_END = 10.0  # [s]

Array = NDArray[np.float64]


class Case(NamedTuple):
    """A mechanism, its step, and what is looked at."""

    words: str
    model: Model
    h: float
    posts: tuple[str, ...]  # joints whose angles stay alike
    cuts: tuple[str, ...]  # joints whose reactions are looked at


def draw(seed: int) -> Case:
    """Return A02 with some windows, or a trammel on skew axes, at a random speed."""
    rng = np.random.default_rng((seed, 6))
    h, rate = float(rng.choice(STEPS_OF)), float(rng.uniform(-3.0, 3.0))
    if rng.random() < 0.2:
        h = min(h, TRAMMEL_STEP)  # at longer ones a whipping rod changes its energy as fast as a jump, smoothly
        return Case(f"trammel, {h * 1e3:g} ms", trammel(rng), h, (), ("b",))
    n = int(rng.choice((1, 2, 5, 40)))
    model = library.build("windows", n=n, rate=rate)
    posts = tuple(f"pivot_{i}" for i in range(n + 1))
    return Case(f"{n} windows, {h * 1e3:g} ms, {rate:.2f} rad/s", model, h, posts, tuple(f"cut_{j}" for j in range(n)))


def trammel(rng: np.random.Generator) -> Model:
    """Return a rod on two sliders that cross at a random angle: each slider turns back where it rests."""
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    x, y, across = turn.T
    other = np.cos(angle := rng.uniform(1.0, 2.1)) * x + np.sin(angle) * y
    model = Model("trammel", gravity=tuple(9.81 * rng.normal(size=3) / np.sqrt(3.0)))
    a, b, masses = rng.uniform(0.5, 1.0) * x, rng.uniform(0.5, 1.0) * other, 10.0 ** rng.uniform(-0.5, 0.5, 3)
    for name, point, mass in (("left", a, masses[0]), ("right", b, masses[1])):
        model.add_body(name, mass=mass, inertia=(0.01 * mass,) * 3, position=point)
    add_bar(model, "rod", a, b, masses[2], axial=1e-2 * masses[2])
    model.add_joint("along", Prismatic(tuple(x)), "ground", "left", point=a)
    model.add_joint("beside", Prismatic(tuple(other)), "ground", "right", point=b)
    model.add_joint("a", Revolute(axis=tuple(across)), "left", "rod", point=a)
    model.add_joint("b", Revolute(axis=tuple(across)), "rod", "right", point=b, cut=True)
    model.set_initial("a", position=0.0, rate=float(rng.choice((-1.0, 1.0)) * rng.uniform(1.0, 4.0)))
    return model


def jump_of(result: Result) -> float:
    """Return the largest jump of the energy after its first step, of the exchanged energy.

    A jump shows twice its size in third differences, where the smooth change of E from step to step does not show.
    """
    return float(0.5 * np.abs(np.diff(result["energy.total"][1:], 3)).max() / np.ptp(result["energy.kinetic"]))


def apart_of(result: Result, case: Case) -> float:
    """Return how far posts are apart at most, in steps of the fastest."""
    if not case.posts:
        return 0.0
    angles, rates = (np.stack([result[f"{post}.{kind}"] for post in case.posts]) for kind in ("angle", "rate"))
    return float(np.ptp(angles, axis=0).max() / (case.h * np.abs(rates).max()))


def spike_of(result: Result, case: Case) -> float:
    """Return the largest force of a cut joint in its components that are not marked, in medians of its force."""
    found = 0.0
    for cut in case.cuts:
        force = result[f"{cut}.reaction"][:, :3]
        sound = np.where(result[f"{cut}.reaction_doubtful"][:, :3] != 0.0, 0.0, force)
        found = max(found, float(np.linalg.norm(sound, axis=1).max() / np.median(np.linalg.norm(force, axis=1))))
    return found


def run(cases: int, first: int) -> Tally:
    """Run every mechanism through its singular poses."""
    tally = Tally()
    for seed in range(first, first + cases):
        case = draw(seed)
        try:
            result = Simulation(case.model.compile(), h=case.h).run(T_END)
        except RtmbsError as error:
            tally.fail(f"seed {seed}, {case.words}: {error}")
            continue
        jump, apart, spike = jump_of(result), apart_of(result, case), spike_of(result, case)
        tally.largest("jump of the energy, of the exchanged", jump)
        tally.largest("posts apart, in steps", apart)
        tally.largest("reaction in components that are not marked, in medians", spike)
        tally.largest("share of steps next to a singular pose", result.outcomes.get("NEAR_SINGULAR", 0) / len(result))
        if jump <= JUMP and apart <= APART and spike <= SPIKE:
            tally.survive()
        else:
            tally.fail(
                f"seed {seed}, {case.words}: jump {jump:.1e}, posts {apart:.1e} apart, reaction {spike:.0f} medians"
            )
    return tally


CAMPAIGN = Campaign(
    "singular",
    f"rows of windows at 1 to 10 ms and trammels at 1 to 2.5 ms pass singular poses with jumps of the energy below "
    f"{JUMP:g} of the exchanged, posts at most {APART:g} steps apart, and reactions beyond {SPIKE:g} medians marked",
    full=240,
    bounded=10,
    run=run,
)
