"""Random cars of every template: refusals by name, loads, mirror images, closed loops.

The references are the weight, the mirror image of the car, and joint equations written down in ``suspension_branches``.

Iterates of a car and its mirror image are no mirror images, for the cut joint of a loop has directions of its own. So
both are judged with a tolerance of Newton's iteration of 1e-13. The car moves once more with the usual one, 1e-9: its
converged steps must close all joints, too.

Where the mirror image is off by more than its bound, one of two causes must be shown.

* Rounding of a step is that of its matrix, which holds loops c = 1e6 times as firmly as masses. Then the bound holds
  with loops 100 times softer, whose rounding is that much less. The distance must also be of the size that a change of
  the first lost digit at the start leaves in the same car.
* A singular pose that both reports name: the bound holds up to the first step that did not end CONVERGED, which is the
  same step with the same Outcome in both. Which way a part goes from its dead centre is a matter of the last digit.
"""

import re
import warnings
from dataclasses import replace
from typing import Any

import numpy as np

import rtmbs
from bench.campaigns.campaign import Campaign, Tally, each
from bench.campaigns.car_designs import Design, carrying_luggage, random_design
from bench.campaigns.suspension_branches import Closures, sides_of
from rtmbs.numerics.rotations.quaternions import rotations
from rtmbs.vehicle import Ramp, RoadUnderWheels

WEIGHT, MIRROR, GAP = 1e-8, 1e-10, 1e-6  # relative, m and rad, m and 1
YIELD = 10.0  # times lambda / alpha of the row that yields most: the bound of docs/theory/step.md, 1.6
EXACT = rtmbs.PenaltyTrapezoidal(tol=1e-13)  # the usual tolerance is 1e-9
SOFTER = rtmbs.PenaltyTrapezoidal(tol=1e-13, penalty=1e4)  # the usual penalty is 1e6
DIGITS = (1e-15, -1e-15, 2e-15)  # [m] of the height at the start, whose unit in the last place is 3e-17
SPREAD = 4.0  # times the largest change by them: the mirror image is one more draw of the same rounding
H, STEPS, LOOKED_AT = 1e-3, 400, 20
CORNERS = ("fl", "fr", "rl", "rr")
OTHER = {"fl": "fr", "fr": "fl", "rl": "rr", "rr": "rl", "tl": "tr", "tr": "tl"}


class Run:
    """A car or its mirror image on its way, its chassis ``raised`` [m]."""

    def __init__(self, design: Design, rests: Any, case: dict[str, Any], side: float, method: Any = None,
                 raised: float = 0.0) -> None:  # fmt: skip
        self.car, rest = (design.car, rests[0]) if side > 0 else (design.mirrored, rests[1])
        moving = self.car.changed(steer=Ramp(0.05, 0.15, 0.0, side * case["angle"])).at_speed(case["speed"], rest)
        carrying_luggage(moving, design.load, side)
        pose = moving.initials["chassis_pose"]
        moving.initials["chassis_pose"] = replace(pose, position=pose.position + raised * (np.arange(7) == 2))
        self.sim = sim = rtmbs.Simulation(moving.compile(), h=H, method=method)
        road = design.road if side > 0 else design.other_road
        self.road = None if road is None else RoadUnderWheels(sim, moving, road)
        for corner, friction in case["friction"].items():
            if road is None:
                sim.inputs[f"tyre_{corner if side > 0 else OTHER[corner]}.friction"] = friction
        for corner in CORNERS:
            sim.inputs[f"brake_{corner}.torque"] = case["brake"]
        for name, torque in moving.drive_inputs(case["drive"]).items():
            sim.inputs[name] = torque
        self.sides = closures(moving)
        self.outcomes: list[str] = []  # of the steps
        self.poses = [self.pose()]  # of the chassis, at the start and after each step

    def pose(self) -> tuple[Any, Any]:
        """Return the place (3,) [m] and the rotation matrix (3, 3) of the chassis."""
        return self.sim["chassis.position"], rotations(self.sim["chassis.orientation"])

    def finished(self) -> tuple[float, float, int]:
        """Take all steps; return the largest gap where steps converged, that over its bound, and the failed steps."""
        gap = share = 0.0
        for k in range(STEPS):
            if self.road is not None:
                self.road.act()
            report = self.sim.step()
            self.outcomes.append(report.outcome.name)
            if not report.outcome.accepted:
                return gap, share, 1
            self.poses.append(self.pose())
            if k % LOOKED_AT == 0 and report.outcome.name == "CONVERGED":
                now = max(self.gap(side) for side in self.sides)
                gap, share = max(gap, now), max(share, now / self.allowed())
        return gap, share, 0

    def allowed(self) -> float:
        """Return the largest gap that loops may have: GAP, or YIELD times what they yield to their present forces."""
        state = self.sim.state
        soft = np.abs(state.lam) / self.sim.method.penalties_of(state)
        return max(GAP, YIELD * float(np.max(soft, initial=0.0)))

    def gap(self, side: Closures) -> float:
        """Return what the joints of a side of an axle miss."""
        poses = side.at(self.sim)
        travels = {corner: side.travel(poses, corner) for corner in side.corners}
        return float(np.max(np.abs(side.missed(poses, side.lengths, travels)), initial=0.0))


