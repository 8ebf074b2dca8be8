"""Report of the rig: curves of an axle with their gradients at design, as a table and as one HTML file."""

from typing import TYPE_CHECKING

import numpy as np

from rtmbs.vehicle.manoeuvres.report import Metric, Plot, Report
from rtmbs.vehicle.rig import Motion, RigCurves, rig

if TYPE_CHECKING:
    from rtmbs.vehicle.car import Car

ANGLES = ("toe", "camber", "caster", "kingpin_inclination")
WORDS = {
    "x": "the wheel centre forward", "y": "the wheel centre to the left",
    "contact_x": "the lowest point of the wheel forward", "contact_y": "the lowest point of the wheel to the left",
    "brake_x": "the contact point forward, as a point of the wheel carrier",
    "spring": "the length of the spring", "shock": "the length of the shock",
}  # fmt: skip


def rig_report(car: "Car", axle: str, motion: Motion = "bump", curves: RigCurves | None = None) -> Report:
    """Return the report of an axle on the rig.

    Parameters
    ----------
    car : Car
        Car.
    axle : {'front', 'rear'}
        Axle.
    motion : {'bump', 'roll', 'steer'}, default 'bump'
        Motion of the rig.
    curves : RigCurves, optional
        Curves of ``rig``; made with its usual values unless given.

    Returns
    -------
    Report
        Gradients at design as metrics, and the curves as signals, angles in degrees.
    """
    found = rig(car, axle, motion) if curves is None else curves  # type: ignore[arg-type]
    wheel, over = found.left, {"bump": "travel", "roll": "travel", "steer": "pinion_angle"}[motion]
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
    if motion != "steer":
        for name in wheel.lengths:
            signals[f"motion_ratio_{name}"] = wheel.motion_ratio(name)
        plots.append(Plot("Motion ratio", tuple(f"motion_ratio_{name}" for name in wheel.lengths), over))
    if found.roll_centre_height is not None:
        signals["roll_centre_height"] = found.roll_centre_height
        plots.append(Plot("Height of the roll centre", ("roll_centre_height",), over))
    name = f"{axle.capitalize()} axle on the rig: {motion}, left wheel"
    notes = ("The chassis is held; values and gradients are those at design.",)
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
    k, unit = int(np.argmin(np.abs(curves.values))), "rad" if curves.motion == "steer" else "m"
    metrics = {}
    for name, rate in curves.left.rates.items():
        angle = name in ANGLES
        if name == "z":
            continue
        if name in signals:
            value = round(float(signals[name][k]), 12) + 0.0
            metrics[name] = Metric(value, "deg" if angle else "m", "at design")
        slope = float(np.degrees(rate[k]) if angle else rate[k])
        what = WORDS.get(name, name.replace("_", " "))
        metrics[f"{name}_gradient"] = Metric(slope, f"{'deg' if angle else 'm'}/{unit}", f"derivative of {what}")
    for name in signals:
        if name.startswith("motion_ratio") or name == "roll_centre_height":
            what = "compression over wheel travel" if name.startswith("motion") else "above the road"
            metrics[name] = Metric(float(signals[name][k]), "1" if name.startswith("motion") else "m", what)
    return metrics
