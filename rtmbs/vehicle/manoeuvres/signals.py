"""Signals of a run that metrics are made of, and the readings of steps and peaks."""

from typing import TYPE_CHECKING

import numpy as np

from rtmbs.model.checks import Array
from rtmbs.numerics.rotations.quaternions import rotations
from rtmbs.results import Result
from rtmbs.vehicle.axle import CHASSIS

if TYPE_CHECKING:
    from rtmbs.vehicle.car import Car

UNITS = {  # of signals and of curves of the rig
    "t": "s", "x": "m", "y": "m", "speed": "m/s", "lateral_velocity": "m/s", "side_slip": "rad", "yaw": "rad",
    "pitch": "rad", "roll": "rad", "yaw_rate": "rad/s", "longitudinal_acceleration": "m/s²",
    "lateral_acceleration": "m/s²", "steering_angle": "rad", "throttle": "1", "brake": "1", "gear": "1",
    "load_fl": "N", "load_fr": "N", "load_rl": "N", "load_rr": "N", "travel": "m", "pinion_angle": "rad",
    "force": "N", "moment": "N m",
    "toe": "deg", "camber": "deg", "caster": "deg", "kingpin_inclination": "deg", "scrub_radius": "m", "trail": "m",
    "contact_x": "m", "contact_y": "m", "track": "m", "roll_centre_height": "m", "level_acceleration": "m/s²",
    "level_steering_angle": "rad", "level_side_slip": "rad", "level_roll": "rad",
    "level_speed": "m/s", "level_radius": "m", "frequency": "Hz", "gain_yaw_rate": "1/s",
    "gain_lateral_acceleration": "m/(s² rad)", "gain_roll": "1", "phase_yaw_rate": "rad",
    "phase_lateral_acceleration": "rad", "phase_roll": "rad", "coherence_yaw_rate": "1",
    "coherence_lateral_acceleration": "1", "coherence_roll": "1", "vertical_acceleration": "m/s²", "rise": "m",
    "post_fl": "m", "post_fr": "m", "post_rl": "m", "post_rr": "m", "travel_fl": "m", "travel_fr": "m",
    "travel_rl": "m", "travel_rr": "m",
}  # fmt: skip
SETTLED = 0.5  # [s] at the end of a run: the mean counts as the steady value


def signals_of(car: "Car", result: Result) -> dict[str, Array]:
    """Return the signals of a run that metrics are made of, for the centre of mass of the chassis.

    speed [m/s] along the car; lateral_velocity [m/s]; side_slip, yaw, pitch, roll [rad]; yaw_rate [rad/s];
    lateral_acceleration, longitudinal_acceleration [m/s^2] in the axes of the road that turn with the car; x, y [m].
    """
    R, w = rotations(result[f"{CHASSIS}.orientation"]), result[f"{CHASSIS}.angular_velocity"]
    arm = R @ car.data.chassis.com
    v = result[f"{CHASSIS}.velocity"] + np.cross(w, arm)
    a = result[f"{CHASSIS}.acceleration"] + np.cross(result[f"{CHASSIS}.angular_acceleration"], arm)
    a = a + np.cross(w, np.cross(w, arm))
    yaw = np.unwrap(np.arctan2(R[:, 1, 0], R[:, 0, 0]))
    c, s = np.cos(yaw), np.sin(yaw)
    ahead, across = c * v[:, 0] + s * v[:, 1], -s * v[:, 0] + c * v[:, 1]
    place = result[f"{CHASSIS}.position"] + arm
    return {
        "t": result["t"], "speed": ahead, "lateral_velocity": across, "side_slip": np.arctan2(across, ahead),
        "yaw": yaw, "pitch": np.arcsin(-R[:, 2, 0]), "roll": np.arctan2(R[:, 2, 1], R[:, 2, 2]), "yaw_rate": w[:, 2],
        "longitudinal_acceleration": c * a[:, 0] + s * a[:, 1],
        "lateral_acceleration": -s * a[:, 0] + c * a[:, 1], "x": place[:, 0], "y": place[:, 1],
    }  # fmt: skip


