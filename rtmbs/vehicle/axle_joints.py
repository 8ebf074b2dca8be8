"""Joints of an axle: their equations, branches, changed rod lengths, and bushings in their place.

Linear equations at a displaced pose bind the twists of parts and the moves of hard points. The joints of one side and
the travel of its wheel are as many equations as its parts have freedoms. Their determinant is zero where the axle is
singular, so a motion from design that meets no singular pose keeps its sign. An axle with more or less equations than
freedoms is judged by the turns of its parts alone.

The axes of a bushing at a joint with an axis are x along it, y square to it and to the z axis of the chassis, and z.
Elsewhere they are those of the chassis. The right side has the mirror image. Parts that lose their last joint get six
coordinates of their own.
"""

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from rtmbs.errors import ModelError, StartError, shown, unknown_name, warn
from rtmbs.model import Bushing, Floating, Model, Rod, SpringDamper
from rtmbs.model.body import reference_distance
from rtmbs.model.checks import Array
from rtmbs.numerics.rotations.quaternions import rotations
from rtmbs.simulation.simulation import Simulation
from rtmbs.system.system import System
from rtmbs.vehicle.axle import CHASSIS, MIRROR, RACK, WHEEL, Axle, Connection, square_to

Car = Any  # rtmbs.vehicle.Car, which this file serves
AS_DESIGNED = 1e-9  # relative difference of lengths


def changed_rods(car: Car) -> Iterator[tuple[str, Rod]]:
    """Yield the rods that are not as long as their ends are apart at design."""
    for name, rod in car.rods.items():
        apart = reference_distance(*rod.between)
        if abs(rod.length - apart) > AS_DESIGNED * apart:
            yield name, rod


def keep_rods(car: Car, other: Car) -> Car:
    """Give another car of the same data the lengths of rods that the user changed, and return it."""
    for name, rod in changed_rods(car):
        if name in other.rods:
            other.rods[name] = replace(other.rods[name], length=rod.length)
    return other


CENTRE = "wheel_centre"
RANK = 1e-10  # of the joints' equations: what is smaller is no equation
AGREE = 1e-7  # relative residual of joints that follow a move

Poses = Mapping[str, tuple[Array, Array]]  # position and rotation by body


class End(NamedTuple):
    """End of a joint at a pose: the point, its motion by the unknown twists (3, u) and by the hard points (3, 3 p)."""

    point: Array
    by_twist: Array
    by_points: Array


