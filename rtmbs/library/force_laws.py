"""Force laws in plain NumPy for ``Model.add_force``, and tables for them.

Force laws in plain NumPy for ``Model.add_force``: to be used as they are, and to be copied.

Each is ``law(t, kinematics, parameters)``; its docstring says what to attach it to and what its parameters are. They
are smooth, or smooth but for a corner, because Newton's iteration and the trapezoidal rule want derivatives.

Tables for force laws: linear or monotone cubic, of one variable or two, with exact derivatives.

A table is called with numbers inside a law, and is recorded with it. Each knot costs a few operations, for no branch is
chosen: a part of the way to every knot is clipped to its interval, and all intervals are added.
"""

import math
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import ModelError, shown
from rtmbs.model.checks import Numbers, numbers, shape_of
from rtmbs.model.forces import JointKinematics, Kinematics

Array = NDArray[np.float64]
KINDS, OUTSIDE = ("linear", "cubic"), ("straight", "hold")


class Axis:
    """Knots of one variable, and the functions of it that values and slopes at the knots are multiplied by."""

    def __init__(self, knots: Numbers, what: str, kind: str, outside: str) -> None:
        for name, value, known in (("kind", kind, KINDS), ("outside", outside, OUTSIDE)):
            if value not in known:
                raise ModelError(f"{what}: {name} is {shown(value)}; it must be one of {', '.join(known)}")
        size = math.prod(shape_of(knots, what, "it must be a list of numbers"))
        if size < 2:
            raise ModelError(f"{what} has {size} values; a table needs at least two")
        self.knots = numbers(knots, what, (size,))
        self.widths = np.diff(self.knots)
        if not np.all(self.widths > 0.0):
            k = int(np.argmin(self.widths > 0.0))
            late, early = self.knots[k + 1], self.knots[k]
            raise ModelError(f"{what}[{k + 1}] = {late:g} does not follow {early:g}; knots must increase")
        self.cubic, self.straight = kind == "cubic", outside == "straight"

    def shares(self, x: Any) -> list[Any]:
        """Return the share of each interval that lies below ``x``: 0 to 1, beyond at the ends of a straight table.

        Each interval holds its lower knot, so that the derivative at a knot is that of one side.
        """
        found, last = [], len(self.widths) - 1
        for k, width in enumerate(self.widths):
            share = (x - self.knots[k]) / width
            endless = self.straight and not self.cubic
            if not (endless and k == last):
                share = np.where(x < self.knots[k + 1], share, 1.0)
            if not (endless and k == 0):
                share = np.where(x >= self.knots[k], share, 0.0)
            found.append(share)
        return found

    def weights(self, x: Any) -> tuple[list[Any], list[Any]]:
        """Return the weights of values and of slopes at the knots; no slopes in a linear table.

        Cubic: Hermite's polynomials of the shares s, 3 s^2 - 2 s^3 for values, s - 2 s^2 + s^3 and s^3 - s^2 for
        slopes.
        """
        shares = self.shares(x)
        if not self.cubic:
            return differences(shares), []
        rise = [s * s * (3.0 - 2.0 * s) for s in shares]
        left = [width * s * (1.0 - s) * (1.0 - s) for s, width in zip(shares, self.widths, strict=True)]
        right = [width * s * s * (s - 1.0) for s, width in zip(shares, self.widths, strict=True)]
        slopes = [left[0], *(b + a for a, b in zip(left[1:], right[:-1], strict=True)), right[-1]]
        if self.straight:
            first, last = self.knots[0], self.knots[-1]
            slopes[0] = slopes[0] + np.where(x < first, x - first, 0.0)
            slopes[-1] = slopes[-1] + np.where(x >= last, x - last, 0.0)
        return differences(rise), slopes

    def slopes(self, values: Array) -> Array:
        """Return the slopes at the knots along the first axis of ``values`` that keep a cubic monotone (PCHIP)."""
        from scipy.interpolate import PchipInterpolator  # scipy costs 0.4 s, and few models have a table

        return np.asarray(PchipInterpolator(self.knots, values, axis=0).derivative()(self.knots))