def ride_signals(car: "Car", result: Result) -> dict[str, Array]:
    """Return rise, vertical_acceleration of the chassis' centre of mass, pitch, roll, loads and travels of the wheels.

    rise [m] is that of the centre of mass from the beginning; travel_fl and so on [m] are the heights of the wheel
    centres in the chassis from the beginning, positive in bump.
    """
    R, w = rotations(result[f"{CHASSIS}.orientation"]), result[f"{CHASSIS}.angular_velocity"]
    arm, place = R @ car.data.chassis.com, result[f"{CHASSIS}.position"]
    a = result[f"{CHASSIS}.acceleration"] + np.cross(result[f"{CHASSIS}.angular_acceleration"], arm)
    a = a + np.cross(w, np.cross(w, arm))
    height = place[:, 2] + arm[:, 2]
    found = {"t": result["t"], "rise": height - height[0], "vertical_acceleration": a[:, 2]}
    found |= {"pitch": np.arcsin(-R[:, 2, 0]), "roll": np.arctan2(R[:, 2, 1], R[:, 2, 2])}
    for corner in car.tyres:
        inside = np.einsum("kij,ki->kj", R, result[f"wheel_{corner}.position"] - place)[:, 2]
        found[f"travel_{corner}"] = inside - inside[0]
    return found | wheel_loads(car, result)


def wheel_loads(car: "Car", result: Result) -> dict[str, Array]:
    """Return the vertical forces of the road by corner, ``load_fl`` and so on [N]."""
    return {f"load_{corner}": result[f"tyre_{corner}.force"][:, 2] for corner in car.tyres}


def steering_angle(car: "Car", result: Result) -> Array:
    """Return the angle of the pinion or Pitman arm (k,), left positive [rad]."""
    channel = "rack.displacement" if "rack" in car.joints else "sector_shaft.angle"
    return np.asarray(result[channel]) / car.data.steering.ratio


def steered_signals(car: "Car", result: Result) -> dict[str, Array]:
    """Return ``signals_of``, wheel loads and ``steering_angle`` of a run in open loop."""
    return signals_of(car, result) | wheel_loads(car, result) | {"steering_angle": steering_angle(car, result)}


def joined(parts: list[dict[str, Array]]) -> dict[str, Array]:
    """Return signals of runs one behind the other; what yaw counts stays continuous."""
    return {name: np.concatenate([one[name] for one in parts]) for name in parts[0]}


def steady(signals: dict[str, Array], name: str) -> float:
    """Return the mean of a signal over the last 0.5 s."""
    return float(np.mean(signals[name][signals["t"] >= signals["t"][-1] - SETTLED]))


def response_time(signals: dict[str, Array], name: str, zero: float) -> float:
    """Return when a signal first reaches 90 % of its steady value, from ``zero`` on [s]."""
    share = signals[name] / steady(signals, name)
    k = int(np.argmax((share >= 0.9) & (signals["t"] > zero - 0.2)))
    before, after = share[k - 1], share[k]
    start, end = signals["t"][k - 1], signals["t"][k]
    return float(start + (0.9 - before) / (after - before) * (end - start) - zero)


def first_peak(signals: dict[str, Array], name: str, zero: float) -> tuple[float, float]:
    """Return time from ``zero`` [s] and value of the first maximum of a signal, in the sense of its steady value."""
    sense = np.sign(steady(signals, name))
    inside = signals["t"] >= zero
    values, t = sense * signals[name][inside], signals["t"][inside]
    rises, falls_after = values[1:-1] >= values[:-2], values[1:-1] > values[2:]
    falls = np.flatnonzero(rises & falls_after & (values[1:-1] > 0.5 * values[-1]))
    k = int(falls[0]) + 1 if len(falls) else int(np.argmax(values))
    return float(t[k] - zero), float(sense * values[k])