class AxleJoints:
    """Joints of an axle at a pose, and what moves of hard points do there.

    One side alone where nothing but the chassis joins both sides, else both.

    Parameters
    ----------
    car : Car
        Car at design.
    axle : str
        Axle: "front" or "rear".
    points : tuple[str, ...]
        Hard points that move.
    side : {'l', 'r'}, default 'l'
        Left or right side. Hard points of the left one move the right one too, unless that has its own.
    """

    def __init__(self, car: Car, axle: str, points: tuple[str, ...], side: str = "l") -> None:
        self.axle, self.corner = getattr(car.data, axle), f"{axle[0]}{side}"
        self.frame = np.asarray(car.bodies[CHASSIS].position)
        self.corners = [f"{axle[0]}{side}" for side in ("lr" if self.axle.shared else side)]
        own = [self.axle.body(one.name, corner) for corner in self.corners for one in self.axle.parts]
        own += [self.axle.body(one.name, self.corner) for one in self.axle.shared]
        self.unknown = {body: 6 * k for k, body in enumerate(own)}
        self.bodies = [*own, *([RACK] if self.axle.steered else [])]
        self.design = {body: np.asarray(car.bodies[body].position) for body in self.bodies}
        self.column = {name: 3 * k for k, name in enumerate(points)}
        self.count = 3 * len(points)
        self.wheels = {corner: np.asarray(car.bodies[f"{WHEEL}_{corner}"].position) for corner in self.corners}
        turning = car.bodies[f"{WHEEL}_{self.corner}"].mass
        self.given = {name for name, _ in changed_rods(car)}  # rods that keep their length when their ends move
        self.share = (car.data.rim.mass + car.data.tyre.mass) / turning  # of the wheel's body in its centre

    def end(self, corner: str, part: str, point: Array, poses: Poses, name: str, share: float = 1.0) -> End:
        """Return a point at design, in the world, where it lies now, and how it moves.

        ``name`` is that of its hard point, of which it takes a ``share``.
        """
        body = self.axle.body(part, corner)
        by_twist, by_points = np.zeros((3, 6 * len(self.unknown))), self.move(corner, name, share)
        if body not in poses:
            return End(point, by_twist, by_points)
        place, R = poses[body]
        x = place + R @ (point - self.design[body])
        if body in self.unknown:
            at = self.unknown[body]
            by_twist[:, at : at + 3], by_twist[:, at + 3 : at + 6] = np.eye(3), -cross_matrix(x)
        return End(x, by_twist, R @ by_points)

    def move(self, corner: str, name: str, share: float = 1.0) -> Array:
        """Return how a hard point of a corner moves at design with the hard points (3, 3 p)."""
        found, right, own = np.zeros((3, self.count)), corner[1:] == "r", self.corner[1] == "r"
        if name in self.column and (right == own or (right and self.axle.right is None)):  # a side of its own stays
            sides = MIRROR if right and not own else np.ones(3)
            found[:, self.column[name] : self.column[name] + 3] = share * np.diag(sides)
        return found

    def turning(self, corner: str, part: str) -> Array:
        """Return how a part turns with the unknown twists (3, u)."""
        found, body = np.zeros((3, 6 * len(self.unknown))), self.axle.body(part, corner)
        if body in self.unknown:
            found[:, self.unknown[body] + 3 : self.unknown[body] + 6] = np.eye(3)
        return found

    def axis(self, corner: str, part: str, axis: Array, poses: Poses) -> Array:
        """Return an axis of a part now (3,)."""
        body = self.axle.body(part, corner)
        return np.asarray(poses[body][1] @ axis if body in poses else axis)

    def rows(self, corner: str, joint: Connection, poses: Poses) -> tuple[Array, Array]:
        """Return the linear equations of a joint: by the twists (r, u) and by the hard points (r, 3 p)."""
        ends = (joint.point, joint.point if joint.point_b is None else joint.point_b)
        names = (joint.name,) * 2 if joint.point_b is None else (f"{joint.name}.a", f"{joint.name}.b")
        (xa, Ta, Pa), (xb, Tb, Pb) = (
            self.end(corner, part, self.frame + point, poses, name)
            for part, point, name in zip((joint.a, joint.b), ends, names, strict=True)
        )
        if joint.point_b is not None:
            longer = (ends[1] - ends[0]) @ (self.move(corner, names[1]) - self.move(corner, names[0]))
            longer = 0.0 * longer if self.given & {f"{joint.name}_{corner}", f"{joint.name}_{corner[0]}"} else longer
            return (xb - xa)[None, :] @ (Tb - Ta), ((xb - xa) @ (Pb - Pa) - longer)[None, :]
        if joint.axis is None:
            return Tb - Ta, Pb - Pa
        n = self.axis(corner, joint.a, joint.axis, poses)
        across = np.linalg.svd(n[None, :])[2][1:]  # two directions square to the axis
        across[1] *= np.sign(np.linalg.det(np.vstack((across, n))))  # of one sense at all poses
        if joint.kind == "line":
            sway = np.cross(across, xb - xa) @ self.turning(corner, joint.a)  # the directions turn with a
            return across @ (Tb - Ta) + sway, across @ (Pb - Pa)
        apart = self.turning(corner, joint.a) - self.turning(corner, joint.b)
        if joint.axis_b is None:
            angles = np.cross(across, n) @ apart
        else:
            m = self.axis(corner, joint.b, np.array(square_to(joint.axis_b, joint.axis)), poses)
            angles = np.cross(n, m)[None, :] @ apart
        return np.vstack((Tb - Ta, angles)), np.vstack((Pb - Pa, np.zeros((len(angles), self.count))))

    def equations(self, poses: Poses) -> tuple[Array, Array]:
        """Return the equations of joints and held travels: by the twists (r, u) and by the hard points (r, 3 p)."""
        joints = [(corner, one.mirrored() if corner[1] == "r" else one) for corner in self.corners
                  for one in self.axle.side(corner).connections]  # fmt: skip
        joints += [(self.corner, one) for one in self.axle.central]
        both = [self.rows(corner, joint, poses) for corner, joint in joints if joint.kind != "free"]
        for corner in self.corners:  # the rig holds the travel of the wheels
            _, T, P = self.wheel_centre(corner, poses)
            both.append((T[2:], P[2:]))
        return np.vstack([one for one, _ in both]), np.vstack([two for _, two in both])

    def twists(self, poses: Poses) -> Array:
        """Return the twists of all parts (u, 3 p) by the hard points. Raises ModelError for joints that do not agree.

        Twists that the joints leave free, such as those of a link about its line, are the least ones.
        """
        A, b = self.equations(poses)
        found = np.linalg.lstsq(A, -b, rcond=RANK)[0]
        if np.max(np.abs(A @ found + b), initial=0.0) > AGREE * np.max(np.abs(b), initial=1.0):
            raise ModelError(
                f"fit_hard_points: joints of {', '.join(one.name for one in self.axle.connections)} hold the axle more "
                "than once, so it does not follow moves of its hard points; each joint must hold another freedom"
            )
        return np.asarray(found)

    def wheel_centre(self, corner: str, poses: Poses) -> End:
        """Return a wheel centre, and how it moves against its place at design."""
        found = self.end(corner, self.axle.wheel_carrier, self.wheels[corner], poses, CENTRE, self.share)
        return found._replace(by_points=found.by_points - self.move(corner, CENTRE, self.share))


