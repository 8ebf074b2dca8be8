"""Force laws in plain NumPy for ``Model.add_force``: to be used as they are, and to be copied.

Each is ``law(t, kinematics, parameters)``; its docstring says what to attach it to and what its parameters are. They
are smooth, or smooth but for a corner, because Newton's iteration and the trapezoidal rule want derivatives.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from rtmbs.library.tables import Curve, Surface
from rtmbs.model.laws import JointKinematics, Kinematics

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