def closures(car: Any) -> list[Closures]:
    """Return joint equations of all sides of a car, without joints that are bushings, with rods as they are."""
    found = sides_of(car)
    for side in found:
        side.joints = [(corner, one) for corner, one in side.joints if one.name not in car.bushings(corner)]
        side.lengths = {name: car.rods[name].length for name in side.lengths if name in car.rods}
    return found


def loads_of(car: Any, rest: Any) -> dict[str, float]:
    """Return the loads of all wheels at rest, those of a trailer among them."""
    sim, behind = rest.equilibrium.simulation, [one for one in ("tl", "tr") if f"tyre_{one}" in car.forces]
    return rest.wheel_loads | {corner: float(sim[f"tyre_{corner}.force"][2]) for corner in behind}


def judged(seed: int, tally: Tally) -> str:
    """Return what is wrong with one car."""
    warnings.simplefilter("ignore", rtmbs.RtmbsWarning)
    rng, told = np.random.default_rng((seed, 3600)), "a design"
    try:
        design = random_design(rng)
        told = design.told
        rests = [one.changed(steer=0.0).rest() for one in (design.car, design.mirrored)]
        wrong = wrong_rest(design, rests, tally)
        return f"{told}: {wrong}" if wrong else wrong_motion(design, rests, rng, tally)
    except rtmbs.RtmbsError as error:
        count(tally, "refused")
        return "" if named(str(error)) else f"{told}: refused without a name: {error}"


def wrong_rest(design: Design, rests: Any, tally: Tally) -> str:
    """Return what is wrong with a car at rest: loads sum to the weight, and are those of the mirror image."""
    loads = [loads_of(design.car, rest) for rest in rests]
    weight = 9.81 * sum(body.mass for body in design.car.bodies.values())
    off = abs(sum(loads[0].values()) / weight - 1.0)
    apart = max(abs(load - loads[1][OTHER[corner]]) for corner, load in loads[0].items()) / weight
    tally.largest("weight", off)
    tally.largest("mirrored loads", apart)
    if off > WEIGHT:
        return f"loads differ from the weight by {off:.2g} of it"
    return f"loads of the mirror image differ by {apart:.2g} of the weight" if apart > WEIGHT else ""


