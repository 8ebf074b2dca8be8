"""Hard points fitted to target curves of the rig, by the exact derivatives of the curves by the points.

At each value of the motion the parts of the axle are displaced rigidly, x = D(X) for a point X at design. The joints
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
from rtmbs.vehicle.axle_joints import AxleJoints, Poses, cross_matrix
from rtmbs.vehicle.rig import channels, chosen_values, curves_of, half_run, lowest_point

if TYPE_CHECKING:
    from rtmbs.vehicle.car import Car

CURVES = ("toe", "camber", "x", "y", "contact_x", "contact_y")  # and the lengths of springs and dampers
MOTIONS = ("bump", "roll", "steer")
SIDES = ("left", "right")
CLOSE = 1e-11  # relative change of the squares, and of the moves, at which the search ends


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
    side: Literal["left", "right"] = "left",
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
        Target curves (k,) of the wheel of the ``side`` by name: "toe", "camber" [rad], "x", "y", "contact_x",
        "contact_y" [m], or a spring or damper for its length [m].
    points : Mapping[str, array_like]
        Hard points that may move, by the names of ``car.data.front.hard_points``, those of the right side by
        ``right_hard_points``, with the most that each coordinate moves to both sides (3,) [m]; 0 for one that stays.
    motion : {'bump', 'roll', 'steer'}, default 'bump'
        Motion of the rig.
    side : {'left', 'right'}, default 'left'
        Side whose points move. The right side mirrors the left one while it has no points of its own; points of the
        right side move alone, and the left side stays.
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
        For another axle, motion or side, targets of another length, moves below zero, and joints that hold the axle
        more than once.
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
    choices = (("axle", axle, ("front", "rear")), ("motion", motion, MOTIONS), ("side", side, SIDES))
    for name, value, known in choices:
        if value not in known:
            raise ModelError(f"fit_hard_points: {name} is {shown(value)}; it must be one of {', '.join(known)}")
    if not isinstance(most, int) or most < 1:
        raise ModelError(f"fit_hard_points: most is {shown(most)}; it must be a whole number above zero")
    at = chosen_values(car, motion, values)
    wanted, ranges = checked_wishes(car, axle, side, targets, points, len(at))
    scale = dict.fromkeys(wanted, 1.0)
    for name, weight in (weights or {}).items():
        if name not in wanted:
            raise unknown_name("target with a weight", name, wanted)
        scale[name] = number(weight, f"fit_hard_points: weight of {name!r}")
    search = Search(car, axle, side, motion, at, wanted, scale, ranges)
    from scipy.optimize import least_squares  # takes long to load

    found = least_squares(
        search.residual, np.zeros(len(search.most)), search.jacobian, (-search.most, search.most), x_scale=search.most,
        max_nfev=most, ftol=CLOSE, xtol=CLOSE, gtol=None,  # that one has the units of the targets
    )  # fmt: skip
    fitted = search.moved(found.x)
    missed = (distances(one, axle, motion, at, wanted, side) for one in (car, fitted))
    before, after = ({name: float(np.sqrt(np.mean(rest**2))) for name, rest in one.items()} for one in missed)
    ends = points_of(fitted, axle, side)
    moves = {name: ends[name] - point for name, point in search.start.items()}
    return HardPointFit(fitted, moves, before, after, bool(found.status > 0), str(found.message))


def points_of(car: "Car", axle: str, side: str) -> dict[str, Array]:
    """Return the hard points of a side of an axle (3,) by name; y is negative on the right one.

    Parameters
    ----------
    car : Car
        Car.
    axle : str
        Axle: "front" or "rear".
    side : str
        Side: "left" or "right".

    Returns
    -------
    dict[str, ndarray]
        Points in the chassis frame at design [m].
    """
    own = getattr(car.data, axle)
    found: dict[str, Array] = own.hard_points if side == "left" else own.right_hard_points
    return found


class Search:
    """Least squares of curves less their targets by the moves of hard points; ``most`` are the largest moves (n,) [m].

    Parameters
    ----------
    car : Car
        Car to begin with.
    axle : str
        Axle: "front" or "rear".
    side : str
        Side whose points move: "left" or "right".
    motion : str
        Motion of the rig.
    values : ndarray
        Values (k,) of the motion.
    targets : Mapping[str, ndarray]
        Target curves (k,) by name.
    scale : Mapping[str, float]
        Weights of the curves by name.
    ranges : Mapping[str, ndarray]
        Largest moves (3,) of hard points by name [m]; those of 0 are no unknowns.
    """

    def __init__(
        self, car: "Car", axle: str, side: str, motion: str, values: Array, targets: Mapping[str, Array],
        scale: Mapping[str, float], ranges: Mapping[str, Array],
    ) -> None:  # fmt: skip
        self.car, self.axle, self.side, self.motion, self.values = car, axle, side, motion, values
        self.targets, self.scale = targets, scale
        whole = np.concatenate(list(ranges.values()))
        self.unknown = np.flatnonzero(whole > 0.0)
        self.most = whole[self.unknown]
        known = points_of(car, axle, side)
        self.start = {name: known[name] for name in ranges}
        self._latest: tuple[Array, OnRig] | None = None

    def moved(self, x: Array) -> "Car":
        """Return the car with moves x (n,) of its hard points [m]."""
        whole = np.zeros(3 * len(self.start))
        whole[self.unknown] = x
        at = zip(self.start.items(), whole.reshape(-1, 3), strict=True)
        points = {name: point + move for (name, point), move in at}
        return self.car.with_points(self.axle, points, self.side)  # type: ignore[arg-type]

    def on_rig(self, x: Array) -> "OnRig":
        """Return the moved axle on the rig; the search asks for the derivatives where it asked for the curves."""
        if self._latest is None or not np.array_equal(self._latest[0], x):
            moved, names = self.moved(x), tuple(self.start)
            self._latest = x.copy(), OnRig(moved, self.axle, self.motion, self.values, names, self.side)
        return self._latest[1]

    def residual(self, x: Array) -> Array:
        """Return weighted curves less their targets (r,)."""
        found = self.on_rig(x).distances(self.targets)
        return np.concatenate([self.scale[name] * rest for name, rest in found.items()])

    def jacobian(self, x: Array) -> Array:
        """Return the derivatives (r, n) of the residual."""
        slopes = self.on_rig(x).slopes()
        return np.concatenate([self.scale[name] * slopes[name][:, self.unknown] for name in self.targets])


def checked_wishes(
    car: "Car", axle: str, side: str, targets: Mapping[str, Numbers], points: Mapping[str, Numbers], count: int
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Return targets (count,) and ranges of moves (3,) by name, checked."""
    own = getattr(car.data, axle)
    curves = (*CURVES, *(strut.name for strut in own.struts))
    there = points_of(car, axle, side)
    for given, known, what in ((targets, curves, "curve of the rig"), (points, there, "hard point")):
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