def differences(rise: list[Any]) -> list[Any]:
    """Return weights at the knots from shares between 0 and 1 over each interval."""
    return [1.0 - rise[0], *(a - b for a, b in pairwise(rise)), rise[-1]]


def product(weights: list[Any], values: list[Any]) -> Any:
    """Return the sum of weights times values."""
    total = 0.0
    for weight, value in zip(weights, values, strict=True):
        total = total + weight * value
    return total


class Curve:
    """A table of one variable, called with a number: ``curve(x)``.

    Parameters
    ----------
    x : increasing knots (k,)
    values : (k,) at the knots
    kind : "linear", or "cubic": once differentiable, monotone where the values are (Fritsch and Carlson 1980)
    outside : "straight" goes on with the slope of the end, "hold" with its value

        curve = Curve((0.0, 0.01, 0.03), (0.0, 200.0, 900.0), "cubic")
        model.add_force("pad", lambda t, kinematics, parameters: -curve(kinematics.z), joint="slide")

    Raises ModelError naming what is wrong.
    """

    def __init__(self, x: Numbers, values: Numbers, kind: str = "linear", outside: str = "straight") -> None:
        self.axis = Axis(x, "curve: x", kind, outside)
        self.values = numbers(values, "curve: values", (len(self.axis.knots),))
        self.rises = self.axis.slopes(self.values) if self.axis.cubic else np.zeros(0)

    def __call__(self, x: Any) -> Any:
        """Return the value at ``x``, a number or a recorded one."""
        at_values, at_slopes = self.axis.weights(x)
        return product(at_values, list(self.values)) + product(at_slopes, list(self.rises))


class Surface:
    """A table of two variables, called with two numbers: ``surface(x, y)``.

    ``values`` (kx, ky) stand at the knots x and y. "linear" is bilinear. "cubic" is bicubic and once differentiable,
    with the slopes of monotone cubics along both directions: monotone along grid lines. Else as ``Curve``.

        damper = Surface(stroke, speed, forces, "cubic")  # force by length and speed
    """

    def __init__(
        self, x: Numbers, y: Numbers, values: Numbers, kind: str = "linear", outside: str = "straight"
    ) -> None:
        self.x, self.y = Axis(x, "surface: x", kind, outside), Axis(y, "surface: y", kind, outside)
        self.values = numbers(values, "surface: values", (len(self.x.knots), len(self.y.knots)))
        if self.x.cubic:
            self.along_x, self.along_y = self.x.slopes(self.values), self.y.slopes(self.values.T).T
            self.twist = self.y.slopes(self.along_x.T).T

    def __call__(self, x: Any, y: Any) -> Any:
        """Return the value at ``x``, ``y``, numbers or recorded ones."""
        (at_x, slope_x), (at_y, slope_y) = self.x.weights(x), self.y.weights(y)
        total = self.along(at_x, at_y, self.values)
        if self.x.cubic:
            total = total + self.along(slope_x, at_y, self.along_x) + self.along(at_x, slope_y, self.along_y)
            total = total + self.along(slope_x, slope_y, self.twist)
        return total

    def along(self, one: list[Any], other: list[Any], table: Array) -> Any:
        """Return the sum of all products of weights with the numbers of a table."""
        return product(one, [product(other, list(row)) for row in table])


Parameters = Mapping[str, Any]
STILL = 1e-6  # [m/s] keeps directions of velocities defined at rest


def bump_stop(t: float, kinematics: JointKinematics, parameters: Parameters) -> Any:
    """On one ``joint``: nothing up to ``clearance``, then a progressive spring k d^exponent with damping c d zd.

    parameters: clearance [m or rad], stiffness [N/m^exponent], exponent (2 or more: a smooth start), damping
    [N s/m^2]. It never pulls.
    """
    d = np.maximum(kinematics.z - parameters["clearance"], 0.0)
    push = parameters["stiffness"] * d ** parameters["exponent"] + parameters["damping"] * d * kinematics.zd
    return -np.maximum(push, 0.0)


