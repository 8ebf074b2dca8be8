"""Mechanisms with one number ``a`` in a driver, a motor, a wrench or a gear: a part of the campaign of derivatives.

Mechanisms are those of ``bench.measures.random_mechanisms``: trees and loops with joints of every type on skew axes.
What ``a`` enters takes turns: profiles of drivers (amplitude, frequency, offset, rate, end and duration of a step,
knots of a spline), a motor or a wrench of time, the ratio of a gear and the offset of one.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

import rtmbs
from bench.measures.random_mechanisms import coordinates, random_mechanism
from rtmbs.errors import ModelError, StartError, TopologyError

Rng = np.random.Generator
Place = tuple[str, str]  # joint and coordinate
Adds = Callable[[rtmbs.Model, float, list[Place], Rng], Any]
DRAWS = 40  # of one seed, until the start accepts one
KNOTS = np.linspace(0.0, 0.05, 6)


def profile_of(make: Callable[[float, Rng], Any]) -> Adds:
    """Return what drives a coordinate by a profile of ``a``."""
    return lambda m, a, places, rng: m.add_driver("drive", make(a, rng), joint=places[0])


def motor(m: rtmbs.Model, a: float, places: list[Place], rng: Rng) -> None:
    """Add a motor whose force follows ``a`` and the time."""
    pace = float(rng.uniform(5.0, 50.0))
    m.add_force("motor", rtmbs.Motor(lambda t: a * np.sin(a * pace * t) + t), joint=places[0])


def wrench(m: rtmbs.Model, a: float, places: list[Place], rng: Rng) -> None:
    """Push and turn the last body."""
    pace, axis = float(rng.uniform(5.0, 50.0)), rng.normal(size=3)
    law = rtmbs.Wrench(force=lambda t: a * axis * np.cos(pace * t), torque=lambda t: a * a * t * axis)
    m.add_force("push", law, body=list(m.bodies)[-1])


def gear(m: rtmbs.Model, a: float, places: list[Place], rng: Rng) -> None:
    """Couple two coordinates by the ratio ``a``; the first rate of the second one is free."""
    m.add_coupler("gear", {places[0]: 1.0, places[1]: a})


def moved_gear(m: rtmbs.Model, a: float, places: list[Place], rng: Rng) -> None:
    """Couple two coordinates, with a wave of the amplitude ``a`` as the offset."""
    m.add_coupler("gear", {places[0]: 1.3, places[1]: a}, offset=rtmbs.Sine(0.1 * a, float(rng.uniform(1.0, 9.0))))


KINDS: dict[str, Adds] = {
    "amplitude": profile_of(lambda a, rng: rtmbs.Sine(0.1 * a, float(rng.uniform(1.0, 9.0)))),
    "frequency": profile_of(lambda a, rng: rtmbs.Sine(0.1, 8.0 * a, phase=float(rng.uniform(0.0, 6.0)), offset=-0.1)),
    "offset": profile_of(lambda a, rng: rtmbs.Sine(0.1, float(rng.uniform(1.0, 9.0)), offset=0.02 * a)),
    "rate": profile_of(lambda a, rng: rtmbs.ConstantRate(a)),
    "end of a step": profile_of(lambda a, rng: rtmbs.SmoothStep(0.0, 0.06, 0.0, 0.1 * a)),
    "time of a step": profile_of(lambda a, rng: rtmbs.SmoothStep(-0.001, 0.0873 * a, 0.0, 0.1)),
    "spline": profile_of(lambda a, rng: rtmbs.Spline(KNOTS, 0.1 * a * np.sin(20.0 * KNOTS + rng.uniform(0.0, 1.0)))),
    "motor": motor,
    "wrench": wrench,
    "gear": gear,
    "moved gear": moved_gear,
}
COUPLED = ("gear", "moved gear")


def mechanism(seed: int) -> tuple[str, Callable[[float], rtmbs.Model], float]:
    """Return the kind of a design, the function that builds its model, and the value; StartError when none starts."""
    kind = list(KINDS)[seed % len(KINDS)]
    rng = np.random.default_rng((seed, 31))
    value = 1.0 if kind in COUPLED and rng.random() < 0.3 else float(rng.uniform(0.5, 1.8) * rng.choice((-1.0, 1.0)))
    value = abs(value) if kind == "time of a step" else value
    for draw in range(DRAWS):

        def build(a: float, draw: int = draw) -> rtmbs.Model:
            return built(seed, draw, kind, a)

        try:
            sim = rtmbs.Simulation(build(value).compile(), h=1e-3)
        except (ModelError, StartError, TopologyError):
            continue
        if sim.start_report.degrees_of_freedom > 0 and np.abs(sim.state.zd).max(initial=0.0) < 10.0:
            return kind, build, value
    raise StartError(f"no draw of seed {seed} makes a mechanism that starts")


def built(seed: int, draw: int, kind: str, a: float) -> rtmbs.Model:
    """Return the model of a draw; ModelError when it has too few coordinates."""
    model, rng = random_mechanism((seed, draw)), np.random.default_rng((seed, draw, 32))
    model.drivers.clear()
    places = coordinates(model)
    if len(places) < 2:
        raise ModelError(f"draw {draw} of seed {seed} has no two coordinates")
    KINDS[kind](model, a, [places[k] for k in rng.permutation(len(places))], rng)
    return model
