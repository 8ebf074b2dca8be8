"""Report of the rig: curves of an axle with their gradients, as a table and as one HTML file; comparison of designs."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rtmbs.vehicle.manoeuvres.report import Metric, Plot, Report
from rtmbs.vehicle.rig import FORCES, Motion, RigCurves, rig

if TYPE_CHECKING:
    from rtmbs.vehicle.car import Car

ANGLES = ("toe", "camber", "caster", "kingpin_inclination")
WORDS = {
    "x": "the wheel centre forward", "y": "the wheel centre to the left", "z": "the wheel centre up",
    "contact_x": "the lowest point of the wheel forward", "contact_y": "the lowest point of the wheel to the left",
    "brake_x": "the contact point forward, as a point of the wheel carrier",
    "spring": "the length of the spring", "shock": "the length of the shock",
}  # fmt: skip


OVER = {  # name of the signal of a motion
    "bump": "travel", "roll": "travel", "steer": "pinion_angle", "longitudinal": "force", "lateral": "force",
    "aligning": "moment",
}  # fmt: skip
PER = {  # unit of the gradients of a motion, and its size
    "bump": ("m", 1.0), "roll": ("m", 1.0), "steer": ("rad", 1.0), "longitudinal": ("kN", 1e3),
    "lateral": ("kN", 1e3), "aligning": ("kN m", 1e3),
}  # fmt: skip


def rig_report(car: "Car", axle: str, motion: Motion = "bump", curves: RigCurves | None = None) -> Report:
    """Return the report of an axle on the rig.

    Parameters
    ----------
    car : Car
        Car.
    axle : {'front', 'rear'}
        Axle.
    motion : {'bump', 'roll', 'steer', 'longitudinal', 'lateral', 'aligning'}, default 'bump'
        Motion or force of the rig.
    curves : RigCurves, optional
        Curves of ``rig``; made with its usual values unless given.

    Returns
    -------
    Report
        Gradients at design, or without force, as metrics, and the curves as signals, angles in degrees.
    """
    found = rig(car, axle, motion) if curves is None else curves  # type: ignore[arg-type]
    wheel, over = found.left, OVER[motion]
    signals = {over: found.values}
    shapes = {name: getattr(wheel, name) for name in ("toe", "camber", "x", "y", "contact_x", "contact_y")}
    shapes |= dict(wheel.kingpin) | dict(wheel.lengths)
    signals |= {name: np.degrees(values) if name in ANGLES else values for name, values in shapes.items()}
    signals["track"] = found.track
    titles = {
        "toe": "Toe (left positive)", "camber": "Camber (top to the right positive)", "contact_x": "Wheelbase change",
        "contact_y": "Half-track change", "caster": "Caster", "kingpin_inclination": "Kingpin inclination",
        "scrub_radius": "Scrub radius", "trail": "Caster trail", "track": "Track",
    }  # fmt: skip
    plots = [Plot(title, (name,), over) for name, title in titles.items() if name in signals]
    if motion in ("bump", "roll"):
        for name in wheel.lengths:
            signals[f"motion_ratio_{name}"] = wheel.motion_ratio(name)
        plots.append(Plot("Motion ratio", tuple(f"motion_ratio_{name}" for name in wheel.lengths), over))
    if found.roll_centre_height is not None:
        signals["roll_centre_height"] = found.roll_centre_height
        plots.append(Plot("Height of the roll centre", ("roll_centre_height",), over))
    name = f"{axle.capitalize()} axle on the rig: {motion}, left wheel"
    notes = ("The chassis is held; values and gradients are those at design.",)
    if motion in FORCES:
        notes = ("The chassis is held under constant wheel loads; values and gradients are those without force.",)
    return Report(name, gradients(found, signals), signals, None, car.name, notes, tuple(plots))


def gradients(curves: RigCurves, signals: dict[str, np.ndarray]) -> dict[str, Metric]:
    """Return values and gradients at design.

    Parameters
    ----------
    curves : RigCurves
        Curves.
    signals : dict[str, ndarray]
        Signals of the report.

    Returns
    -------
    dict[str, Metric]
        Metrics by name.
    """
    k, (unit, size) = int(np.argmin(np.abs(curves.values))), PER[curves.motion]
    where = "without force" if curves.motion in FORCES else "at design"
    metrics = {}
    for name, rate in curves.left.rates.items():
        angle = name in ANGLES
        if name == "z" and curves.motion not in FORCES:
            continue
        if name in signals:
            value = round(float(signals[name][k]), 12) + 0.0
            metrics[name] = Metric(value, "deg" if angle else "m", where)
        slope = size * float(np.degrees(rate[k]) if angle else rate[k])
        what = WORDS.get(name, name.replace("_", " "))
        metrics[f"{name}_gradient"] = Metric(slope, f"{'deg' if angle else 'm'}/{unit}", f"derivative of {what}")
    for name in signals:
        if name.startswith("motion_ratio") or name == "roll_centre_height":
            what = "compression over wheel travel" if name.startswith("motion") else "above the road"
            metrics[name] = Metric(float(signals[name][k]), "1" if name.startswith("motion") else "m", what)
    return metrics


@dataclass(frozen=True)
class RigComparison:
    """Gradients of two designs on the rig side by side.

    Parameters
    ----------
    names : tuple[str, str]
        Names of both designs.
    gradients : dict[str, tuple[Metric, Metric]]
        Values and gradients of both designs by name.
    """

    names: tuple[str, str]
    gradients: dict[str, tuple[Metric, Metric]]

    def __getitem__(self, name: str) -> float:
        """Return the value of the second design less that of the first one."""
        first, second = self.gradients[name]
        return second.value - first.value

    def __str__(self) -> str:
        """Return a table of both designs and of their differences."""
        rows = [f"{'':28}{self.names[0][:14]:>16}{self.names[1][:14]:>16}{'difference':>16} unit"]
        for name, (first, second) in self.gradients.items():
            rows.append(f"{name:28}{first.value:16.6g}{second.value:16.6g}{self[name]:16.6g} {first.unit}")
        return "\n".join(rows)


def compare_on_rig(
    first: "Car", second: "Car", axle: str, motion: Motion = "bump", names: tuple[str, str] | None = None
) -> RigComparison:
    """Compare two cars on the rig by the values and gradients of their left wheels.

    Parameters
    ----------
    first : Car
        First design.
    second : Car
        Second design.
    axle : {'front', 'rear'}
        Axle.
    motion : {'bump', 'roll', 'steer', 'longitudinal', 'lateral', 'aligning'}, default 'bump'
        Motion or force of the rig.
    names : tuple[str, str], optional
        Names of the designs; those of the cars unless given.

    Returns
    -------
    RigComparison
        Table of what both have.

    Examples
    --------
    >>> car = rtmbs.vehicle.read("sedan", variant="from_models")
    >>> x, y, z = car.data.front.hard_points["tie_rod.a"]
    >>> other = car.with_points("front", {"tie_rod.a": (x, y, z + 0.01)})
    >>> table = rtmbs.vehicle.compare_on_rig(car, other, "front", "bump", ("series", "raised"))
    >>> table["toe_gradient"] < -5.0  # degrees for each m
    True
    """
    reports = [rig_report(car, axle, motion).metrics for car in (first, second)]
    both = {name: (reports[0][name], reports[1][name]) for name in reports[0] if name in reports[1]}
    return RigComparison((first.name, second.name) if names is None else names, both)