def stops(t: float, kinematics: JointKinematics, parameters: Parameters) -> Any:
    """On one ``joint``: two end stops, each a progressive spring as ``bump_stop`` has; nothing between them.

    parameters: lower, upper [m or rad], stiffness [N/m^exponent], exponent (2 or more: a smooth start), damping
    [N s/m^2]. They never pull.
    """
    zd = kinematics.zd
    force = 0.0
    for sign, depth in ((-1.0, kinematics.z - parameters["upper"]), (1.0, parameters["lower"] - kinematics.z)):
        d = np.maximum(depth, 0.0)
        push = parameters["stiffness"] * d ** parameters["exponent"] - sign * parameters["damping"] * d * zd
        force = force + sign * np.maximum(push, 0.0)
    return force


vars(stops)["ordered_inputs"] = (("lower", "upper"),)


def coulomb_friction(t: float, kinematics: JointKinematics, parameters: Parameters) -> Any:
    """On one ``joint``: dry friction against the rate, -force tanh(zd / smoothing). It creeps instead of sticking.

    parameters: force [N m or N], smoothing [rad/s or m/s]: within this rate friction builds up. The sign function in
    place of tanh has no derivative, and Newton's iteration fails where the rate changes its sign.
    """
    return -parameters["force"] * np.tanh(kinematics.zd / parameters["smoothing"])


def interpolated(x: Any, knots: Any, values: Any) -> Any:
    """Interpolate as ``numpy.interp`` inside a recorded law: linear, and constant outside the knots."""
    return Curve(knots, values, outside="hold")(x)


def joint_table(table: Curve | Surface) -> Callable[..., Any]:
    """Return a law for one ``joint``: force or torque by a ``Curve`` of z, or by a ``Surface`` of z and zd.

    The sign is that of the table: a spring has values that fall with z.
    """

    def law(t: float, kinematics: JointKinematics, parameters: Parameters) -> Any:
        z, zd = kinematics.z, kinematics.zd
        return table(z) if isinstance(table, Curve) else table(z, zd)

    return law


def distance_table(table: Curve | Surface) -> Callable[..., Any]:
    """Return a law ``between`` two markers: pull along their line [N] by distance, or by distance and its rate.

    A ``Curve`` takes the distance [m], a ``Surface`` the distance and its rate [m/s].
    """

    def law(t: float, kinematics: Kinematics, parameters: Parameters) -> Any:
        length = np.sqrt(np.dot(kinematics.r, kinematics.r))
        if isinstance(table, Curve):
            return table(length)
        return table(length, np.dot(kinematics.r, kinematics.v) / length)

    return law


def stribeck_friction(t: float, kinematics: JointKinematics, parameters: Parameters) -> Any:
    """On one ``joint``: dry friction that falls from ``static`` to ``sliding``, and viscous friction.

    parameters: static, sliding [N m or N], stribeck_rate [rad/s or m/s], viscous [N m s/rad], smoothing [rad/s]: the
    rate within which the sign of the rate is smoothed by tanh. It creeps instead of sticking.
    """
    zd = kinematics.zd
    bump = np.exp(-((zd / parameters["stribeck_rate"]) ** 2))
    dry = parameters["sliding"] + (parameters["static"] - parameters["sliding"]) * bump
    return -dry * np.tanh(zd / parameters["smoothing"]) - parameters["viscous"] * zd


def aerodynamic_drag(t: float, kinematics: Kinematics, parameters: Parameters) -> Any:
    """On a ``body`` at its centre of pressure: f = -1/2 density area drag |v - wind| (v - wind), world axes.

    parameters: density [kg/m^3], area [m^2], drag (coefficient), wind (3,) [m/s].
    """
    v = kinematics.v - parameters["wind"]
    factor = 0.5 * parameters["density"] * parameters["area"] * parameters["drag"]
    return np.concatenate((-factor * np.sqrt(np.dot(v, v) + STILL**2) * v, np.zeros(3)))


def point_spring(t: float, kinematics: Kinematics, parameters: Parameters) -> Any:
    """On a ``body`` at a point: a spring-damper without length to ``target``, such as a hand that pulls.

    parameters: target (3,) in the world [m], stiffness [N/m], damping [N s/m], limit [N]: the elastic pull never
    exceeds it. ``Simulation.attach`` moves it to another body.
    """
    pull = parameters["stiffness"] * (parameters["target"] - kinematics.r)
    size = np.sqrt(np.dot(pull, pull) + STILL**2)
    share = np.minimum(1.0, parameters["limit"] / size)
    return np.concatenate((share * pull - parameters["damping"] * kinematics.v, np.zeros(3)))