def wrong_motion(design: Design, rests: Any, rng: np.random.Generator, tally: Tally) -> str:
    """Return what is wrong with the motions of a car and its mirror image."""
    car = design.car
    case = {
        "speed": rng.uniform(5.0, 30.0), "brake": rng.uniform(0.0, 400.0) * (rng.random() < 0.4),
        "angle": rng.uniform(-0.2, 0.2) * car.data.steering.max_angle,
        "drive": rng.uniform(-200.0, 600.0) * (rng.random() < 0.4),
        "friction": {corner: rng.uniform(0.3, 1.2) for corner in CORNERS},
    }  # fmt: skip
    runs = [Run(design, rests, case, side, EXACT) for side in (1.0, -1.0)]
    ends = [one.finished() for one in (*runs, Run(design, rests, case, 1.0))]
    gap, share = (max(values) for values in list(zip(*ends, strict=True))[:2])
    tally.largest("gap", gap)
    tally.largest("gap over its bound", share)
    if share > 1.0:
        return f"{design.told}: a converged step leaves a joint open by {gap:.2g}"
    bad, worse, _ = (end[2] for end in ends)
    if bad or worse:
        count(tally, "failed steps")
        return "" if bad and worse else f"{design.told}: a step fails in one of two mirror images only"
    off = apart(*runs, -1.0)
    if off <= MIRROR:
        tally.largest("mirror", off)
        return ""
    wrong = rounded(design, rests, case, runs[0], off, tally)
    return f"{design.told}: {wrong}" if wrong and not by_singular_pose(runs, off, tally) else ""


def by_singular_pose(runs: list[Run], off: float, tally: Tally) -> bool:
    """True when both reports name a step, the same one, and the mirror image keeps its bound up to there."""
    named = [next((k for k, name in enumerate(one.outcomes) if name != "CONVERGED"), STEPS) for one in runs]
    first = named[0]
    if first == STEPS or named[1] != first or runs[0].outcomes[first] != runs[1].outcomes[first]:
        return False
    if max(apart(*runs, -1.0, k) for k in range(first + 1)) > MIRROR:
        return False
    count(tally, "above 1e-10 behind a step that reports name")
    tally.largest("mirror behind such a step", off)
    return True


def rounded(design: Design, rests: Any, case: dict[str, Any], run: Run, off: float, tally: Tally) -> str:
    """Return what is wrong with a mirror image that is ``off`` by more than its bound; empty where it is rounding."""
    pair = [Run(design, rests, case, side, SOFTER) for side in (1.0, -1.0)]
    others = [Run(design, rests, case, 1.0, EXACT, raised=digit) for digit in DIGITS]
    for one in (*pair, *others):
        one.finished()
    soft = apart(*pair, -1.0)
    spread = max(apart(run, other, 1.0) for other in others)
    if soft > MIRROR:
        return f"the mirror image moves otherwise, by {off:.2g}, and by {soft:.2g} with softer loops"
    if off > SPREAD * spread:
        return f"the mirror image is off by {off:.2g}, the spread of rounding {spread:.2g}"
    tally.largest("mirror with softer loops", soft)
    tally.largest("mirror over the spread of rounding", off / spread)
    count(tally, "above 1e-10 by rounding")
    return ""


def apart(one: Run, two: Run, side: float, step: int = -1) -> float:
    """Return the distance of two cars after a step, in position [m] or rotation.

    The second is mirrored where ``side`` is -1.
    """
    S, (place, turn), (other_place, other_turn) = np.diag((1.0, side, 1.0)), one.poses[step], two.poses[step]
    return float(max(np.max(np.abs(place - S @ other_place)), np.max(np.abs(turn - S @ other_turn @ S))))


def count(tally: Tally, name: str) -> None:
    """Count one of a name."""
    tally.largest(name, tally.worst.get(name, 0.0) + 1.0)


def named(message: str) -> bool:
    """True when a refusal names an element besides the car: something in quotes, or a part with its corner."""
    said = re.sub(r"car '[^']*'", "", message)
    return "'" in said or re.search(r"_(f|r|t)[lr]?\b", said) is not None


def campaign(cases: int, seed: int) -> Tally:
    """Try random cars."""
    return each(judged, cases, seed)


CAMPAIGN = Campaign(
    "random_cars",
    "a random car assembles or is refused by name, its loads sum to the weight, its mirror image moves alike",
    300,
    6,
    campaign,
)
