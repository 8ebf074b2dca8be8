"""Rig of an axle with the chassis held: bump, roll and steer by a kinematic analysis, forces by statics.

Curves and their derivatives by the motion are exact: the derivatives are velocities of the analysis.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rtmbs.errors import ModelError, shown
from rtmbs.kinematics import Analysis
from rtmbs.model import ConstantRate, Fixed
from rtmbs.model.checks import Array, Numbers, number, numbers
from rtmbs.vehicle.axle import CHASSIS, WHEEL
from rtmbs.vehicle.compliance import FORCES, RIGHT, Phase, forced_runs
from rtmbs.vehicle.rest import carrying
from rtmbs.vehicle.rig_curves import RigCurves, channels, curves_of, lowest_point
from rtmbs.vehicle.steering import DRIVER

if TYPE_CHECKING:
    from rtmbs.vehicle.car import Car

Motion = Literal["bump", "roll", "steer", "longitudinal", "lateral", "aligning"]
MOTIONS = ("bump", "roll", "steer", *FORCES)
ENDS = {"longitudinal": 2000.0, "lateral": 2000.0, "aligning": 200.0}  # of the usual values [N, N m]
EVEN = 1e-9  # relative difference of steps between values that is rounding
STILL = 1e-6  # end of a run that is asked for its beginning only


def rig(
    car: "Car",
    axle: Literal["front", "rear"],
    motion: Motion = "bump",
    *,
    values: Sequence[float] | None = None,
    ride: float = 0.0,
    wheel_radius: float | None = None,
    pitch: float = 0.0,
    phase: Phase = "parallel",
    load: float | None = None,
    point: Literal["contact", "centre"] = "contact",
) -> RigCurves:
    """Return the curves of an axle over a motion or a force, with the chassis held: kinematics and compliance.

    Motions are kinematic: joints are ideal, forces take no part. Forces are static: the axle is in equilibrium on its
    springs and bushings under constant wheel loads, with the wheels fixed to their carriers.

    Parameters
    ----------
    car : Car
        Car; tyres and brakes take no part.
    axle : {'front', 'rear'}
        Axle that moves.
    motion : {'bump', 'roll', 'steer', 'longitudinal', 'lateral', 'aligning'}, default 'bump'
        "bump" moves both wheels up, "roll" the left one up and the right one down, "steer" turns the pinion or
        Pitman arm with the wheel centres at their heights. "longitudinal" and "lateral" are forces of the road in the
        lowest points of the wheels, forward and to the left, "aligning" moments about the vertical, to the left.
    values : Sequence[float], optional
        Increasing values of the motion (k,) with 0 among them: travel [m] or angle [rad]. 25 from -60 to 60 mm unless
        given; those of "steer" reach the end of the steering, 1 rad at most. Forces are those of the left wheel
        [N, N m]: 9 up to 2 kN or 200 N m unless given.
    ride : float, default 0.0
        Travel of both wheels from design at which roll and steer take place [m].
    wheel_radius : float, optional
        Radius of the lowest point of the wheel [m]; the free radius of the tyre unless given, that under the load for
        forces.
    pitch : float, default 0.0
        Pitch of the chassis over the road [rad], nose down: the lowest point and the roll centre belong to the road.
        Not of forces, whose axes are those of the chassis.
    phase : {'parallel', 'opposite', 'left'}, default 'parallel'
        Forces on the right wheel: those of the left one, their opposites, or none. Of forces only.
    load : float, optional
        Load of each wheel [N], constant; the nominal one of the tyre unless given. Of forces only.
    point : {'contact', 'centre'}, default 'contact'
        Point of longitudinal forces: "contact" as of brakes, "centre" as of drive shafts. Of "longitudinal" only.

    Returns
    -------
    RigCurves
        Curves of both wheels.

    Raises
    ------
    ModelError
        For values that cannot be, and options that the motion does not take.
    MotionError
        Where the axle does not reach a value.

    Examples
    --------
    >>> curves = rtmbs.vehicle.rig(rtmbs.vehicle.read("sedan"), "front", "bump")  # doctest: +SKIP
    >>> curves.at(0.0, "toe")  # bump steer [rad/m]  # doctest: +SKIP
    """
    choices = (("axle", axle, ("front", "rear")), ("motion", motion, MOTIONS), ("phase", phase, tuple(RIGHT)))
    for name, value, known in (*choices, ("point", point, ("contact", "centre"))):
        if value not in known:
            raise ModelError(f"rig: {name} is {shown(value)}; it must be one of {', '.join(known)}")
    refuse_options(motion, phase, load, point)
    points = chosen_values(car, motion, values)
    start = number(ride, "rig: ride")
    tyre = car.tyres[f"{axle[0]}l"]
    carried = tyre.nominal_load if load is None else number(load, "rig: load")
    radius = tyre.free_radius - (carried / tyre.vertical_stiffness if motion in FORCES else 0.0)
    radius = radius if wheel_radius is None else number(wheel_radius, "rig: wheel_radius")
    angle = number(pitch, "rig: pitch")
    if motion in FORCES:
        if start or angle or not (carried > 0.0 and radius > 0.0):
            raise ModelError("rig: forces take no ride and no pitch, and load and wheel_radius must be above zero")
        parts = forced_runs(
            car, axle, motion, points, phase=phase, load=carried, radius=radius, at_centre=point == "centre"
        )
    else:
        parts = [half_run(car, axle, motion, sign, points, start) for sign in (-1.0, 1.0)]
    down = np.array([np.sin(angle), 0.0, -np.cos(angle)])
    left, right = (curves_of(car, axle, side, motion, parts, radius * down) for side in "lr")
    arm, _ = lowest_point(car.axle(axle[0]).spin_axis[None, :], np.zeros((1, 3)), radius * down)
    width = 2.0 * float(car.axle(axle[0]).wheel_centre[1] + arm[0, 1])
    rise = -(left.rates["x"] * down[0] + left.rates["z"] * down[2])
    track = width + left.contact_y - right.contact_y
    both = car.axle(axle[0]).shared != ()
    sway = 0.5 * (left.rates["contact_y"] + right.rates["contact_y"]) if both else left.rates["contact_y"]
    height = 0.5 * track * sway / rise if motion == ("roll" if both else "bump") else None
    return RigCurves(motion, axle, points, left, right, track, height, car.axle(axle[0]).live)


def chosen_values(car: "Car", motion: str, values: Numbers | None) -> Array:
    """Return the values of a motion, checked; the usual ones unless given."""
    end = min(car.data.steering.max_angle, 1.0) if motion == "steer" else ENDS.get(motion, 0.06)
    given = np.linspace(-end, end, 9 if motion in FORCES else 25) if values is None else values
    points = numbers(given, "rig: values", np.shape(given))
    if points.ndim != 1 or len(points) < 2 or np.any(np.diff(points) <= 0.0) or not np.any(points == 0.0):
        raise ModelError("rig: values must be increasing numbers with 0 among them")
    return points


def refuse_options(motion: str, phase: str, load: float | None, point: str) -> None:
    """Refuse options of forces for a motion that does not take them."""
    if motion not in FORCES and (phase != "parallel" or load is not None):
        name, value = ("phase", phase) if phase != "parallel" else ("load", load)
        raise ModelError(f"rig: {motion} takes no {name}, but it is {shown(value)}; give it for forces only")
    if motion != "longitudinal" and point != "contact":
        raise ModelError(
            f"rig: {motion} takes no point, but it is {shown(point)}; give it for longitudinal forces only"
        )


def half_run(
    car: "Car", axle: str, motion: str, sign: float, points: Array, ride: float, names: list[str] | None = None
) -> dict[str, Array]:
    """Return channels of the analysis at the points of one sign, 0 included once, in the order of ``points``.

    ``names`` are those of the curves unless given.
    """
    wanted = points[points > 0.0] if sign > 0.0 else -points[points <= 0.0][::-1]
    analysis = Analysis(held_model(car, axle, motion, sign, ride))
    names = channels(car, axle) if names is None else names
    spacing = np.diff(np.concatenate(([0.0], wanted[wanted > 0.0])))
    found: dict[str, list[Any]] = {}
    if len(spacing) and np.ptp(spacing) <= EVEN * spacing[0]:  # one run has them all
        result = analysis.run(0.0, float(wanted[-1]), float(spacing[0]))
        rows = [(result, round(value / spacing[0])) for value in wanted.tolist()]
    else:
        ends = [(value or STILL, -1 if value else 0) for value in wanted.tolist()]
        rows = [(analysis.run(0.0, end, end), row) for end, row in ends]
    for result, row in rows:
        for name in names:
            found.setdefault(name, []).append(result[name][row])
    order = slice(None) if sign > 0.0 else slice(None, None, -1)
    rates = {name for name in found if name.endswith("velocity")}
    return {
        name: np.array(values)[order] * (sign if name in rates else 1.0) for name, values in found.items()
    }  # velocities by the motion itself


def held_model(car: "Car", axle: str, motion: str, sign: float, ride: float) -> Any:
    """Return the car with its chassis held, no forces, and drivers for the wheels and the steering."""

    model = carrying(car.changed(steer=0.0, bushings=None))
    model.forces.clear()
    del model.joints["chassis_pose"], model.initials["chassis_pose"], model.drivers[DRIVER]
    car.data.steering.replace_constraints(model)
    model.add_joint("held", Fixed(), model.ground, CHASSIS, point=model.bodies[CHASSIS].position)
    joint, coordinate = ("rack", "displacement") if "rack" in model.joints else ("sector_shaft", "angle")
    steers = sign * car.data.steering.ratio if motion == "steer" else 0.0
    model.add_driver(DRIVER, ConstantRate(steers), joint=(joint, coordinate))
    for corner in car.tyres:
        moves = 0.0
        if corner[0] == axle[0] and motion != "steer":
            moves = -sign if motion == "roll" and corner[1] == "r" else sign
        wheel = f"{WHEEL}_{corner}"
        height = float(model.bodies[wheel].position[2]) + (ride if corner[0] == axle[0] else 0.0)
        model.add_driver(f"travel_{corner}", ConstantRate(moves, height), body=(wheel, "z"))
    return model
