"""Coast down: the car rolls freely from a speed; rolling resistance and its growth with the speed."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rtmbs.errors import ModelError
from rtmbs.simulation.observers.observer import Every
from rtmbs.simulation.simulation import Simulation
from rtmbs.vehicle.manoeuvres.manoeuvre import Manoeuvre, Trial
from rtmbs.vehicle.manoeuvres.report import Metric
from rtmbs.vehicle.manoeuvres.signals import signals_of, wheel_loads

if TYPE_CHECKING:
    from rtmbs.vehicle.car import Car


WIDE = 0.8  # final over initial speed, above which a curve over the speed is not fitted


@dataclass(frozen=True, kw_only=True)
class CoastDown(Manoeuvre):
    """Coast down on a level road with the gear in neutral: no drive torque and no brake.

    Parameters
    ----------
    speed : float, default 27.78
        Speed at the beginning [m/s].
    duration : float, default 20.0
        Duration [s]; the run ends earlier at ``end_speed``.
    end_speed : float, default 5.0
        Speed at which the run ends [m/s].
    settle : float, default 1.0
        Time before the evaluation [s].
    h : float, default 1e-3
        Step of the Simulation [s].
    """

    words: ClassVar[str] = "coast down"
    speed: float = 100.0 / 3.6
    duration: float = 20.0
    end_speed: float = 5.0
    settle: float = 1.0
    h: float = 1e-3

    def perform(self, car: "Car") -> Trial:
        """Return the trial with the fit by a + b V^2; speeds that are not positive and decreasing are refused."""
        speed, end = self.checked("speed", "end_speed")
        if not speed > end > 0.0:
            raise ModelError(
                f"coast down: speed is {speed:g} and end_speed {end:g}; the first must be above the second"
            )
        moving = car.changed(steer=0.0).at_speed(speed)
        sim = Simulation(moving.compile(), self.h)
        result = sim.run(
            self.whole(self.settle + self.duration),
            record=Every(10 * self.h),
            until=lambda one: bool(np.linalg.norm(one["chassis.velocity"]) < end),
        )
        signals = signals_of(moving, result) | wheel_loads(moving, result)
        inside = signals["t"] >= self.settle
        t, v, x = (signals[name][inside] for name in ("t", "speed", "x"))
        drop = float((v[0] - v[-1]) / (t[-1] - t[0]))
        b, c = (0.0, drop) if v[-1] > WIDE * v[0] else np.polyfit(v * v, -np.gradient(v, t), 1).tolist()
        metrics = {
            "initial_speed": Metric(float(v[0]), "m/s", "at the beginning of the evaluation"),
            "final_speed": Metric(float(v[-1]), "m/s", "at the end of the run"),
            "duration": Metric(float(t[-1] - t[0]), "s", "between both"),
            "distance": Metric(float(x[-1] - x[0]), "m", "between both"),
            "mean_deceleration": Metric(drop, "m/s^2", "between both"),
            "rolling_deceleration": Metric(c, "m/s^2", "a of the fit a + b V^2"),
            "quadratic_deceleration": Metric(b, "1/m", "b of that fit; 0 where the speed falls by less than a fifth"),
        }
        notes = ("The car has no aerodynamic drag unless its user adds the force.",)
        return Trial(f"Coast down from {3.6 * speed:.0f} km/h", metrics, signals, result, notes)
