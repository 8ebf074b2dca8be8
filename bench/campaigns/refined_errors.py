"""Random mechanisms, smooth and irregular: what ``refined`` estimates, against equations of their own.

Irregular are forces with a step or a kink in angle or time, light bodies behind heavy ones, and chaotic chains. A case
is one mechanism, one step and two or three runs. It fails when the error of a body's place, velocity or acceleration
at any sample exceeds three times the estimate there, unless the estimate is NaN: the word that it is not known. A run
that tells that its motion may be wrong, because a force is too sudden for its steps, is counted as one that ends in
words.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from bench.campaigns.campaign import Campaign, Tally
from bench.campaigns.own_mechanisms import GROUND, planar_model
from rtmbs import Simulation, refined
from rtmbs.errors import RtmbsError
from rtmbs.methods import Method

Array = NDArray[np.float64]

KINDS = ("rotor", "chain", "crank_rocker", "slider_crank", "planar")
LAWS = ("none", "steep", "kink", "cubic", "late", "steep", "none")
T_END = 0.5  # [s]
STEPS = 16, 128
ALLOWED = 3.0
REFERENCE = 2e-8  # of the largest value: differences below it are the reference's, and rounding of penalties
RTOL = 1e-12
DOUBT = "may be wrong"  # words of a run whose forces are too sudden for its steps

Law = Callable[[float, float, float], float]


def law_of(rng: np.random.Generator, name: str, size: float) -> Law | None:
    """Return a torque of time, angle and rate [N m], which NumPy numbers and recorded ones go through."""
    place, steep = float(rng.uniform(-0.5, 0.8)), float(10.0 ** rng.uniform(-3.0, -1.0))
    laws: dict[str, Law] = {
        "steep": lambda t, z, zd: -size * np.tanh((z - place) / steep),
        "kink": lambda t, z, zd: -20.0 * size * np.maximum(z - place, 0.0),
        "cubic": lambda t, z, zd: -size * z**3 - 0.1 * size * zd,
        "late": lambda t, z, zd: size * np.tanh((t - 0.3 * T_END) / (0.1 * steep)),
    }
    return laws.get(name)


def case_of(seed: int, method: Method | None = None) -> tuple[float, float, str, bool]:
    """Return the largest error over its estimate, the share of channels that are NaN, a text, and if DOUBT is told."""
    rng = np.random.default_rng((seed, 3203))
    kind, name = KINDS[seed % len(KINDS)], str(rng.choice(LAWS))
    both = planar_model(rng, kind, float(10.0 ** rng.uniform(-0.5, 1.2)), 9.81)
    law = law_of(rng, name, float(np.mean(both.own.mass)) * float(rng.uniform(1.0, 30.0)))
    if law is not None and kind != "planar":
        both.model.add_force("law", lambda t, k, p: law(t, k.z, k.zd), joint="j0")
        both.own.torques.append((GROUND, 0, law))
    steps, runs = int(rng.integers(*STEPS)), int(rng.integers(2, 4))
    sim = Simulation(both.model.compile(), T_END / steps)
    times = np.linspace(0.0, T_END, steps + 1)[1:]
    exact = both.motion(sim, times, RTOL, 1e-3 if law else math.inf)
    result = refined(sim.system, T_END / steps, T_END, runs=runs, method=method)
    worst, unknown, channels = 0.0, 0, 0
    for channel, true in exact.items():
        off = np.abs(result[channel][1:] - true).max(axis=1)
        told = result.error(channel)[1:].max(axis=1)
        channels += 1
        unknown += bool(np.isnan(told).any())
        beyond = np.maximum(off - REFERENCE * np.abs(true).max(), 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            worst = max(worst, float(np.nanmax(np.where(beyond > 0.0, beyond / told, 0.0), initial=0.0)))
    what = f"{kind}, {name}, {steps} steps, {runs} runs, power {result.measured_power:.2f} of {result.expected_power}"
    return worst, unknown / channels, what, any(DOUBT in words for words in result.warnings)


def run(cases: int, seed: int, method: Method | None = None) -> Tally:
    """Try every case."""
    tally, unknown, words = Tally(), 0.0, 0
    for k in range(seed, seed + cases):
        try:
            worst, share, what, doubt = case_of(k, method)
        except RtmbsError:
            doubt = True
        if doubt:
            words += 1
            tally.survive()
            continue
        unknown += share
        tally.largest("error over its estimate", worst)
        if worst <= ALLOWED:
            tally.survive()
        else:
            tally.fail(f"seed {k}: {worst:.2f}, {what}")
    tally.largest("share of channels whose error is not known", unknown / cases)
    tally.largest("share of runs that ended in words", words / cases)
    return tally


CAMPAIGN = Campaign(
    "refined-errors",
    "estimates of refined are at least a third of the true error in random mechanisms with irregular forces, or NaN",
    full=600,
    bounded=25,
    run=run,
)
