"""Published problems: IFToMM A01 to A05, spatial slider-crank, single joints of ADAMS. Distances from their values."""

import math

import numpy as np
from numpy.typing import NDArray

from bench.methods.problems import ANDREWS_END, ANDREWS_START
from rtmbs import Every, IterationMeter, Recorder, Result, Simulation, library
from rtmbs.library import references

Array = NDArray[np.float64]
Numbers = dict[str, float]

BRICARD_PERIOD = 4.991711513690  # [s]
SLIDER_PERIOD = 0.60191  # [s]
SLIDER_RANGE = (0.18495, 0.29016)  # [m]
GOVERNOR = {0.1: 0.52383648, 0.5: 0.74324942, 1.0: 0.50142092}  # [s]: height of the slider [m]
BRICARD = {0.5: 0.252528841, 1.0: 1.035028460}  # [s]: angle of the first joint [rad]

ANDREWS_JOINTS = ("O", "F", "B", "G", "A5", "H", "A7")  # of beta, Theta, gamma, Phi, delta, Omega, epsilon
ANDREWS_ACCELERATIONS = (14222.4439199541, -10666.8329399656, 0.0, 0.0, 0.0, 0.0, 0.0)

ADAMS = {  # (joint, frame): position of the mass centre and force on ground at 5 s
    ("revolute", "origin"): ((-1.999680, 0.0, -0.0355587), (-0.510225, 0.0, -0.248259)),
    ("revolute", "tilted"): ((1.209960, 3.406400, 1.593600), (2.118950, 9.409770, -19.21640)),
    ("prismatic", "tilted"): ((3.0, -59.29160, -58.29160), (0.0, 4.903320, -4.903320)),
}


def run(name: str, h: float, t_end: float, **options: object) -> tuple[Simulation, Result]:
    """Run a mechanism of the library and record every step."""
    sim = Simulation(library.build(name, **options).compile(), h)
    return sim, sim.run(t_end)


def pendulum(h: float = 1e-3) -> Numbers:
    """A01, 10 s: largest distance of P from the exact motion [m], at whole tenths of a second."""
    _, result = run("pendulum", h, 10.0)
    every = slice(None, None, round(0.1 / h))
    q = references.pendulum(result.t[every]).q[:, 0]
    exact = np.stack([np.sin(q), -np.cos(q)], axis=1)
    return {"position": largest(result["P.position"][every, :2] - exact)}


def windows(h: float = 2.5e-3, n: int = 2) -> Numbers:
    """A02, 10 s: distance of B0 [m], energy error [J], spread of the posts [rad], mean iterations a step."""
    sim = Simulation(library.build("windows", n=n).compile(), h)
    meter = IterationMeter()
    result = sim.run(10.0, observers=[meter])
    every = slice(None, None, round(0.1 / h))
    phi = references.windows(n, result.t[every]).q[:, 0]
    exact = np.stack([np.cos(phi), np.sin(phi)], axis=1)
    energy = result["energy.total"]
    posts = np.stack([result[f"pivot_{k}.angle"] for k in range(n + 1)])
    return {
        "position": largest(result["B0.position"][every, :2] - exact),
        "energy": largest(energy - energy[0]),
        "first energy": float(energy[0]),
        "branch": largest(posts - posts[0]),
        "horizontal": int(np.count_nonzero(np.diff(np.sign(result["B0.position"][:, 1])))),  # singular poses crossed
        "iterations": meter.mean,
    }


def andrews(h: float = 1.25e-5) -> Numbers:
    """A03, 0.03 s: largest distance of the angles [rad] at the end, of the first accelerations [relative]."""
    sim = Simulation(library.build("andrews").compile(), h)
    recorder = Recorder(Every(1e-3))
    result = sim.run(0.03, observers=[recorder])
    end = np.array([result[f"{joint}.angle"][-1] for joint in ANDREWS_JOINTS]) + ANDREWS_START
    first = np.array([result[f"{joint}.acceleration"][0] for joint in ANDREWS_JOINTS])
    apart = np.abs(end - ANDREWS_END)
    return {
        "angles": float(apart.max()),
        "slow angles": float(apart[2:].max()),
        "first accelerations": largest(first - ANDREWS_ACCELERATIONS) / ANDREWS_ACCELERATIONS[0],
    }


