"""Random cars: hard points, masses, tyres, friction and inputs; refusals by name, weight, mirror images, closed loops.

The references are the weight, the mirror image of the car, and the lengths of its tie rods from positions of markers.

Rounding of a step is that of its matrix, which holds loops c = 1e6 times as firmly as masses. Where the mirror image is
off by more than its bound, the car must keep the bound with loops 100 times softer, whose rounding is that much less.
Its distance must also be of the size that a change of the first lost digit at the start leaves in the same car.
"""

import warnings
from dataclasses import replace

import numpy as np

import rtmbs
from bench.campaigns.campaign import Campaign, Tally, each
from rtmbs.numerics.rotations.quaternions import rotations
from rtmbs.vehicle import BrushTyre, Ramp, read
from rtmbs.vehicle.axle import part
from rtmbs.vehicle.car import Car

WEIGHT, MIRROR, GAP = 1e-8, 1e-10, 1e-6  # relative, m and rad, m
SOFTER = rtmbs.PenaltyTrapezoidal(penalty=1e4)  # the usual penalty is 1e6
DIGITS = (1e-15, -1e-15, 2e-15)  # [m] of the height at the start, whose unit in the last place is 3e-17
SPREAD = 4.0  # times the largest change by them: the mirror image is one more draw of the same rounding
H, STEPS = 1e-3, 400
CORNERS = ("fl", "fr", "rl", "rr")
OTHER = {"fl": "fr", "fr": "fl", "rl": "rr", "rr": "rl"}


def random_car(rng: np.random.Generator) -> tuple[Car, dict[str, float]]:
    """Return a car with random data, and the load that it carries off its centre."""
    variant = str(rng.choice(("from_json", "from_models")))
    tyres = rng.choice(("pac2002", "tmeasy", "brush"))
    if tyres == "brush":
        stiffness, friction = rng.uniform(1.5e5, 3e5), rng.uniform(0.6, 1.2)
        tyres = BrushTyre(
            free_radius=0.344, vertical_stiffness=stiffness, tread_stiffness=rng.uniform(1e7, 4e7), friction=friction,
            vertical_damping=rng.uniform(100.0, 2000.0),
        )  # fmt: skip
    options = {"transient": bool(rng.integers(2)), "impossible_inertia": "nearest"}
    car = read("sedan", variant=variant, tyres=str(tyres) if isinstance(tyres, np.str_) else tyres, **options)
    for axle in ("front", "rear"):
        points = getattr(car.data, axle).hard_points
        size = 10.0 ** rng.uniform(-3.0, -1.7)  # 1 to 20 mm, now and then more
        if rng.random() < 0.1:
            size = 0.15
        moved = {name: value + rng.uniform(-size, size, 3) for name, value in points.items()}
        moved["wheel_centre"] = points["wheel_centre"]
        car = car.with_points(axle, moved)
    chassis, factor = car.data.chassis, rng.uniform(0.7, 1.4)
    com = chassis.com + rng.uniform(-0.15, 0.15, 3) * (1.0, 0.0, 1.0)
    new = part("chassis", factor * chassis.mass, com, factor * chassis.inertia, "chassis")
    car = Car(car.data._replace(chassis=new), car.tyres, **car.options)
    load = {
        "mass": rng.uniform(0.0, 150.0),
        "x": rng.uniform(-2.0, 0.5),
        "y": rng.uniform(-0.5, 0.5),
        "z": rng.uniform(0, 1),
    }
    return car, load


def started(car: Car, rest, load: dict[str, float], case: dict, side: float, method=None, raised: float = 0.0):
    """Return the Simulation of a car or its mirror image at its start, its chassis ``raised`` [m]."""
    moving = car.changed(steer=Ramp(0.05, 0.15, 0.0, side * case["angle"])).at_speed(case["speed"], rest)
    place = np.array(moving.bodies["chassis"].position) + np.array((load["x"], side * load["y"], load["z"]))
    moving.add_body("luggage", mass=load["mass"] + 1.0, inertia=(1.0, 1.0, 1.0), position=place)
    moving.add_joint("straps", rtmbs.Fixed(), "chassis", "luggage", point=place)
    pose = moving.initials["chassis_pose"]
    moving.initials["chassis_pose"] = replace(pose, position=pose.position + raised * (np.arange(7) == 2))
    sim = rtmbs.Simulation(moving.compile(), h=H, method=method)
    for corner, friction in case["friction"].items():
        sim.inputs[f"tyre_{corner if side > 0 else OTHER[corner]}.friction"] = friction
    for corner in CORNERS:
        sim.inputs[f"brake_{corner}.torque"] = case["brake"]
    return sim