def cross_matrix(x: Array) -> Array:
    """Return the matrix (3, 3) of the cross product with x."""
    return np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])


FARTHEST = 1.2  # [rad] of a part against the chassis: steered wheels turn by 1 rad at most
SMALL = 0.3  # [rad] likewise with straight steering, by a rod of another length
REGULAR = 1e-9  # least of the largest singular value: below, a determinant has no sign
SIDES = {"fl": "front left", "fr": "front right", "rl": "rear left", "rr": "rear right"}


class Found(NamedTuple):
    """One side of an axle at a pose, both of an axle with a beam, or the steering."""

    place: str
    turns: dict[str, float]  # by body, against the chassis from design [rad]
    other: bool  # another branch than at design
    joints: dict[str, list[str]]  # hard points by body

    @property
    def worst(self) -> str:
        """Body with the largest turn."""
        return max(self.turns, key=self.turns.__getitem__)

    @property
    def wrong(self) -> str:
        """What is wrong with the pose; empty for one that belongs to the design."""
        turned = f"{self.worst} is turned by {self.turns[self.worst]:.3g} rad against the chassis"
        if self.other:
            return f"is on another branch than at design: {turned}"
        return f"is far from its design: {turned}" if self.turns[self.worst] > FARTHEST else ""


def check_assembly(car: Car, system: System) -> None:
    """Refuse a car that is assembled on another branch by rods of other lengths or steering beyond its end.

    It warns of large turns by such rods. A car as designed is closed at design, so it is not looked at.

    Parameters
    ----------
    car : Car
        Car.
    system : System
        Its compiled System.

    Raises
    ------
    ModelError
        For a car that cannot be assembled, or not on the branch of its design.
    """
    causes = [*(told_rod(name, rod) for name, rod in changed_rods(car)), *told_steering(car)]
    if not causes or CHASSIS not in car.bodies:
        return
    cause = f"{'; '.join(causes)}; correct this, or the hard points"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sim = Simulation(system, h=car.options["h"] or 1e-3)
    except StartError as error:
        raise ModelError(f"car {car.name!r} cannot be assembled: {cause}") from error
    for found in sides_at(car, sim):
        if found.wrong:
            raise ModelError(f"car {car.name!r}: the {found.place} is assembled, but it {found.wrong}; {cause}")
        if found.turns[found.worst] > SMALL and car.steering_at(0.0) == 0.0:
            warn(
                f"car {car.name!r}: the assembly turns {found.worst} by {found.turns[found.worst]:.3g} rad against the "
                f"chassis; {cause}"
            )


