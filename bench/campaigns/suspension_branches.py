"""Suspensions with a rod of a wrong length, or wrong hard points: on the branch of their design, or refused by name.

The reference is an own closure solver, on joint equations written down here. From the pose in question the lengths of
rods and the travels of wheels are led back to design in small steps. A pose that belongs to the design ends there. One
beyond a singular pose meets a fold, or ends elsewhere. An assembly that is refused must not exist nearby either: the
same way is walked from design to the wrong length.
"""

import warnings
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import root
from scipy.spatial.transform import Rotation

import rtmbs
from bench.campaigns.campaign import Campaign, Tally, each
from rtmbs.errors import ModelError, RtmbsError, StartError
from rtmbs.numerics.rotations.quaternions import rotations
from rtmbs.studies.analysis.equilibrium import equilibrium
from rtmbs.vehicle import Damper, FiveLink, MacPherson, SolidAxle, Spring, read
from rtmbs.vehicle.axle_joints import FARTHEST, check_rest
from rtmbs.vehicle.car import Car
from rtmbs.vehicle.rest import carrying

Array = NDArray[np.float64]
Pose = tuple[Array, Array]  # position and rotation against design

STRUT = {"spring": Spring(free_length=0.55, stiffness=9e4), "damper": Damper(4e3)}
STRUT_TOWER = {
    "wheel_centre": (1.388, 0.7979, 0.1301),
    "lower_front": (1.588, 0.42, -0.02), "lower_back": (1.188, 0.47, -0.015), "lower_ball": (1.388, 0.77, -0.07),
    "tie_rod_inner": (1.188, 0.42, 0.05), "tie_rod_outer": (1.238, 0.75, 0.05),
    "strut_top": (1.36, 0.62, 0.62), "strut_bottom": (1.39, 0.68, 0.15),
}  # fmt: skip
LINKS = {
    "wheel_centre": (-1.388, 0.8, 0.125),
    "links": (
        ((-1.1, 0.45, -0.02), (-1.35, 0.72, -0.03)), ((-1.45, 0.25, -0.02), (-1.41, 0.73, -0.04)),
        ((-1.25, 0.42, 0.22), (-1.36, 0.68, 0.27)), ((-1.5, 0.38, 0.21), (-1.42, 0.69, 0.27)),
    ),
    "tie_rod_inner": (-1.6, 0.25, 0.02), "tie_rod_outer": (-1.55, 0.72, 0.03),
    "strut_chassis": (-1.4, 0.5, 0.5), "strut_upright": (-1.4, 0.68, 0.0),
}  # fmt: skip
BEAM = {
    "wheel_centre": (-1.388, 0.76, 0.125), "strut_chassis": (-1.35, 0.5, 0.5), "strut_axle": (-1.388, 0.5, 0.15),
    "links": (((-0.9, 0.5, 0.0), (-1.38, 0.6, 0.02)),), "upper_link": ((-0.95, 0.05, 0.22), (-1.38, 0.02, 0.26)),
    "panhard_rod": ((-1.5, -0.5, 0.17), (-1.5, 0.5, 0.15)),
}  # fmt: skip
KINDS = ("sedan", "older sedan", "hmmwv", "MacPherson", "five links", "solid axle")
AT_HOME = 1e-5  # [m, rad] of a pose that is that of the design
CLOSED = 1e-10  # [m, 1] of the own closures
JUMP, STEPS, LEAST = 0.1, 32, 1.0 / 8192  # [m, rad] of one step, number of them, and the share that a fold is met at


@cache
def made(kind: str) -> Car:
    """Return a car with straight steering."""
    if kind in ("sedan", "older sedan", "hmmwv"):
        variant = {"sedan": "from_models", "older sedan": "from_json", "hmmwv": None}[kind]
        return read(kind.split()[-1], variant=variant, steer=0.0)
    car = read("sedan", variant="from_models", steer=0.0)
    if kind == "MacPherson":
        return Car(car.data, car.tyres, front=MacPherson(**STRUT_TOWER, **STRUT, steered=True), **car.options)
    rear = FiveLink(**LINKS, **STRUT) if kind == "five links" else SolidAxle(**BEAM, **STRUT)
    return Car(car.data, car.tyres, rear=rear, **car.options)