def run(car: Car, sim: rtmbs.Simulation):
    """Run all steps; return the number of failed ones, and the largest gap of a rod where steps converged."""
    ends = [f"tie_rod_{corner}.{end}.position" for corner in CORNERS for end in "ab"]
    gap, failed = 0.0, 0
    for k in range(STEPS):
        report = sim.step()
        failed += not report.outcome.accepted
        if failed:
            break
        if k % 10 == 0:
            at = sim.read(ends).reshape(4, 2, 3)
            now = np.linalg.norm(at[:, 1] - at[:, 0], axis=1)
            wanted = np.array([np.linalg.norm(np.subtract(*rod_ends(car, corner))) for corner in CORNERS])
            if report.outcome.name == "CONVERGED":
                gap = max(gap, float(np.max(np.abs(now - wanted))))
    return gap, failed


def rod_ends(car: Car, corner: str):
    """Return the ends of the tie rod at design."""
    points = car.axle(corner).hard_points
    return points["tie_rod.a"], points["tie_rod.b"]


def judged(seed: int, tally: Tally) -> str:
    """Return what is wrong with one car."""
    warnings.simplefilter("ignore", rtmbs.RtmbsWarning)
    rng = np.random.default_rng(seed)
    try:
        car, load = random_car(rng)
        rest = car.changed(steer=0.0).rest()
    except rtmbs.RtmbsError as error:
        tally.largest("refused", tally.worst.get("refused", 0.0) + 1.0)
        return "" if named(str(error)) else f"refused without a name: {error}"
    weight = 9.81 * sum(body.mass for body in car.bodies.values())
    off = abs(sum(rest.wheel_loads.values()) / weight - 1.0)
    tally.largest("weight", off)
    if off > WEIGHT:
        return f"loads differ from the weight by {off:.2g} of it"
    case = {
        "speed": rng.uniform(5.0, 30.0), "brake": rng.uniform(0.0, 400.0) * (rng.random() < 0.5),
        "angle": rng.uniform(-0.2, 0.2) * car.data.steering.max_angle,
        "friction": {corner: rng.uniform(0.3, 1.2) for corner in CORNERS},
    }  # fmt: skip
    try:
        sims = [started(car, rest, load, case, side) for side in (1.0, -1.0)]
        (gap, bad), (other_gap, worse) = (run(car, sim) for sim in sims)
    except rtmbs.RtmbsError as error:
        tally.largest("refused", tally.worst.get("refused", 0.0) + 1.0)
        return "" if named(str(error)) else f"refused without a name: {error}"
    if bad or worse:
        tally.largest("failed steps", tally.worst.get("failed steps", 0.0) + 1.0)
        return "" if bad and worse else "a step fails in one of two mirror images only"
    tally.largest("gap", max(gap, other_gap))
    if max(gap, other_gap) > GAP:
        return f"a converged step leaves a tie rod {max(gap, other_gap):.2g} m too long"
    off = apart(sims[0], sims[1], -1.0)
    tally.largest("mirror", off)
    return rounded(car, rest, load, case, sims[0], off, tally) if off > MIRROR else ""


def rounded(car: Car, rest, load: dict[str, float], case: dict, sim, off: float, tally: Tally) -> str:
    """Return what is wrong with a mirror image that is ``off`` by more than its bound; empty where it is rounding."""
    pair = [started(car, rest, load, case, side, SOFTER) for side in (1.0, -1.0)]
    others = [started(car, rest, load, case, 1.0, raised=digit) for digit in DIGITS]
    for one in (*pair, *others):
        run(car, one)
    soft, spread = apart(*pair, -1.0), max(apart(sim, other, 1.0) for other in others)
    tally.largest("mirror with softer loops", soft)
    tally.largest("mirror over the spread of rounding", off / spread)
    tally.largest("above 1e-10 by rounding", tally.worst.get("above 1e-10 by rounding", 0.0) + 1.0)
    if soft > MIRROR:
        return f"the mirror image moves otherwise, by {off:.2g}, and by {soft:.2g} with softer loops"
    return (
        "" if off <= SPREAD * spread else f"the mirror image is off by {off:.2g}, the spread of rounding {spread:.2g}"
    )


def apart(one, two, side: float) -> float:
    """Return the distance of two cars, in position [m] or rotation; the second is mirrored where ``side`` is -1."""
    S = np.diag((1.0, side, 1.0))
    turns = rotations(one["chassis.orientation"]) - S @ rotations(two["chassis.orientation"]) @ S
    place = one["chassis.position"] - S @ two["chassis.position"]
    return float(max(np.max(np.abs(place)), np.max(np.abs(turns))))


def named(message: str) -> bool:
    """True when a refusal names an element: something in quotes, a joint or a corner."""
    return "'" in message or any(f"_{corner}" in message for corner in CORNERS) or "chassis" in message


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