def check_rest(car: Car, sim: Any) -> None:
    """Refuse a car at rest whose suspension is on another branch than at design, or far from it.

    Parameters
    ----------
    car : Car
        Car.
    sim : Simulation
        Simulation at rest.

    Raises
    ------
    ModelError
        For such a suspension; the message names the joints of the part that is turned most, with their hard points.
    """
    for found in sides_at(car, sim):
        if found.wrong:
            held = ", ".join(found.joints[found.worst])
            raise ModelError(
                f"car {car.name!r}: at rest the {found.place} {found.wrong}; correct the hard points {held}, or "
                "springs and loads"
            )


def sides_at(car: Car, sim: Any) -> Iterator[Found]:
    """Yield the steering and the sides of both axles at the pose of a Simulation."""
    turn = rotations(sim[f"{CHASSIS}.orientation"])
    place, frame = sim[f"{CHASSIS}.position"], np.asarray(car.bodies[CHASSIS].position)
    steering = car.data.steering
    names = [one.name for one in steering.parts]
    turned = {name: turn.T @ rotations(sim[f"{name}.orientation"]) for name in names}
    signs = [steering.determinant(one) for one in (turned, dict.fromkeys(names, np.eye(3)))]
    turns = {name: angle_of(R) for name, R in turned.items()}
    yield Found("steering", turns, signs[0] * signs[1] < 0.0, {name: ["of the steering"] for name in names})
    for axle in ("front", "rear"):
        for side in "l" if getattr(car.data, axle).shared else "lr":
            joints = AxleJoints(car, axle, (), side)
            poses, design = {}, {body: (at, np.eye(3)) for body, at in joints.design.items()}
            for body in joints.bodies:
                x, R = sim[f"{body}.position"], rotations(sim[f"{body}.orientation"])
                poses[body] = frame + turn.T @ (x - place), turn.T @ R
            turns = {body: angle_of(poses[body][1]) for body in joints.unknown}
            if turns:
                other = sign_of(joints, poses) * sign_of(joints, design) < 0.0
                which = f"{axle} axle" if len(joints.corners) > 1 else f"{SIDES[joints.corner]} suspension"
                yield Found(which, turns, other, points_of(joints))


def points_of(joints: AxleJoints) -> dict[str, list[str]]:
    """Return the hard points of the joints of each part, by body."""
    axle, found = joints.axle, {}
    for corner in joints.corners:
        for part in (one.name for one in (*axle.parts, *axle.shared)):
            held = [one for one in (*axle.connections, *axle.central) if part in (one.a, one.b) and one.kind != "free"]
            names = [one.name if one.point_b is None else f"{one.name}.a, {one.name}.b" for one in held]
            found[axle.body(part, corner)] = names
    return found


def angle_of(R: Array) -> float:
    """Return the angle of a rotation [rad]."""
    return float(np.arctan2(np.linalg.norm(R - R.T) / np.sqrt(8.0), 0.5 * (np.trace(R) - 1.0)))


def sign_of(joints: AxleJoints, poses: Poses) -> float:
    """Return the sign of the determinant of the equations of an axle; 0 where there is none."""
    equations, _ = joints.equations(poses)
    if equations.shape[0] != equations.shape[1]:
        return 0.0
    sizes = np.linalg.svd(equations, compute_uv=False)
    return float(np.linalg.slogdet(equations)[0]) if sizes[-1] > REGULAR * sizes[0] else 0.0


def told_rod(name: str, rod: Rod) -> str:
    """Return the sentence of such a rod."""
    ends, apart = " and ".join(marker.name for marker in rod.between), reference_distance(*rod.between)
    return f"rod {name!r} is {rod.length:.6g} m long, and its ends {ends} are {apart:.6g} m apart at design"


def told_steering(car: Car) -> Iterator[str]:
    """Yield the sentence of steering beyond its end."""
    angle, most = car.steering_at(0.0), car.data.steering.max_angle
    if abs(angle) > most:
        yield f"steer is {angle:.4g} rad at the start, and the steering ends at {most:.4g} rad"


REFLECTED = np.concatenate((MIRROR, -MIRROR))  # signs of forces and moments, displacements and turns in a mirror
UPRIGHT = 0.999  # of a unit vector: an axis along z
Bushings = Mapping[str, Bushing | SpringDamper]


