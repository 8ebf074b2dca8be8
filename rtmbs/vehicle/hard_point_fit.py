"""Hard points fitted to target curves of the rig, by the exact derivatives of the curves by the points.

At each value of the motion the parts of a corner are displaced rigidly, x = D(X) for a point X at design. The joints
say that points of two parts meet, axes keep their angle and rods their length. Their linear equations give the twists
of all parts for a move dX of a hard point: d D(X) = v + w x D(X) + R dX.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from rtmbs.errors import ModelError, shown, unknown_name
from rtmbs.model.checks import Array, Numbers, number, numbers
from rtmbs.numerics.rotations.quaternions import rotations
from rtmbs.vehicle.axle import CHASSIS, RACK, WHEEL, Connection
from rtmbs.vehicle.rig import chosen_values, half_run
from rtmbs.vehicle.rig_curves import channels, curves_of, lowest_point

if TYPE_CHECKING:
    from rtmbs.vehicle.car import Car

CURVES = ("toe", "camber", "x", "y", "contact_x", "contact_y")  # and the lengths of springs and dampers
MOTIONS = ("bump", "roll", "steer")


@dataclass(frozen=True)
class HardPointFit:
    """Car whose hard points were fitted to target curves.

    Parameters
    ----------
    car : Car
        Car with the fitted points.
    moves : dict[str, ndarray]
        Moves (3,) of the hard points by name [m].
    before : dict[str, float]
        Root mean square of each curve less its target at the beginning [rad or m].
    after : dict[str, float]
        The same of the fitted car.
    success : bool
        True where the search ended by itself, False after ``most`` evaluations.
    message : str
        Reason of the end.
    """

    car: "Car"
    moves: dict[str, Array]
    before: dict[str, float]
    after: dict[str, float]
    success: bool
    message: str


def fit_hard_points(
    car: "Car",
    axle: Literal["front", "rear"],
    targets: Mapping[str, Numbers],
    points: Mapping[str, Numbers],
    motion: Literal["bump", "roll", "steer"] = "bump",
    *,
    values: Numbers | None = None,
    weights: Mapping[str, float] | None = None,
    most: int = 50,
) -> HardPointFit:
    """Return the car whose curves come nearest to target curves, in the sense of least squares.

    Derivatives of the curves by the points are exact. Several sets of points may have the same curves: then the one
    that the search meets first is returned.

    Parameters
    ----------
    car : Car
        Car to begin with.
    axle : {'front', 'rear'}
        Axle on the rig.
    targets : Mapping[str, array_like]
        Target curves (k,) of the left wheel by name: "toe", "camber" [rad], "x", "y", "contact_x", "contact_y" [m], or
        a spring or damper for its length [m].
    points : Mapping[str, array_like]
        Hard points that may move, by the names of ``car.data.front.hard_points``, with the most that each coordinate
        moves to both sides (3,) [m]; 0 for one that stays.
    motion : {'bump', 'roll', 'steer'}, default 'bump'
        Motion of the rig.
    values : array_like, optional
        Values (k,) of the motion, as ``rig`` takes them.
    weights : Mapping[str, float], optional
        Weights of the curves by name, 1 unless given [1/rad or 1/m].
    most : int, default 50
        Largest number of evaluations.

    Returns
    -------
    HardPointFit
        Fitted car, its moves, and the distances from the targets before and after.

    Raises
    ------
    ModelError
        For another axle or motion, targets of another length, and moves below zero.
    UnknownNameError
        For a curve or a hard point that is not there.
    MotionError
        Where the axle does not reach a value with points that the search tries.

    Examples
    --------
    >>> car = rtmbs.vehicle.read("sedan", variant="from_models")
    >>> fit = rtmbs.vehicle.fit_hard_points(  # doctest: +SKIP
    ...     car, "front", {"toe": np.zeros(25)}, {"tie_rod.a": (0.0, 0.02, 0.02)}
    ... )
    >>> fit.moves["tie_rod.a"]  # doctest: +SKIP
    """
    for name, value, known in (("axle", axle, ("front", "rear")), ("motion", motion, MOTIONS)):
        if value not in known:
            raise ModelError(f"fit_hard_points: {name} is {shown(value)}; it must be one of {', '.join(known)}")
    if getattr(car.data, axle).shared:
        raise ModelError(
            f"fit_hard_points: the {axle} axle has parts of both sides; it must have a suspension of each wheel alone"
        )
    at = chosen_values(car, motion, values)
    wanted, ranges = checked_wishes(car, axle, targets, points, len(at))
    scale = {name: number((weights or {}).get(name, 1.0), f"fit_hard_points: weight of {name!r}") for name in wanted}
    free = np.concatenate([ranges[name] for name in ranges])
    start = {name: getattr(car.data, axle).hard_points[name] for name in ranges}
    moving = np.flatnonzero(free > 0.0)

    def moved(x: Array) -> "Car":
        whole = np.zeros(len(free))
        whole[moving] = x
        return car.with_points(
            axle, {name: start[name] + d for name, d in zip(start, whole.reshape(-1, 3), strict=True)}
        )

    def residual(x: Array) -> Array:
        return np.concatenate(
            [scale[name] * rest for name, rest in distances(moved(x), axle, motion, at, wanted).items()]
        )

    def jacobian(x: Array) -> Array:
        slopes = curve_derivatives(moved(x), axle, motion, at, tuple(start))
        return np.concatenate([scale[name] * slopes[name][:, moving] for name in wanted])

    from scipy.optimize import least_squares  # takes long to load

    bounds = -free[moving], free[moving]
    found = least_squares(residual, np.zeros(len(moving)), jacobian, bounds, x_scale=free[moving], max_nfev=most)
    fitted = moved(found.x)
    sizes = [
        {name: float(np.sqrt(np.mean(rest**2))) for name, rest in distances(one, axle, motion, at, wanted).items()}
        for one in (car, fitted)
    ]
    ends = fitted.axle(axle[0]).hard_points
    return HardPointFit(
        fitted, {name: ends[name] - start[name] for name in start}, *sizes, bool(found.status > 0), found.message
    )


def checked_wishes(
    car: "Car", axle: str, targets: Mapping[str, Numbers], points: Mapping[str, Numbers], count: int
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Return targets (count,) and ranges of moves (3,) by name, checked."""
    own = getattr(car.data, axle)
    curves = (*CURVES, *(strut.name for strut in own.struts))
    for given, known, what in ((targets, curves, "curve of the rig"), (points, own.hard_points, "hard point")):
        if not given:
            raise ModelError(f"fit_hard_points: no {what} is given; it must be one at least")
        for name in given:
            if name not in known:
                raise unknown_name(what, name, known)
    wanted = {name: numbers(value, f"fit_hard_points: target {name!r}", (count,)) for name, value in targets.items()}
    ranges = {name: numbers(value, f"fit_hard_points: range of {name!r}", (3,)) for name, value in points.items()}
    for name, value in ranges.items():
        if np.any(value < 0.0) or not np.any(value > 0.0):
            raise ModelError(
                f"fit_hard_points: the range of {name!r} is {shown(points[name])}; it must be zero or more, and above "
                "zero in one coordinate"
            )
    return wanted, ranges


