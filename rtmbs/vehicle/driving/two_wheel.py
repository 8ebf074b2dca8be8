"""Linear two-wheel model of a car at rest: yaw gain, understeer gradient, and the prediction of a driver's preview."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rtmbs.model.checks import Array
from rtmbs.vehicle.axle import CHASSIS
from rtmbs.vehicle.rig import rig

if TYPE_CHECKING:
    from rtmbs.vehicle.car import Car
    from rtmbs.vehicle.rest import Rest


@dataclass(frozen=True)
class TwoWheelModel:
    """Linear two-wheel (bicycle) model: m (dvy/dt + V r) = Fyf + Fyr, Iz dr/dt = a Fyf - b Fyr.

    Parameters
    ----------
    mass : float
        Mass m [kg].
    yaw_inertia : float
        Moment of inertia Iz about the vertical through the centre of mass [kg m^2].
    front : float
        Distance a of the front axle from the centre of mass [m].
    rear : float
        Distance b of the rear axle from it [m].
    front_stiffness : float
        Cornering stiffness Cf of the front axle [N/rad].
    rear_stiffness : float
        Cornering stiffness Cr of the rear axle [N/rad].
    steering_ratio : float
        Angle of pinion or Pitman arm over the mean angle of the front wheels.
    x : float
        Position of the centre of mass in the chassis frame [m].
    """

    mass: float
    yaw_inertia: float
    front: float
    rear: float
    front_stiffness: float
    rear_stiffness: float
    steering_ratio: float
    x: float

    @classmethod
    def of_car(cls, car: "Car", rest: "Rest | None" = None) -> "TwoWheelModel":
        """Return the model of a car: slopes of its tyres at the static loads, without suspension steer.

        Parameters
        ----------
        car : Car
            Car.
        rest : Rest, optional
            Equilibrium of the car; searched unless given.

        Returns
        -------
        TwoWheelModel
            Model with the steering ratio of the rig.
        """
        standing = car.rest() if rest is None else rest
        loads = standing.wheel_loads
        axles = {a: loads[f"{a}l"] + loads[f"{a}r"] for a in "fr"}
        stiffness = {a: float(sum(car.tyres[f"{a}{s}"].stiffnesses(loads[f"{a}{s}"])[1] for s in "lr")) for a in "fr"}
        sim = standing.equilibrium.simulation
        front, rear = (0.5 * (sim[f"wheel_{a}l.position"] + sim[f"wheel_{a}r.position"])[:2] for a in "fr")
        base = float(np.linalg.norm(front - rear))  # nothing holds the heading of a car at rest
        a = base * axles["r"] / (axles["f"] + axles["r"])
        mass = sum(body.mass for body in car.bodies.values())
        turned = rig(car, "front", "steer", values=(-0.05 * car.data.steering.max_angle, 0.0))
        ratio = 2.0 / float(turned.left.rates["toe"][-1] + turned.right.rates["toe"][-1])
        x = float((front - sim[f"{CHASSIS}.position"][:2]) @ (front - rear)) / base - a
        inertia = yaw_inertia(car, np.array(car.bodies[CHASSIS].position)[0] + x)
        return cls(mass, inertia, a, base - a, stiffness["f"], stiffness["r"], ratio, x)

    @property
    def wheelbase(self) -> float:
        """Wheelbase L [m]."""
        return self.front + self.rear

    @property
    def understeer_gradient(self) -> float:
        """Understeer gradient K = (m / L) (b / Cf - a / Cr) [rad s^2/m]."""
        return self.mass / self.wheelbase * (self.rear / self.front_stiffness - self.front / self.rear_stiffness)

    def yaw_gain(self, speed: Any) -> Any:
        """Return the steady yaw rate over the angle of the front wheels, V / (L + K V^2).

        Parameters
        ----------
        speed : float or ndarray
            Speed V [m/s].

        Returns
        -------
        float or ndarray
            Yaw gain [1/s].
        """
        return speed / (self.wheelbase + self.understeer_gradient * speed * speed)

    def matrix(self, speed: float) -> Array:
        """Return d(y, psi, vy, r, delta)/dt over (y, psi, vy, r, delta) with the angle delta held.

        Parameters
        ----------
        speed : float
            Speed V [m/s].

        Returns
        -------
        ndarray
            Matrix (5, 5).
        """
        V, m, Iz, a, b = speed, self.mass, self.yaw_inertia, self.front, self.rear
        Cf, Cr = self.front_stiffness, self.rear_stiffness
        A = np.zeros((5, 5))
        A[0, 1], A[0, 2], A[1, 3] = V, 1.0, 1.0
        A[2, 2:] = -(Cf + Cr) / (m * V), (b * Cr - a * Cf) / (m * V) - V, Cf / m
        A[3, 2:] = (b * Cr - a * Cf) / (Iz * V), -(a * a * Cf + b * b * Cr) / (Iz * V), a * Cf / Iz
        return A

    def lateral_response(self, speed: float, times: Array) -> Array:
        """Return the later offsets y for initial rates and a held angle of the front wheels.

        Parameters
        ----------
        speed : float
            Speed V [m/s].
        times : ndarray
            Times ahead (k,) [s].

        Returns
        -------
        ndarray
            Derivatives (k, 3) of y by vy, r and delta.
        """
        from scipy.linalg import expm  # takes long to load

        A = self.matrix(speed)
        return np.array([expm(A * t)[0, 2:] for t in times.tolist()])


def yaw_inertia(car: "Car", x: float) -> float:
    """Return the moment of inertia of all bodies at design about the vertical at (x, 0) [kg m^2]."""
    total = 0.0
    for body in car.bodies.values():
        if body.mass > 0.0:
            place = np.asarray(body.position) + np.asarray(body.center_of_mass)
            total += float(body.inertia[2, 2]) + body.mass * ((place[0] - x) ** 2 + place[1] ** 2)
    return total
