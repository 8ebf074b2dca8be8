"""Inputs that change before every step: each way to hold them has order two, against small steps.

Four-bars, slider-cranks, five-bars and doors of the campaign ``turned``, turned at random. The torque of a motor at the
first joint follows a smooth signal of the time, written before each step: held at its value in the middle of the step,
or as the end of a ramp. Angle and rate are compared with a run of much smaller steps. A
fine step must take the error down as order two does.
"""

import numpy as np
from scipy.spatial.transform import Rotation

import rtmbs
from bench.campaigns.campaign import Campaign, Tally, each
from bench.campaigns.turned import G, mechanism
from rtmbs.errors import RtmbsError

WAYS = ("hold", "ramp")
STEPS, FINER = 40, 64  # of the coarse run; steps of the reference in one of them
LEAST_FALL = 16.0  # of the error, in an eighth of the step; order two has 64, order one 8
ROUNDING = 1e-7  # of the motion: an error that small is that of tolerances
SMALL = 2e-2  # of the motion: an error at the coarse step


def run(cases: int, seed: int) -> Tally:
    """Try ``cases`` mechanisms from ``seed`` on."""
    return each(judged, cases, seed)


def judged(case: int, tally: Tally) -> str:
    """Return which way to hold an input is wrong, or nothing."""
    rng = np.random.default_rng((case, 43))
    model = mechanism(case, Rotation.random(random_state=rng).as_matrix(), rng.normal(size=3))
    size = max(float(np.linalg.norm(body.center_of_mass)) for body in model.bodies.values())
    torque = 0.2 * G * size * sum(body.mass for body in model.bodies.values())
    system, pace = model.compile(), np.sqrt(G / size)
    h, omega = 0.01 / pace, 3.0 * pace

    def end(way: str, parts: int) -> np.ndarray:
        sim = rtmbs.Simulation(system, h=h / parts)
        motor = next(name for name in system.inputs if name.startswith("motor."))
        sim.inputs.ramp(motor) if way == "ramp" else sim.inputs.hold(motor)
        for _ in range(STEPS * parts):
            at = sim.t + sim.h * (1.0 if way == "ramp" else 0.5)
            sim.inputs[motor] = torque * np.sin(omega * at)
            if not sim.step().outcome.accepted:
                raise RtmbsError("a step failed")
        return np.array((float(sim["a.angle"]), float(sim["a.rate"]) / omega))

    exact = end("ramp", FINER)
    motion = float(np.abs(exact).max())
    for way in WAYS:
        coarse, fine = (float(np.abs(end(way, parts) - exact).max()) / motion for parts in (1, 8))
        tally.largest(f"{way}: error", coarse)
        if coarse > SMALL or (coarse > ROUNDING and fine * LEAST_FALL > coarse):
            return f"{way}: the error is {coarse:.2g}, and {fine:.2g} at an eighth of the step"
    return ""


CAMPAIGN = Campaign(
    name="holds",
    claim="inputs that change before every step have order two, held and as ramps",
    full=100,
    bounded=16,
    run=run,
)