# ---- own closures ----------------------------------------------------------------------------------------------------


@dataclass
class Closures:
    """Joint equations of one side of an axle, or of both with a beam, and the way back to design."""

    car: Car
    axle: Any
    corners: list[str]

    def __post_init__(self) -> None:
        parts = [self.axle.body(one.name, corner) for corner in self.corners for one in self.axle.parts]
        shared = [self.axle.body(one.name, self.corners[0]) for one in self.axle.shared]
        self.bodies = [*parts, *shared]
        self.frame = np.asarray(self.car.bodies["chassis"].position)
        known = [*self.bodies, "steering_link"]
        self.design: dict[str, Pose] = {
            one: (np.asarray(self.car.bodies[one].position), np.eye(3)) for one in known if one in self.car.bodies
        }
        self.joints = [(corner, one.mirrored() if corner[1] == "r" else one)
                       for corner in self.corners for one in self.axle.connections if one.kind != "free"]  # fmt: skip
        self.joints += [(self.corners[0], one) for one in self.axle.central if one.kind != "free"]
        self.lengths = {
            f"{one.name}_{self.suffix(corner, one)}": float(np.linalg.norm(one.point_b - one.point))
            for corner, one in self.joints
            if one.point_b is not None
        }
        self.centres = {corner: np.asarray(self.car.bodies[f"wheel_{corner}"].position) for corner in self.corners}

    def suffix(self, corner: str, joint: Any) -> str:
        """Return what stands behind the name of a joint in the Model."""
        return corner[0] if any(joint is one for one in self.axle.central) else corner

    def at(self, sim: Any) -> dict[str, Pose]:
        """Return the poses of all parts in the chassis frame."""
        turn, place = rotations(sim["chassis.orientation"]), sim["chassis.position"]
        return {
            body: (
                self.frame + turn.T @ (sim[f"{body}.position"] - place),
                turn.T @ rotations(sim[f"{body}.orientation"]),
            )
            for body in self.design
        }

    def point(self, poses: dict[str, Pose], corner: str, part: str, at: Array) -> Array:
        """Return where a point of a part at design is now."""
        body = self.axle.body(part, corner)
        if body not in poses:
            return at
        x, R = poses[body]
        return x + R @ (at - self.design[body][0])

    def turned(self, poses: dict[str, Pose], corner: str, part: str, axis: Array) -> Array:
        """Return an axis of a part now."""
        body = self.axle.body(part, corner)
        return np.asarray(poses[body][1] @ axis) if body in poses else axis

    def travel(self, poses: dict[str, Pose], corner: str) -> float:
        """Return the height of a wheel centre over that at design [m]."""
        centre = self.centres[corner]
        return float(self.point(poses, corner, self.axle.wheel_carrier, centre)[2] - centre[2])

    def missed(self, poses: dict[str, Pose], lengths: dict[str, float], travels: dict[str, float]) -> Array:
        """Return what the joints miss at a pose, and the travels."""
        found: list[float] = []
        for corner, one in self.joints:
            a = self.point(poses, corner, one.a, self.frame + one.point)
            if one.point_b is not None:
                b = self.point(poses, corner, one.b, self.frame + one.point_b)
                found.append(float(np.linalg.norm(b - a)) - lengths[f"{one.name}_{self.suffix(corner, one)}"])
                continue
            gap = self.point(poses, corner, one.b, self.frame + one.point) - a
            if one.axis is None:
                found += gap.tolist()
                continue
            n = self.turned(poses, corner, one.a, one.axis)
            first = unit(np.cross(one.axis, np.eye(3)[np.argmin(np.abs(one.axis))]))
            pair = [self.turned(poses, corner, one.a, x) for x in (first, np.cross(one.axis, first))]
            if one.kind == "line":
                found += [float(x @ gap) for x in pair]
            elif one.axis_b is None:
                m = self.turned(poses, corner, one.b, one.axis)
                found += [*gap.tolist(), *(float(x @ m) for x in pair)]
            else:
                square = unit(one.axis_b - one.axis * (one.axis @ one.axis_b))
                found += [*gap.tolist(), float(n @ self.turned(poses, corner, one.b, square))]
        return np.array([*found, *(self.travel(poses, corner) - travels[corner] for corner in self.corners)])

    def moved(self, poses: dict[str, Pose], x: Array) -> dict[str, Pose]:
        """Return poses changed by displacements and rotation vectors of the parts."""
        changes = x.reshape(-1, 6)
        found = {
            body: (poses[body][0] + dx[:3], Rotation.from_rotvec(dx[3:]).as_matrix() @ poses[body][1])
            for body, dx in zip(self.bodies, changes, strict=True)
        }
        return poses | found

    def after(self, poses: dict[str, Pose], lengths: dict[str, float], travels: dict[str, float], x: Array) -> Array:
        """Return what the joints miss after changes of the poses."""
        return self.missed(self.moved(poses, x), lengths, travels)

    def walked(self, poses: dict[str, Pose], ends: Any, done: float = 0.0) -> dict[str, Pose] | None:
        """Return the poses at the end of a way whose lengths and travels are ``ends(share)``; None at a fold."""
        step = 1.0 / STEPS
        while done < 1.0 and step > LEAST:
            share = min(done + step, 1.0)
            lengths, travels = ends(share)
            found = root(partial(self.after, poses, lengths, travels), np.zeros(6 * len(self.bodies)), tol=1e-13)
            if np.max(np.abs(found.fun)) > CLOSED or np.max(np.abs(found.x)) > JUMP:
                step *= 0.5
                continue
            poses, done, step = self.moved(poses, found.x), share, min(2.0 * step, 1.0 / STEPS)
        return poses if done == 1.0 else None

    def home(self, poses: dict[str, Pose], lengths: dict[str, float]) -> bool:
        """True where a pose with these lengths goes back to design without a fold."""
        travels = {corner: self.travel(poses, corner) for corner in self.corners}

        def ends(share: float) -> tuple[dict[str, float], dict[str, float]]:
            left = 1.0 - share
            mixed = {name: left * lengths[name] + share * self.lengths[name] for name in self.lengths}
            return mixed, {corner: left * value for corner, value in travels.items()}

        end = self.walked(poses, ends)
        return end is not None and self.off(end) < AT_HOME

    def reached(self, lengths: dict[str, float]) -> bool:
        """True where lengths are reached from design at the travel of design."""
        still = dict.fromkeys(self.corners, 0.0)

        def ends(share: float) -> tuple[dict[str, float], dict[str, float]]:
            return {name: (1.0 - share) * self.lengths[name] + share * lengths[name] for name in self.lengths}, still

        return self.walked(dict(self.design), ends) is not None

    def off(self, poses: dict[str, Pose]) -> float:
        """Return how far poses are from design [m, rad]."""
        return max(
            float(
                max(np.max(np.abs(poses[body][0] - self.design[body][0])), np.max(np.abs(poses[body][1] - np.eye(3))))
            )
            for body in self.bodies
        )

    def largest_turn(self, poses: dict[str, Pose]) -> float:
        """Return the largest turn of a part against the chassis [rad]."""
        return max(float(Rotation.from_matrix(poses[body][1]).magnitude()) for body in self.bodies)