def distances(
    car: "Car", axle: str, motion: str, values: Array, targets: Mapping[str, Array], side: str = "left"
) -> dict[str, Array]:
    """Return the curves of the wheel of a side less their targets."""
    return OnRig(car, axle, motion, values, (), side).distances(targets)


class OnRig:
    """Axle on the rig at all values of a motion: its curves, and their derivatives by hard points.

    Parameters
    ----------
    car : Car
        Car at design.
    axle : str
        Axle: "front" or "rear".
    motion : str
        Motion of the rig.
    values : ndarray
        Values (k,) of the motion.
    points : tuple[str, ...]
        Hard points that move.
    side : str, default "left"
        Side of the curves and the points: "left" or "right".
    """

    def __init__(
        self, car: "Car", axle: str, motion: str, values: Array, points: tuple[str, ...], side: str = "left"
    ) -> None:
        self.joints = CurveSlopes(car, axle, points, side[0])
        names = [f"{body}.{what}" for body in self.joints.bodies for what in ("position", "orientation")]
        names = [*channels(car, axle), *names]
        self.halves = [half_run(car, axle, motion, sign, values, 0.0, names) for sign in (-1.0, 1.0)]
        self.curves = curves_of(car, axle, side[0], motion, self.halves, self.joints.down)

    def distances(self, targets: Mapping[str, Array]) -> dict[str, Array]:
        """Return the curves of the wheel less their targets (k,)."""
        return {
            name: (self.curves.lengths[name] if name in self.curves.lengths else getattr(self.curves, name)) - target
            for name, target in targets.items()
        }

    def slopes(self) -> dict[str, Array]:
        """Return the derivatives (k, 3 p) of all curves of the wheel by p hard points, in their order."""
        found: dict[str, list[Array]] = {}
        for half in self.halves:
            poses = {
                body: (half[f"{body}.position"], rotations(half[f"{body}.orientation"])) for body in self.joints.bodies
            }
            for k in range(len(half[next(iter(half))])):
                at = {body: (place[k], R[k]) for body, (place, R) in poses.items()}
                for name, slope in self.joints.slopes(at).items():
                    found.setdefault(name, []).append(slope)
        return {name: np.array(slopes) for name, slopes in found.items()}


class CurveSlopes(AxleJoints):
    """Joints of an axle, and the slopes of the curves of the wheel of one side by hard points.

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

    def __init__(self, car: "Car", axle: str, points: tuple[str, ...], side: str = "l") -> None:
        super().__init__(car, axle, points, side)
        self.spin, struts = car.spin_axis(self.corner), self.axle.side(self.corner).struts
        self.struts = [one.mirrored() if side == "r" else one for one in struts]
        self.down = np.array([0.0, 0.0, -car.tyres[self.corner].free_radius])

    def slopes(self, poses: Poses) -> dict[str, Array]:
        """Return the derivatives (3 p,) of the curves of the wheel at a pose."""
        twists, (_, T, P), carrier = self.twists(poses), self.wheel_centre(self.corner, poses), self.axle.wheel_carrier
        moved = T @ twists + P
        n = self.axis(self.corner, carrier, self.spin, poses)
        dn = -cross_matrix(n) @ self.turning(self.corner, carrier) @ twists
        flat = n[0] ** 2 + n[1] ** 2
        many = np.broadcast_to(n, (self.count, 3))
        contact = moved + lowest_point(many, dn.T, self.down)[1].T
        found = {"x": moved[0], "y": moved[1], "contact_x": contact[0], "contact_y": contact[1]}
        found |= {"toe": (n[0] * dn[1] - n[1] * dn[0]) / flat, "camber": dn[2] / np.sqrt(flat)}
        for strut in self.struts:
            (xa, Ta, Pa), (xb, Tb, Pb) = (
                self.end(self.corner, part, self.frame + point, poses, f"{strut.name}.{end}")
                for part, point, end in ((strut.a, strut.point_a, "a"), (strut.b, strut.point_b, "b"))
            )
            found[strut.name] = (xb - xa) @ ((Tb - Ta) @ twists + Pb - Pa) / np.linalg.norm(xb - xa)
        return found