def poses(car: "Car", axle: str, motion: str, values: Array, extra: list[str]) -> list[dict[str, Array]]:
    """Return the channels of the rig and those of ``extra`` at all values, in two halves."""
    names = [*channels(car, axle), *extra]
    return [half_run(car, axle, motion, sign, values, 0.0, names) for sign in (-1.0, 1.0)]


def distances(car: "Car", axle: str, motion: str, values: Array, targets: Mapping[str, Array]) -> dict[str, Array]:
    """Return the curves of the left wheel less their targets."""
    down = np.array([0.0, 0.0, -car.tyres[f"{axle[0]}l"].free_radius])
    curves = curves_of(car, axle, "l", motion, poses(car, axle, motion, values, []), down)
    return {
        name: (curves.lengths[name] if name in curves.lengths else getattr(curves, name)) - target
        for name, target in targets.items()
    }


def curve_derivatives(car: "Car", axle: str, motion: str, values: Array, points: tuple[str, ...]) -> dict[str, Array]:
    """Return the derivatives (k, 3 p) of all curves of the left wheel by p hard points, in the order of ``points``."""
    corner = Corner(car, axle, points)
    names = [f"{body}.{what}" for body in corner.bodies.values() for what in ("position", "orientation")]
    halves = poses(car, axle, motion, values, names)
    found: dict[str, list[Array]] = {}
    for half in halves:
        for k in range(len(half[names[0]])):
            at = {
                part: (half[f"{body}.position"][k], half[f"{body}.orientation"][k])
                for part, body in corner.bodies.items()
            }
            for name, slope in corner.slopes(at).items():
                found.setdefault(name, []).append(slope)
    return {name: np.array(slopes) for name, slopes in found.items()}