def unit(x: Array) -> Array:
    """Return the direction of a vector."""
    return np.asarray(x / np.linalg.norm(x))


def sides_of(car: Car) -> list[Closures]:
    """Return the closures of all sides of a car."""
    found = []
    for axle in (car.data.front, car.data.rear):
        letter = "f" if axle is car.data.front else "r"
        groups = [[f"{letter}l", f"{letter}r"]] if axle.shared else [[f"{letter}l"], [f"{letter}r"]]
        found += [Closures(car, axle, group) for group in groups]
    return found


# ---- cases -----------------------------------------------------------------------------------------------------------


def judged(seed: int, tally: Tally) -> str:
    """Return what is wrong with one case."""
    warnings.simplefilter("ignore", rtmbs.RtmbsWarning)
    rng = np.random.default_rng((seed, 36))
    car = made(KINDS[seed % len(KINDS)])
    return wrong_rod(car, rng, tally) if rng.random() < 0.7 else wrong_points(car, rng, tally)


def count(tally: Tally, name: str) -> None:
    """Count one of a name."""
    tally.largest(name, tally.worst.get(name, 0.0) + 1.0)


def wrong_rod(car: Car, rng: np.random.Generator, tally: Tally) -> str:
    """Judge a car with a rod of a wrong length, from 1 mm to 90 % of it."""
    car = car.changed()
    side = sides_of(car)[rng.integers(len(sides_of(car)))]
    names = sorted(side.lengths)
    if not names:
        return ""
    name = names[rng.integers(len(names))]
    length = side.lengths[name]
    change = min(10.0 ** rng.uniform(-3.0, 0.0), 0.9 * length) * (-1.0 if rng.random() < 0.7 else 1.0)
    car.rods[name] = replace(car.rods[name], length=length + change)
    lengths = side.lengths | {name: length + change}
    try:
        car.compile()
        said = ""
    except ModelError as error:
        said = str(error)
        if f"rod {name!r}" not in said:
            return f"refused without the name of rod {name!r}: {said}"
    try:
        sim = rtmbs.Simulation(rtmbs.Model.compile(car), 1e-3)
    except StartError:
        count(tally, "not assembled")
        if not said:
            return f"taken, but it does not start: {name} by {change:.4g} m"
        return (
            f"a start was not found, but lengths lead to it: {name} by {change:.4g} m" if side.reached(lengths) else ""
        )
    return verdict(side, side.at(sim), lengths, said, f"{name} by {change:.4g} m", tally)