def bushing(t: float, kinematics: Kinematics, parameters: Parameters) -> Any:
    """``between`` two markers: linear in place, turn and velocities; the turn is its axis times its sine.

    parameters: stiffness (6, 6) [N/m, N/rad; N m/m, N m/rad], damping (6, 6) the same per second; rows and columns are
    three forces, then three torques, in axes of marker a. It rests where both markers coincide; for small turns.
    """
    R = kinematics.R
    turn = 0.5 * np.stack((R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]))
    place, rate = np.concatenate((kinematics.r, turn)), np.concatenate((kinematics.v, kinematics.w))
    return -parameters["stiffness"] @ place - parameters["damping"] @ rate


def hunt_crossley(t: float, kinematics: Kinematics, parameters: Parameters) -> Any:
    """``between`` a marker on a plane (its z axis the normal) and the centre of a sphere: contact with friction.

    Normal force k d^(3/2) (1 + 3/2 alpha dd) (Hunt and Crossley 1975), never pulling; friction mu times it, against the
    velocity of the contact point. parameters: radius [m], stiffness [N/m^(3/2)], dissipation alpha [s/m], friction mu,
    smoothing [m/s]: the slip within which friction builds up.
    """
    radius = parameters["radius"]
    d = np.maximum(radius - kinematics.r[2], 0.0)
    normal = np.maximum(
        parameters["stiffness"] * d**1.5 * (1.0 - 1.5 * parameters["dissipation"] * kinematics.v[2]), 0.0
    )
    arm = np.stack((0.0, 0.0, d - radius))  # from the centre to the contact point
    slip = kinematics.v + np.cross(kinematics.w, arm)
    speed = np.sqrt(slip[0] ** 2 + slip[1] ** 2 + parameters["smoothing"] ** 2)
    grip = -parameters["friction"] * normal / speed
    force = np.stack((grip * slip[0], grip * slip[1], normal))
    return force, np.cross(arm, force)


def magic_formula(slip: Any, B: Any, C: Any, E: Any) -> Any:
    """Return sin(C atan(B s - E (B s - atan(B s)))): Pacejka's curve for a force of height one."""
    x = B * slip
    return np.sin(C * np.arctan(x - E * (x - np.arctan(x))))


def pacejka_wheel(t: float, kinematics: Kinematics, parameters: Parameters) -> Any:
    """``between`` a marker on a flat road (z up) and a wheel's centre (y axis of the marker: spin axis): pure slip.

    Vertical force a spring-damper, never pulling; longitudinal force by slip (omega r - v_x) / |v_x| and lateral force
    by the slip angle, each as if alone (pure slip), height ``friction`` times the vertical force.
    parameters: radius [m], stiffness [N/m], damping [N s/m], friction, longitudinal (B, C, E), lateral (B, C, E),
    slowest [m/s]: the speed below which slip is measured against it.
    """
    normal, spin = np.array([0.0, 0.0, 1.0]), kinematics.R[:, 1]
    along = np.cross(spin, normal)
    ahead = along / np.sqrt(np.dot(along, along))
    side = np.cross(normal, ahead)
    height, v = kinematics.r[2], kinematics.v
    d = parameters["radius"] - height
    load = np.where(d > 0.0, np.maximum(parameters["stiffness"] * d - parameters["damping"] * v[2], 0.0), 0.0)
    speed = np.sqrt(np.dot(v, ahead) ** 2 + parameters["slowest"] ** 2)
    slip = (np.dot(kinematics.w, spin) * height - np.dot(v, ahead)) / speed
    angle = np.arctan(np.dot(v, side) / speed)
    height_of_curve = parameters["friction"] * load
    force = (
        height_of_curve * magic_formula(slip, *parameters["longitudinal"]) * ahead
        - height_of_curve * magic_formula(angle, *parameters["lateral"]) * side
        + load * normal
    )
    return force, np.cross(-height * normal, force)