def bushings_of(given: Any, place: str, axle: Axle, what: str) -> Bushings:
    """Return the checked bushings of an axle by joint: those of the axle for True, none for None or False."""
    if given is None or given is False:
        return {}
    found = axle.bushings if given is True else given
    if given is not True:
        if not isinstance(given, Mapping):
            raise ModelError(f"{what}: bushings is {shown(given)}; it must map front and rear to bushings by joint")
        for name in given:
            if name not in ("front", "rear"):
                raise unknown_name("axle with bushings", name, ("front", "rear"))
        found = given.get(place, {})
    known = {one.name: one for one in (*axle.connections, *axle.central) if one.kind != "free"}
    for name, law in found.items():
        if name not in known:
            raise unknown_name(f"joint of the {place} axle", name, known)
        wanted = SpringDamper if known[name].kind == "distance" else Bushing
        if not isinstance(law, wanted):
            raise ModelError(
                f"{what}: the bushing of {name!r} is {shown(law)}; it must be a {wanted.__name__}, for the joint is "
                f"{known[name].kind}"
            )
    return dict(found)


def bushing_axes(joint: Connection) -> Array:
    """Return the axes (3, 3) of a bushing in place of a joint, as columns in chassis axes."""
    if joint.axis is None:
        return np.eye(3)
    x = joint.axis
    beside = np.array([0.0, 0.0, 1.0]) if abs(x[2]) < UPRIGHT else np.array([1.0, 0.0, 0.0])
    y = np.cross(beside, x)
    y = y / np.linalg.norm(y)
    return np.stack((x, y, np.cross(x, y)), axis=1)


def mirrored(law: Bushing) -> Bushing:
    """Return the bushing of the right side, in axes whose y is reversed against the mirror image."""
    checked = law.checked("bushing")
    values: dict[str, Any] = {
        name: getattr(checked, name) * np.outer(REFLECTED, REFLECTED) for name in ("stiffness", "damping")
    }
    values["force"], values["torque"] = MIRROR * np.asarray(law.force), -MIRROR * np.asarray(law.torque)
    for name, sign in zip(("x", "y", "z", "rx", "ry", "rz"), REFLECTED.tolist(), strict=True):
        table = getattr(law, f"curve_{name}")
        if table is not None and sign < 0.0:
            values[f"curve_{name}"] = -np.asarray(table)[::-1]
    return replace(law, **values)


def add_bushing(
    model: Model, name: str, ends: tuple[str, str], joint: Connection, law: Bushing | SpringDamper, right: bool
) -> None:
    """Add the force of a bushing, or of an elastic rod, between the bodies ``ends``.

    ``joint`` is the one of the left side, and the frame of the chassis stands where its body does.
    """
    frame = np.asarray(model.bodies[CHASSIS].position)
    own = joint.mirrored() if right else joint
    markers = f"{name}.a", f"{name}.b"
    axes = bushing_axes(joint)
    axes = axes * np.outer(MIRROR, MIRROR) if right else axes
    points = (own.point, own.point if own.point_b is None else own.point_b)
    for marker, body, point in zip(markers, ends, points, strict=True):
        model.add_marker(marker, body, frame + point, axes=axes)
    if isinstance(law, Bushing) and right:
        law = mirrored(law)
    model.add_force(name, law, between=markers)


def add_free_parts(model: Model, corner: str, axle: Axle, bushed: Bushings) -> None:
    """Give parts of a corner that no joint holds six coordinates against the chassis."""
    joined = [one for one in axle.connections if one.kind != "distance" and one.name not in bushed]
    reached = {CHASSIS, RACK}
    for part in [None, *(one.name for one in axle.parts)]:
        if part is not None and part not in reached:
            body = f"{part}_{corner}"
            model.add_joint(f"{part}_pose_{corner}", Floating(), CHASSIS, body, point=model.bodies[body].position)
            reached.add(part)
        reached |= set(reachable(reached, joined))


def reachable(start: set[str], joints: list[Connection]) -> Iterator[str]:
    """Yield the parts that joints lead to from ``start``, one behind the other."""
    seen = set(start)
    for _ in joints:  # each round reaches one more part at least
        more = {b for one in joints for a, b in ((one.a, one.b), (one.b, one.a)) if a in seen} - seen
        seen |= more
        yield from more
