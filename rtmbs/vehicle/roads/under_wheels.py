"""Local planes of the road under the wheels, set before each step; one-point contact or tandem elliptic cams.

The tyre law sees a plane z = c + a x + b y of its own. The plane at the end of a step is that under the wheel centre
predicted there, r + h v, so the trapezoidal rule sees the road at both ends of a step. The prediction is off by O(h^2),
and the height of the plane by its curvature times the square of that. Newton's matrix has the slopes of the plane.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rtmbs.errors import ModelError, shown
from rtmbs.model.checks import Array, number
from rtmbs.vehicle.axle import CHASSIS, WHEEL
from rtmbs.vehicle.roads.surfaces import Road
from rtmbs.vehicle.trailer import CORNERS as BEHIND
from rtmbs.vehicle.trailer import TRAILER

if TYPE_CHECKING:
    from rtmbs.simulation.simulation import Simulation
    from rtmbs.vehicle.car import Car

SAMPLES = 241  # of a cam


@dataclass(frozen=True)
class TandemCams:
    """Enveloping contact by tandem elliptic cams (Schmeitz 2004): two cams on each of two tracks of a wheel.

    A cam is the lower half of the ellipse (x / a)^c + (z / b)^c = 1. It is lowered until it meets the road. The
    effective height is the mean of the cams, the effective slope their difference over the distance.

    Parameters
    ----------
    a : float, default 1.05
        Half length of the ellipse over the free radius of the tyre.
    b : float, default 1.05
        Half height of the ellipse over the free radius.
    c : float, default 1.8
        Exponent of the ellipse.
    shift : float, default 0.12
        Distance of the front and the rear cam [m]; 0.8 times the contact length.
    width : float, default 0.12
        Distance of both tracks [m].
    """

    a: float = 1.05
    b: float = 1.05
    c: float = 1.8
    shift: float = 0.12
    width: float = 0.12

    def __post_init__(self) -> None:
        for name in ("a", "b", "c", "shift", "width"):
            if not number(getattr(self, name), f"cams: {name}") > 0.0:
                raise ModelError(f"cams: {name} is {getattr(self, name):g}; it must be above zero")

    def plane(self, road: Road, place: Array, ahead: Array, radius: float) -> tuple[float, float, float]:
        """Return height and slopes of the effective plane under a wheel.

        Parameters
        ----------
        road : Road
            Road.
        place : ndarray
            Position (2,) of the wheel centre [m].
        ahead : ndarray
            Direction (2,) of the wheel in the road, a unit vector.
        radius : float
            Free radius of the tyre [m].

        Returns
        -------
        tuple[float, float, float]
            Height at the place [m] and slopes along and across the wheel.
        """
        left = np.array((-ahead[1], ahead[0]))
        u = np.linspace(-1.0, 1.0, SAMPLES)
        drop = self.b * radius * (1.0 - (1.0 - np.abs(u) ** self.c) ** (1.0 / self.c))
        found = np.empty((2, 2))
        for i, along in enumerate((-0.5 * self.shift, 0.5 * self.shift)):
            for k, across in enumerate((-0.5 * self.width, 0.5 * self.width)):
                reach = (along + self.a * radius * u)[:, None] * ahead + across * left + place
                found[i, k] = np.max(np.real(road.height(reach[:, 0], reach[:, 1])) - drop)
        (rear, front), (right, inner) = found.mean(axis=1), found.mean(axis=0)
        return float(found.mean()), float((front - rear) / self.shift), float((inner - right) / self.width)


class RoadUnderWheels:
    """Road of a car in a Simulation: sets the plane and the friction of each tyre for the end of the next step.

    Parameters
    ----------
    simulation : Simulation
        Simulation of a car with the option ``uneven``.
    car : Car
        Car of the Simulation.
    road : Road
        Road.
    envelope : TandemCams, optional
        Enveloping contact for obstacles shorter than the contact; one point unless given.

    Raises
    ------
    ModelError
        For a car without the option ``uneven`` and an object that is no road.

    Examples
    --------
    >>> car = rtmbs.vehicle.read("sedan", uneven=True, steer=0.0).at_speed(10.0)
    >>> sim = rtmbs.Simulation(car.compile(), h=1e-3)
    >>> road = rtmbs.vehicle.ObstacleRoad([rtmbs.vehicle.bump(5.0, 0.05, 1.0)])
    >>> under = rtmbs.vehicle.RoadUnderWheels(sim, car, road)
    >>> for _ in range(10):
    ...     under.act()
    ...     report = sim.step()
    """

    def __init__(self, simulation: "Simulation", car: "Car", road: Road, envelope: TandemCams | None = None) -> None:
        if not isinstance(road, Road):
            raise ModelError(f"road is {shown(road)}; it must be a Road such as GridRoad")
        if not car.options["uneven"]:
            raise ModelError(f"car {car.name!r} stands on one plane; it must have the option uneven=True for a road")
        self.simulation, self.car, self.road, self.envelope = simulation, car, road, envelope
        self._tyres = dict(car.tyres)
        if car.options["trailer"] is not None:
            self._tyres |= dict.fromkeys(BEHIND, car.trailer_tyre)
        self._names = [f"{WHEEL}_{corner}.{what}" for corner in self._tyres for what in ("position", "velocity")]
        for corner, values in self.under(0.0).items():
            simulation.inputs[f"tyre_{corner}.plane"], simulation.inputs[f"tyre_{corner}.friction"] = values
        simulation.inputs.ramp(*(f"tyre_{corner}.{name}" for corner in self._tyres for name in ("plane", "friction")))

    def act(self) -> None:
        """Set planes and friction for the end of the next step."""
        inputs: Any = self.simulation.inputs
        for corner, (plane, friction) in self.under(self.simulation.h).items():
            inputs[f"tyre_{corner}.plane"] = plane
            if friction != inputs[f"tyre_{corner}.friction"]:
                inputs[f"tyre_{corner}.friction"] = friction

    def under(self, ahead: float) -> dict[str, tuple[tuple[float, float, float], float]]:
        """Return plane (c, a, b) and friction by corner.

        Parameters
        ----------
        ahead : float
            Time that the wheel centres are predicted for [s].

        Returns
        -------
        dict
            Plane in axes of the road and factor on the friction.
        """
        at = self.simulation.read(self._names).reshape(len(self._tyres), 2, 3)
        centres = at[:, 0] + ahead * at[:, 1]
        x, y = centres[:, 0], centres[:, 1]
        if self.envelope is None:
            dx, dy = self.road.slopes(x, y)
            over = centres[:, 2] - np.real(self.road.height(x, y))
            x, y = x + over * dx, y + over * dy  # foot of the normal through the wheel centre
            dx, dy = self.road.slopes(x, y)
            z = np.real(self.road.height(x, y))
        else:
            z, dx, dy = np.array([self.enveloped(k, centre) for k, centre in enumerate(centres)]).T
        friction = np.broadcast_to(self.road.friction(x, y), x.shape)
        c = z - dx * x - dy * y
        return {
            corner: ((float(c[k]), float(dx[k]), float(dy[k])), float(friction[k]))
            for k, corner in enumerate(self._tyres)
        }

    def enveloped(self, k: int, centre: Array) -> tuple[float, float, float]:
        """Return height and slopes along x and y of the effective plane under wheel ``k``.

        Parameters
        ----------
        k : int
            Place of the corner.
        centre : ndarray
            Wheel centre (3,) [m].

        Returns
        -------
        tuple[float, float, float]
            Height [m], dz/dx and dz/dy.
        """
        assert self.envelope is not None
        corner = list(self._tyres)[k]
        body = TRAILER if corner in BEHIND else CHASSIS  # wheels steer little against the length of a cam
        q0, _, _, q3 = self.simulation[f"{body}.orientation"]
        heading = 2.0 * np.arctan2(q3, q0)
        ahead = np.array((np.cos(heading), np.sin(heading)))
        z, along, across = self.envelope.plane(self.road, centre[:2], ahead, self._tyres[corner].free_radius)
        c, s = ahead
        return z, along * c - across * s, along * s + across * c