def bricard(h: float = 5e-3) -> Numbers:
    """A04, 10 s: angle at 0.5 and 1 s [rad], period [s], swing, third joint at a quarter swing, redundant equations."""
    sim, result = run("bricard", h, 10.0)
    angle, rate, third = result["joint_1.angle"], result["joint_1.rate"], result["P3.position"]
    returns = crossings(result.t, rate, rising=True)  # at rest at the lower end of the swing
    report = sim.start_report
    lowest = third[np.argmin(third[:, 2])]
    return {
        **{f"angle at {t:g} s": float(abs(angle[round(t / h)] - value)) for t, value in BRICARD.items()},
        "period": abs(returns[0] - BRICARD_PERIOD),
        "swing": abs(float(np.ptp(angle)) - math.pi),
        "third joint": largest(lowest[1:] - np.array([-math.sqrt(3.0) / 2.0, -0.5])),
        "rank": report.rank,
        "redundant": len(report.redundant),
        "degrees of freedom": report.degrees_of_freedom,
    }


def governor(h: float = 1e-3) -> Numbers:
    """A05, 10 s: height of the slider at 0.1, 0.5 and 1 s, and its largest [m]."""
    _, result = run("governor", h, 10.0)
    height = 0.5 + result["slide.displacement"]
    distances = {f"height at {t:g} s": float(abs(height[round(t / h)] - value)) for t, value in GOVERNOR.items()}
    return {**distances, "largest": float(height.max())}


def slider_crank(h: float = 1e-3) -> Numbers:
    """Spatial slider-crank, 5 s: first and mean period [s], range of the slider [m], as distances from published."""
    _, result = run("slider_crank", h, 5.0)
    place = 0.2 + result["slide.displacement"]
    turns = result["pivot.angle"] / (2.0 * math.pi)
    whole = np.arange(1, math.floor(turns[-1]) + 1)
    returns = np.concatenate([crossings(result.t, turns - k, rising=True)[:1] for k in whole])
    return {
        "period": abs(returns[0] - SLIDER_PERIOD),
        "mean period": abs(returns[-1] / len(returns) - SLIDER_PERIOD),
        "range": max(abs(place.min() - SLIDER_RANGE[0]), abs(place.max() - SLIDER_RANGE[1])),
    }


def adams(joint: str, frame: str, h: float = 1e-3) -> Numbers:
    """A single joint, 5 s: distance of the mass centre [m], of the force on ground [N]."""
    sim, result = run("single_joint", h, 5.0, joint=joint, frame=frame)
    position, force = ADAMS[joint, frame]
    return {
        "position": largest(result["center.position"][-1] - position),
        "reaction": largest(-sim.reaction("joint")[:3] - force),
    }


def crossings(t: Array, values: Array, rising: bool) -> Array:
    """Return where ``values`` pass zero, upwards when rising, by the cubic through the four samples around."""
    signs = values if rising else -values
    places = np.flatnonzero((signs[:-1] < 0.0) & (signs[1:] >= 0.0))
    found = []
    for k in places[(places >= 1) & (places < len(t) - 2)]:
        near = slice(k - 1, k + 3)
        h = t[k + 1] - t[k]
        roots = np.roots(np.polyfit((t[near] - t[k]) / h, values[near], 3))
        real = roots[np.abs(roots.imag) < 1e-9].real
        found.append(t[k] + h * float(real[np.argmin(np.abs(real - 0.5))]))
    return np.array(found)


def largest(values: Array) -> float:
    return float(np.max(np.abs(values)))