class Corner:
    """Joints of the left side of an axle at a pose, and what moves of hard points do there.

    Parameters
    ----------
    car : Car
        Car at design.
    axle : str
        Axle: "front" or "rear".
    points : tuple[str, ...]
        Hard points that move.
    """

    def __init__(self, car: "Car", axle: str, points: tuple[str, ...]) -> None:
        self.axle, self.corner = getattr(car.data, axle), f"{axle[0]}l"
        self.frame = np.asarray(car.bodies[CHASSIS].position)
        self.bodies = {part.name: f"{part.name}_{self.corner}" for part in self.axle.parts}
        if self.axle.steered:
            self.bodies[RACK] = car.data.steering.parts[0].name
        self.design = {part: np.asarray(car.bodies[body].position) for part, body in self.bodies.items()}
        self.column = {name: 3 * k for k, name in enumerate(points)}
        self.unknown = {part.name: 6 * k for k, part in enumerate(self.axle.parts)}
        self.count = 3 * len(points)
        self.wheel = np.asarray(car.bodies[f"{WHEEL}_{self.corner}"].position)
        turning = car.bodies[f"{WHEEL}_{self.corner}"].mass
        self.share = (car.data.rim.mass + car.data.tyre.mass) / turning  # of the wheel's body in its centre
        self.spin = car.spin_axis(self.corner)
        self.down = np.array([0.0, 0.0, -car.tyres[self.corner].free_radius])

    def placed(self, part: str, point: Array, pose: Mapping[str, tuple[Array, Array]]) -> tuple[Array, Array]:
        """Return where a point at design, in the world, lies now, and the rotation of its part."""
        if part not in pose:
            return point, np.eye(3)
        place, turn = pose[part]
        R = rotations(turn[None, :])[0]
        return place + R @ (point - self.design[part]), R

    def motion(
        self, part: str, point: Array, pose: Mapping[str, tuple[Array, Array]], name: str, share: float = 1.0
    ) -> tuple[Array, Array, Array]:
        """Return a point now, and how it moves with the unknown twists (3, u) and with the hard points (3, 3 p)."""
        x, R = self.placed(part, point, pose)
        by_twist, by_points = np.zeros((3, 6 * len(self.unknown))), np.zeros((3, self.count))
        if part in self.unknown:
            at = self.unknown[part]
            by_twist[:, at : at + 3], by_twist[:, at + 3 : at + 6] = np.eye(3), -cross_matrix(x)
        if name in self.column:
            by_points[:, self.column[name] : self.column[name] + 3] = share * R
        return x, by_twist, by_points

    def turning(self, part: str) -> Array:
        """Return how a part turns with the unknown twists (3, u)."""
        found = np.zeros((3, 6 * len(self.unknown)))
        if part in self.unknown:
            found[:, self.unknown[part] + 3 : self.unknown[part] + 6] = np.eye(3)
        return found

    def rows(self, joint: Connection, pose: Mapping[str, tuple[Array, Array]]) -> tuple[Array, Array]:
        """Return the linear equations of a joint: by the twists (r, u) and by the hard points (r, 3 p)."""
        ends = (joint.point, joint.point if joint.point_b is None else joint.point_b)
        names = (joint.name,) * 2 if joint.point_b is None else (f"{joint.name}.a", f"{joint.name}.b")
        (xa, Ta, Pa), (xb, Tb, Pb) = (
            self.motion(part, self.frame + point, pose, name)
            for part, point, name in zip((joint.a, joint.b), ends, names, strict=True)
        )
        if joint.point_b is not None:
            d, d0 = xb - xa, ends[1] - ends[0]
            length = np.zeros((3, self.count))
            for name, sign in zip(names, (-1.0, 1.0), strict=True):
                if name in self.column:
                    length[:, self.column[name] : self.column[name] + 3] += sign * np.eye(3)
            return (d @ (Tb - Ta))[None, :], (d @ (Pb - Pa) - d0 @ length)[None, :]
        if joint.axis is None:
            return Tb - Ta, Pb - Pa
        n = self.placed(joint.a, self.frame + joint.point, pose)[1] @ joint.axis
        across = np.linalg.svd(n[None, :])[2][1:]  # two directions square to the axis
        apart = self.turning(joint.a) - self.turning(joint.b)
        if joint.kind == "line":
            sway = np.cross(across, xb - xa) @ self.turning(joint.a)  # the directions turn with a
            return across @ (Tb - Ta) + sway, across @ (Pb - Pa)
        if joint.axis_b is None:
            angles = np.cross(across, n) @ apart
        else:
            from rtmbs.vehicle.car import square_to

            m = self.placed(joint.b, self.frame, pose)[1] @ np.array(square_to(joint.axis_b, joint.axis))
            angles = np.cross(n, m)[None, :] @ apart
        return np.vstack((Tb - Ta, angles)), np.vstack((Pb - Pa, np.zeros((len(angles), self.count))))

    def slopes(self, pose: Mapping[str, tuple[Array, Array]]) -> dict[str, Array]:
        """Return the derivatives (3 p,) of the curves of the left wheel at a pose."""
        carrier = self.axle.wheel_carrier
        both = [self.rows(joint, pose) for joint in self.axle.connections if joint.kind != "free"]
        _, T, P = self.motion(carrier, self.wheel, pose, "wheel_centre", self.share)
        own = np.zeros((3, self.count))
        if "wheel_centre" in self.column:
            own[:, self.column["wheel_centre"] : self.column["wheel_centre"] + 3] = self.share * np.eye(3)
        both.append((T[2:], (P - own)[2:]))  # the rig holds the travel of the wheel
        twists = np.linalg.solve(np.vstack([one for one, _ in both]), -np.vstack([two for _, two in both]))
        moved = T @ twists + P - own
        R = self.placed(carrier, self.wheel, pose)[1]
        n, dn = R @ self.spin, -cross_matrix(R @ self.spin) @ self.turning(carrier) @ twists
        flat = n[0] ** 2 + n[1] ** 2
        many = np.broadcast_to(n, (self.count, 3))
        contact = moved + lowest_point(many, dn.T, self.down)[1].T
        found = {"x": moved[0], "y": moved[1], "contact_x": contact[0], "contact_y": contact[1]}
        found |= {"toe": (n[0] * dn[1] - n[1] * dn[0]) / flat, "camber": dn[2] / np.sqrt(flat)}
        for strut in self.axle.struts:
            (xa, Ta, Pa), (xb, Tb, Pb) = (
                self.motion(part, self.frame + point, pose, f"{strut.name}.{end}")
                for part, point, end in ((strut.a, strut.point_a, "a"), (strut.b, strut.point_b, "b"))
            )
            found[strut.name] = (xb - xa) @ ((Tb - Ta) @ twists + Pb - Pa) / np.linalg.norm(xb - xa)
        return found


def cross_matrix(x: Array) -> Array:
    """Return the matrix (3, 3) of the cross product with x."""
    return np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])
