"""Power of the elements of a car along a run: engine, brakes, tyres, springs, dampers, steering; and their balance."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rtmbs.errors import ModelError
from rtmbs.model.checks import Array
from rtmbs.numerics.rotations.plain import inverse_jacobian
from rtmbs.results import Result
from rtmbs.vehicle.axle import CHASSIS, WHEEL
from rtmbs.vehicle.driveline import DRIVE
from rtmbs.vehicle.steering import DRIVER
from rtmbs.vehicle.trailer import STABILISER, TRAILER

if TYPE_CHECKING:
    from rtmbs.vehicle.car import Car

OWN = ("tyre_", "drive_", "brake_", "anti_roll_bar_")  # forces with formulas of their own
SILENT = ("driver",)  # the memory of a driver is a force without force


@dataclass(frozen=True)
class PowerBalance:
    """Powers of all elements of a car along a run, and the balance of energy.

    Parameters
    ----------
    t : ndarray
        Times (k,) [s].
    power : dict[str, ndarray]
        Power (k,) that each element gives to the bodies, by its name [W]. That of ``drive_fl`` is of the engine, that
        of ``drive`` of the engine less the heat of clutches, those of ``tyre_fl`` are of the road.
    energy : ndarray
        Kinetic energy and energy of weight of all bodies (k,) [J].
    """

    t: Array
    power: dict[str, Array]
    energy: Array

    @property
    def work(self) -> dict[str, float]:
        """Work of each element over the run, by the trapezoidal rule [J]."""
        return {name: float(trapezoids(self.t, values)[-1]) for name, values in self.power.items()}

    @property
    def residual(self) -> Array:
        """Change of the energy without the work of all elements (k,) [J]; zero but for the error of the step."""
        given = sum(trapezoids(self.t, values) for values in self.power.values())
        return np.asarray(self.energy - self.energy[0] - given)

    @property
    def exchanged(self) -> float:
        """Sum of the sizes of all work over the run [J]."""
        return float(sum(trapezoids(self.t, np.abs(values))[-1] for values in self.power.values()))

    @property
    def error(self) -> float:
        """Largest residual relative to the exchanged energy."""
        return float(np.max(np.abs(self.residual))) / max(self.exchanged, 1e-300)

    def __str__(self) -> str:
        """Return a table of the work of the elements."""
        rows = [f"{name:28}{value:16.3f} J" for name, value in self.work.items()]
        return "\n".join([*rows, f"{'change of the energy':28}{self.energy[-1] - self.energy[0]:16.3f} J"])


def trapezoids(t: Array, values: Array) -> Array:
    """Return the running integral (k,) of samples (k,) by the trapezoidal rule."""
    return np.concatenate(([0.0], np.cumsum(0.5 * np.diff(t) * (values[1:] + values[:-1]))))


def power_balance(car: "Car", result: Result) -> PowerBalance:
    """Return the power of each element of a car along a run that recorded every step.

    Every power is a force or torque of the record times a velocity of the record: tyres and drive torques at the
    wheels, springs and dampers along the line between their ends, brakes and anti-roll bars at their joints, bushings
    between their markers, the stabiliser of a trailer at the hitch, the driver of the steering at its coordinate. Its
    integral balances the kinetic energy and the energy of weight. This checks a run without its equations.

    Parameters
    ----------
    car : Car
        Car of the run.
    result : Result
        Record of the run.

    Returns
    -------
    PowerBalance
        Powers by element, energy and residual.

    Raises
    ------
    ModelError
        For a car with a force that is none of a car's own.

    Examples
    --------
    >>> balance = rtmbs.vehicle.power_balance(driven.car, driven.run(2.0))  # doctest: +SKIP
    >>> balance.error < 1e-6  # doctest: +SKIP
    True
    """
    names = [name for name in car.forces if name not in SILENT]
    for name in names:
        stabiliser = name == STABILISER and TRAILER in car.bodies
        if not (name.startswith(OWN) or name == DRIVE or stabiliser or f"{name}.a" in car.markers):
            raise ModelError(
                f"power balance: force {name!r} is none of a car's own; it must be a tyre, a drive torque, a brake, "
                "a spring, a damper, a bushing, an anti-roll bar or the stabiliser of a trailer"
            )
    power = {}
    for name in names:
        ends = car.forces[name].between
        if name != DRIVE:
            power[name] = power_of(result, name, CHASSIS if ends is None else ends[0].body.name)
    if car.differentials:
        rates = [result[f"{joint.name}.angle_rate"] for joint, _ in car.forces[DRIVE].joints or ()]
        torques = result[f"{DRIVE}.force"].reshape(-1, len(rates))
        power[DRIVE] = sum(f * rate for f, rate in zip(torques.T, rates, strict=True))
    joint, coordinate = ("rack", "displacement") if "rack" in car.joints else ("sector_shaft", "angle")
    power[DRIVER] = result[f"{DRIVER}.force"] * result[f"{joint}.{coordinate}_rate"]
    return PowerBalance(np.asarray(result["t"]), power, result["energy.kinetic"] + result["energy.weight"])


def power_of(result: Result, name: str, reaction: str) -> Array:
    """Return the power (k,) of a force of a car [W]; ``reaction`` is the body that a drive torque reacts on."""
    kind, corner = next((one for one in OWN if name.startswith(one)), ""), name.rpartition("_")[2]
    wheel = f"{WHEEL}_{corner}"
    if kind == "tyre_":
        return dot(result[f"{name}.force"], result[f"{wheel}.velocity"]) + dot(
            result[f"{name}.torque"], result[f"{wheel}.angular_velocity"]
        )
    if kind == "drive_":
        turning = result[f"{wheel}.angular_velocity"] - result[f"{reaction}.angular_velocity"]
        return dot(result[f"{name}.torque"], turning)
    if name == STABILISER:
        turning = result[f"{TRAILER}.angular_velocity"] - result[f"{CHASSIS}.angular_velocity"]
        return dot(result[f"{name}.torque"], turning)
    if kind == "brake_":
        return np.asarray(result[f"{name}.force"] * result[f"hub_{corner}.angle_rate"])
    if kind == "anti_roll_bar_":
        return np.asarray(result[f"{name}.torque"] * result[f"bar_twist_{corner}.angle_rate"])
    if f"{name}.rotation" in result:
        return power_of_bushing(result, name)
    ends = [f"{name}.{end}" for end in "ab"]
    place, speed = (result[f"{ends[1]}.{what}"] - result[f"{ends[0]}.{what}"] for what in ("position", "velocity"))
    length = np.linalg.norm(place, axis=1)
    if f"{name}.pull" in result:
        return np.asarray(-result[f"{name}.pull"] * dot(place, speed) / length)
    return dot(result[f"{name}.force"], speed)


def power_of_bushing(result: Result, name: str) -> Array:
    """Return the power (k,) of a bushing [W]: everything is in axes of its first marker, w = J(theta) dtheta/dt."""
    theta, change = result[f"{name}.rotation"], result[f"{name}.rotation_rate"]
    columns: list[Array] = [
        inverse_jacobian(np, theta, np.broadcast_to(one, theta.shape), -1.0)  # type: ignore[no-untyped-call]
        for one in np.eye(3)
    ]
    w = np.linalg.solve(np.stack(columns, axis=-1), change[..., None])[..., 0]
    return dot(result[f"{name}.force"], result[f"{name}.displacement_rate"]) + dot(result[f"{name}.torque"], w)


def dot(a: Array, b: Array) -> Array:
    """Return the products (k,) of vectors (k, 3)."""
    return np.einsum("ki,ki->k", a, b)