def wrong_points(car: Car, rng: np.random.Generator, tally: Tally) -> str:
    """Judge the rest of a car with one or two hard points moved by up to 0.3 m."""
    axle = str(rng.choice(("front", "rear")))
    points = getattr(car.data, axle).hard_points
    names = [one for one in points if one != "wheel_centre"]
    chosen = rng.choice(names, size=int(rng.integers(1, 3)), replace=False).tolist()
    moves = {one: rng.uniform(-1.0, 1.0, 3) * 10.0 ** rng.uniform(-2.0, -0.5) for one in chosen}
    try:
        car = car.with_points(axle, {one: points[one] + move for one, move in moves.items()})  # type: ignore[arg-type]
        sim = equilibrium(carrying(car).compile()).simulation
    except RtmbsError:
        count(tally, "no rest")
        return ""
    try:
        check_rest(car, sim)
        said = ""
    except ModelError as error:
        said = str(error)
    told = f"{axle} {', '.join(f'{one} by {move.round(3).tolist()}' for one, move in moves.items())}"
    answers = [verdict(side, side.at(sim), side.lengths, said, told, tally, one=False) for side in sides_of(car)]
    if said:
        return next((one for one in answers if one), "") if all(answers) else ""
    return next((one for one in answers if one), "")


def verdict(
    side: Closures,
    poses: dict[str, Pose],
    lengths: dict[str, float],
    said: str,
    told: str,
    tally: Tally,
    one: bool = True,
) -> str:
    """Return what is wrong with the answer to one pose."""
    largest = side.largest_turn(poses)
    home = largest <= FARTHEST and side.home(poses, lengths)
    if said:
        if one:
            count(tally, "refused")
        return f"refused, but it belongs to the design (largest turn {largest:.3g} rad): {told}" if home else ""
    tally.largest("largest turn of a car that is taken", largest)
    if not home:
        return f"taken on another branch (largest turn {largest:.3g} rad): {told}"
    if one:
        count(tally, "taken")
    return ""


def campaign(cases: int, seed: int) -> Tally:
    """Try random wrong rods and hard points."""
    return each(judged, cases, seed)


CAMPAIGN = Campaign(
    "suspension_branches",
    "a suspension with a wrong rod or wrong hard points is on the branch of its design, or refused by name",
    300,
    12,
    campaign,
)
