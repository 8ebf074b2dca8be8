"""Joints of an axle at a displaced pose: their linear equations for the twists of parts and moves of hard points."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from rtmbs.errors import ModelError
from rtmbs.model.checks import Array
from rtmbs.vehicle.axle import CHASSIS, MIRROR, RACK, WHEEL, Connection, square_to
from rtmbs.vehicle.rod_lengths import changed_rods

Car = Any  # rtmbs.vehicle.Car, which this file serves
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
        Left or right side.
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
        found = np.zeros((3, self.count))
        if name in self.column:
            sides = MIRROR if corner[1:] == "r" else np.ones(3)
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
                  for one in self.axle.connections]  # fmt: skip
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
