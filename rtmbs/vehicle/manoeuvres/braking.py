"""Straight braking to standstill, after ISO 21994 without ABS."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rtmbs.errors import ModelError
from rtmbs.model.checks import Array, number
from rtmbs.simulation.simulation import Simulation
from rtmbs.vehicle.manoeuvres.manoeuvre import Manoeuvre, Trial
from rtmbs.vehicle.manoeuvres.report import Metric
from rtmbs.vehicle.manoeuvres.signals import joined, signals_of

if TYPE_CHECKING:
    from rtmbs.vehicle.car import Car

STANDSTILL = 0.01  # [m/s]


@dataclass(frozen=True, kw_only=True)
class Braking(Manoeuvre):
    """Straight braking to standstill (ISO 21994): the torque of each brake rises within ``rise_time`` and is held.

    Parameters
    ----------
    speed : float
        Speed at the beginning of the braking [m/s].
    torque : float or tuple[float, float], default 800.0
        Torque of each front brake, or of front and rear ones [N m].
    rise_time : float, default 0.2
        Time in which the torque rises [s].
    begin : float, default 2.0
        Time at which the braking begins [s]; before, the car settles on the road.
    after : float, default 2.0
        Time at rest that the run goes on for [s]; the creep is measured in its second half.
    h : float, default 1e-3
        Step of the Simulation [s].

    Examples
    --------
    >>> report = rtmbs.vehicle.Braking(speed=25.0).run(rtmbs.vehicle.read("sedan"))  # doctest: +SKIP
    >>> report["stopping_distance"]  # doctest: +SKIP
    """

    words: ClassVar[str] = "braking"
    speed: float
    torque: float | tuple[float, float] = 800.0
    rise_time: float = 0.2
    begin: float = 2.0
    after: float = 2.0
    h: float = 1e-3

    def perform(self, car: "Car") -> Trial:
        """Return the trial to standstill, with the Result of its last part.

        Parameters
        ----------
        car : Car
            Car to test; it is not changed.

        Returns
        -------
        Trial
            Title, metrics, signals and Result.

        Raises
        ------
        ModelError
            For a speed or torques that are not above zero, and for a car that does not stop.
        """
        (speed,) = self.checked("speed")
        pair = self.torque if isinstance(self.torque, tuple) else (self.torque, self.torque)
        front, rear = (number(value, "braking: torque") for value in pair)
        if not speed > 0.0 or front < 0.0 or rear < 0.0 or front + rear == 0.0:
            raise ModelError("braking: speed and torque must be above zero")
        brakes = {"f": rising(front, self.begin, self.rise_time), "r": rising(rear, self.begin, self.rise_time)}
        moving = car.changed(steer=0.0, brakes=brakes).at_speed(speed)
        sim = Simulation(moving.compile(), self.h)
        most = self.begin + self.rise_time + 40.0 * speed / 9.81
        result = sim.run(self.begin + 0.25 * self.rise_time)
        runs = [result]
        for end in np.arange(sim.t + 0.5, most, 0.5).tolist():
            if float(np.linalg.norm(sim["chassis.velocity"])) <= STANDSTILL:
                break
            runs.append(sim.run(end))
        runs.append(sim.run(sim.t + self.after))
        signals = joined([signals_of(moving, one) for one in runs])
        loads = {corner: np.concatenate([one[f"tyre_{corner}.force"][:, 2] for one in runs]) for corner in car.tyres}
        signals |= {f"load_{corner}": values for corner, values in loads.items()}
        if abs(signals["speed"][-1]) > STANDSTILL:
            raise ModelError(f"braking: the car still has {signals['speed'][-1]:g} m/s; it must get more torque")
        return Trial(f"Straight braking from {speed:g} m/s", self.metrics(signals), signals, runs[-1])

    def metrics(self, signals: dict[str, Array]) -> dict[str, Metric]:
        """Return the metrics of the joined signals.

        Parameters
        ----------
        signals : dict[str, ndarray]
            Signals of the whole run (k,), and the wheel loads ``load_fl`` and so on [N].

        Returns
        -------
        dict[str, Metric]
            Metrics by name.
        """
        t, v, x = signals["t"], signals["speed"], signals["x"]
        first = int(np.argmin(np.abs(t - self.begin)))
        v0 = float(v[first])
        stopped = first + int(np.argmax(v[first:] <= STANDSTILL))
        distance = float(np.max(x[first:]) - x[first])
        marks = [first + int(np.argmax(v[first:] <= share * v0)) for share in (0.8, 0.1)]
        mfdd = (0.8**2 - 0.1**2) * v0**2 / (2.0 * float(x[marks[1]] - x[marks[0]]))
        braking = slice(marks[0], marks[1])
        front, rear = (float(np.mean(signals[f"load_{a}l"][braking] + signals[f"load_{a}r"][braking])) for a in "fr")
        at_rest = signals["x"][t > t[-1] - 0.5 * self.after]
        return {
            "speed": Metric(v0, "m/s", "at the beginning of the braking"),
            "stopping_distance": Metric(distance, "m", "from the beginning of the braking to the farthest place"),
            "stopping_time": Metric(float(t[stopped] - t[first]), "s", "to 0.01 m/s"),
            "mean_deceleration": Metric(v0**2 / (2.0 * distance), "m/s^2", "speed^2 / (2 distance)"),
            "mfdd": Metric(mfdd, "m/s^2", "mean fully developed deceleration, from 0.8 to 0.1 of the speed"),
            "pitch": Metric(float(np.mean(signals["pitch"][braking])), "rad", "mean in the same interval, nose down"),
            "front_load": Metric(front, "N", "mean of the axle in the same interval"),
            "rear_load": Metric(rear, "N", "the same of the rear axle"),
            "drift": Metric(float(np.max(np.abs(signals["y"][first:] - signals["y"][first]))), "m", "to the side"),
            "creep": Metric(float(np.ptp(at_rest)), "m", "range of the place in the second half of the time at rest"),
        }


def rising(torque: float, begin: float, rise: float) -> Any:
    """Return a torque [N m] that rises linearly, as a function of time in plain NumPy."""

    def of_time(t: Any) -> Any:
        return torque * np.minimum(np.maximum((t - begin) / rise, 0.0), 1.0)

    return of_time
