"""A car at rest on a level road: wheel loads, pose and modes, with tyres that only carry."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from rtmbs.model import Floating, Prismatic, Spherical
from rtmbs.model.checks import Array, switch
from rtmbs.numerics.rotations.quaternions import product, quaternions, rotations
from rtmbs.studies.analysis.equilibrium import Equilibrium, equilibrium
from rtmbs.studies.analysis.modes import Modes
from rtmbs.vehicle.axle import CHASSIS, WHEEL
from rtmbs.vehicle.axle_joints import check_rest, keep_rods
from rtmbs.vehicle.driveline import AXLES, CENTRE
from rtmbs.vehicle.roads import Road, check_road
from rtmbs.vehicle.trailer import CORNERS as BEHIND
from rtmbs.vehicle.trailer import HITCH
from rtmbs.vehicle.tyre import CarryingTyre

TURNING = ("hub_", "shaft_", "case_")  # joints that turn with the wheels
POST = "post_"  # joints of the posts, which a car at rest is without
PLANES = 8  # searches for the plane of a road under the wheels: a slope moves them by its square
SLIDE = 1e-9  # [kg, kg m^2] of a body that follows the contact of a wheel
Car = Any  # rtmbs.vehicle.Car, which this file serves


@dataclass(frozen=True)
class Rest:
    """Equilibrium of a car on a level road: wheel loads, pose and modes.

    Parameters
    ----------
    equilibrium : Equilibrium
        Equilibrium of the car with its wheels fixed to their carriers and tyres that only carry.
    wheel_loads : dict[str, float]
        Vertical forces of the road by corner, "fl", "fr", "rl", "rr" [N].
    height : float
        Height of the origin of the chassis frame above the road [m].
    pitch : float
        Pitch of the chassis [rad], positive nose down.
    roll : float
        Roll of the chassis [rad], positive right side down.
    wheel_heights : dict[str, float]
        Heights of the wheel centres above the road by corner [m].
    camber : dict[str, float]
        Camber of the wheels by corner [rad], positive when the top leans to the right.
    toe : dict[str, float]
        Toe of the wheels by corner [rad], positive when turned left, measured in the road between the wheel plane and
        the x axis of the chassis.
    """

    equilibrium: Equilibrium
    wheel_loads: dict[str, float]
    height: float
    pitch: float
    roll: float
    wheel_heights: dict[str, float]
    camber: dict[str, float]
    toe: dict[str, float]

    @property
    def modes(self) -> Modes:
        """Small motions of the car at rest, with the contact points free to move along the road.

        Those of ``car.rest(pinned=True)`` are without the sideways motion of the contacts, as of rolling tyres.
        """
        return self.equilibrium.modes

    def __str__(self) -> str:
        """Return a table by corners."""
        rows = [f"{'corner':8}{'load N':>12}{'height m':>12}{'camber deg':>12}{'toe deg':>12}"]
        for corner, load in self.wheel_loads.items():
            angles = np.degrees((self.camber[corner], self.toe[corner]))
            rows.append(f"{corner:8}{load:12.1f}{self.wheel_heights[corner]:12.6f}{angles[0]:12.4f}{angles[1]:12.4f}")
        head = f"height {self.height:.6f} m, pitch {self.pitch:.6f} rad, roll {self.roll:.6f} rad"
        return "\n".join([head, *rows])


def carrying(car: Car) -> Car:
    """Return the car for statics: tyres that only carry, wheels fixed to their carriers, steering straight or held."""
    tyres = {corner: CarryingTyre(tyre) for corner, tyre in car.tyres.items()}
    options = car.options | {
        "steer": car.steering_at(0.0),
        "spin": False,
        "transient": False,
        "brakes": None,
        "slope": 0.0,
        "uneven": False,
        "posts": None,
    }
    return keep_rods(car, type(car)(car.data, tyres, **options))


def pin_contacts(car: Car) -> None:
    """Hold the mean of both contact points of each axle against sideways motion, as rolling tyres do when it is slow.

    A body without weight follows each contact point, and a coupler holds the mean of both.
    """
    for letter in "fr":
        names = [f"contact_{letter}{side}" for side in "lr"]
        for name in names:
            centre = car.markers[f"tyre_{name[-2:]}.centre"]
            place = centre.reference() * (1.0, 1.0, 0.0)
            car.add_body(name, mass=SLIDE, inertia=(SLIDE, SLIDE, SLIDE), position=place)
            car.add_joint(f"{name}_slide", Prismatic((0.0, 1.0, 0.0)), car.ground, name, point=place)
            foot = car.add_marker(f"{name}.foot", name, place)
            car.add_constraint(name, contact_beside, between=(foot, centre))
        car.add_coupler(f"contacts_{letter}", {f"{name}_slide": 1.0 for name in names})


def contact_beside(t: float, pose: Any, parameters: Any) -> Any:
    """Return how far the contact point of a wheel with the spin axis y lies beside a point of the road [m]."""
    n, flat_square = pose.R[:, 1], pose.R[0, 1] ** 2 + pose.R[1, 1] ** 2
    return pose.r[1] + pose.r[2] * n[2] * n[1] / flat_square


def rest(car: Car, pinned: bool = False) -> Rest:
    """Return the car at rest on its road. Raises NoEquilibrium and ModelError where it does not stand."""
    standing = carrying(car)
    if switch(pinned, f"car {car.name!r}: pinned"):
        pin_contacts(standing)
    found = equilibrium(standing.compile())
    sim = found.simulation
    check_rest(car, sim)
    loads = {corner: float(sim[f"tyre_{corner}.force"][2]) for corner in car.tyres}
    R = rotations(sim[f"{CHASSIS}.orientation"])
    heights, camber, toe = {}, {}, {}
    for corner in car.tyres:
        axis = wheel_axis(car, sim, corner)
        heights[corner] = float(sim[f"{WHEEL}_{corner}.position"][2])
        camber[corner] = float(np.arcsin(axis[2]))
        ahead = np.arctan2(-axis[0], axis[1]) - np.arctan2(R[1, 0], R[0, 0])
        toe[corner] = float(ahead)
    pitch, roll = float(np.arcsin(-R[2, 0])), float(np.arctan2(R[2, 1], R[2, 2]))
    return Rest(found, loads, float(sim[f"{CHASSIS}.position"][2]), pitch, roll, heights, camber, toe)


def wheel_axis(car: Car, sim: Any, corner: str) -> Array:
    """Return the spin axis of a wheel in world axes (3,), pointing left."""
    return np.asarray(rotations(sim[f"{WHEEL}_{corner}.orientation"]) @ car.spin_axis(corner))


def at_speed(car: Car, speed: float, standing: Rest, road: Road | None = None) -> Car:
    """Return the car in its pose of rest, driving straight on: initial values of all joints."""
    found = standing.equilibrium.simulation
    moving = car.changed()
    del moving.initials["chassis_pose"]
    place, turn = found[f"{CHASSIS}.position"], straight(found[f"{CHASSIS}.orientation"])
    start, velocity = np.array((0.0, 0.0, place[2])), np.array((speed, 0.0, 0.0))
    if road is not None:
        check_road(road)
        origin, axes = plane_under(road, wheels_of(car, found))
        if np.any(origin) or np.any(axes != np.eye(3)):  # else no digit changes
            turn = product(quaternions(axes[None])[0], turn)
            start, velocity = origin + axes @ start, axes @ velocity
    pose = (*(start - moving.bodies[CHASSIS].position), *turn)
    moving.set_initial("chassis_pose", pose, (*velocity, 0.0, 0.0, 0.0))
    for name in moving.joints:
        if name == "chassis_pose" or name.startswith((*TURNING, POST)):
            continue
        coordinates = moving.joints[name].type.coordinates
        if coordinates:
            values = [float(found[f"{name}.{one}"]) for one in coordinates]
            moving.set_initial(name, values[0] if len(values) == 1 else tuple(values), pin=False, weight=1e6)
    set_balls(moving, found)
    rates = {}
    for corner, tyre in car.tyres.items():
        load, height = float(found[f"tyre_{corner}.force"][2]), float(found[f"{WHEEL}_{corner}.position"][2])
        rates[corner] = speed / tyre.effective_radius(load, height)
    set_rolling(moving, rates)
    if car.options["trailer"] is not None:
        tyre = car.trailer_tyre
        for corner in BEHIND:
            load, height = float(found[f"tyre_{corner}.force"][2]), float(found[f"{WHEEL}_{corner}.position"][2])
            moving.set_initial(f"hub_{corner}", 0.0, speed / tyre.effective_radius(load, height))
    return moving


def wheels_of(car: Car, found: Any) -> Array:
    """Return the places (4, 2) of the wheels of a car at rest beside its chassis frame, without its heading [m]."""
    R = rotations(found[f"{CHASSIS}.orientation"])
    c, s = np.array((R[0, 0], R[1, 0])) / np.hypot(R[0, 0], R[1, 0])
    beside = np.array(
        [(found[f"{WHEEL}_{corner}.position"] - found[f"{CHASSIS}.position"])[:2] for corner in car.tyres]
    )
    return np.asarray(beside @ np.array(((c, -s), (s, c))))


def plane_under(road: Road, wheels: Array) -> tuple[Array, Array]:
    """Return a point (3,) and the axes (3, 3) of the plane nearest to a road under four wheels (4, 2).

    The axes are columns; the first one has no part to the left, so a heading along x stays. The wheels stand on the
    plane, so its tilt moves them along the road, and the plane is looked for again.
    """
    origin, axes = np.zeros(3), np.eye(3)
    for _ in range(PLANES):
        x, y, _ = origin[:, None] + axes[:, :2] @ wheels.T
        c, a, b = np.linalg.lstsq(np.stack((np.ones(len(x)), x, y), axis=1), np.real(road.height(x, y)), rcond=None)[0]
        ahead, normal = (np.array(one) / np.linalg.norm(one) for one in ((1.0, 0.0, a), (-a, -b, 1.0)))
        origin, axes = np.array((0.0, 0.0, c)), np.stack((ahead, np.cross(normal, ahead), normal), axis=1)
    return origin, axes


def straight(turn: Array) -> Array:
    """Return a quaternion without its heading, which nothing holds in a car or a trailer at rest."""
    R = rotations(turn)
    half = -0.5 * np.arctan2(R[1, 0], R[0, 0])
    return product(np.array([np.cos(half), 0.0, 0.0, np.sin(half)]), turn)


def set_balls(car: Car, found: Any) -> None:
    """Set the poses of joints without coordinates of their own: balls, the hitch, parts on bushings.

    Far from design an assembly that begins with other turns of the balls ends in another pose, and not to its last
    digit in the mirror image of it. Only joints in the tree of the car at rest are set. The loops give the turns of the
    others, and an initial value of a cut ball would cost three coordinates and three equations.
    """
    place, R = found[f"{CHASSIS}.position"], rotations(found[f"{CHASSIS}.orientation"])
    topology = found.system.topology
    tree = {topology.edges[branch.edge].name for branch in topology.tree}
    for name, joint in car.joints.items():
        if name in car.initials or name not in tree or joint.type.coordinates:
            continue
        ends = [found[f"{body.name}.orientation"] for body in (joint.a, joint.b)]
        turn = relative_turn(*(straight(one) if name == HITCH else one for one in ends))
        if isinstance(joint.type, Spherical):
            car.set_initial(name, tuple(turn), pin=False, weight=1e6)
        elif isinstance(joint.type, Floating) and joint.a.name == CHASSIS:
            end = found[f"{joint.b.name}.position"] + rotations(ends[1]) @ joint.point_b
            moved = R.T @ (end - place) - joint.point_a
            car.set_initial(name, (*moved, *turn), pin=False, weight=1e6)


def relative_turn(a: Array, b: Array) -> Array:
    """Return the quaternion of b relative to a."""
    return product(a * np.array([1.0, -1.0, -1.0, -1.0]), b)


def set_rolling(car: Car, rates: dict[str, float]) -> None:
    """Set the rates of wheels and drive shafts by corner [rad/s]; wheels that are locked together share their mean."""
    locked = [place for place, one in car.differentials.items() if one.kind == "locked"]
    groups = [[corner for corner in rates if corner[0] == place[0]] for place in AXLES if place in locked]
    if CENTRE in locked:
        groups = [list(rates)]
    shared = rates | {corner: sum(rates[one] for one in group) / len(group) for group in groups for corner in group}
    for corner, rate in shared.items():
        if not (car.differentials and corner in car.driven):
            car.set_initial(f"hub_{corner}", 0.0, rate)
            continue
        alone = not any(corner in group for group in groups)  # its shaft takes its angle; else the hubs, not the pose
        car.set_initial(f"hub_{corner}", 0.0, rate, pin=False, weight=1e6 if alone else 1.0)
        place = "front" if corner[0] == "f" else "rear"
        shaft = f"shaft_{place}" if place in locked else f"shaft_{corner}"
        if shaft not in car.initials:
            car.set_initial(shaft, 0.0, rate, pin=False)
