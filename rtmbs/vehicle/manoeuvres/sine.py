"""One period of sine steer (ISO 7401) and sine with dwell (FMVSS 126, UN R140)."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rtmbs.errors import ModelError
from rtmbs.model.checks import Array
from rtmbs.model.profiles import Motion, Numeric
from rtmbs.vehicle.manoeuvres.manoeuvre import Manoeuvre, Trial, run_open_loop
from rtmbs.vehicle.manoeuvres.report import Metric
from rtmbs.vehicle.manoeuvres.signals import steered_signals
from rtmbs.vehicle.manoeuvres.step_steer import NOTES, SearchedSteer, StepSteer, held_torque
from rtmbs.vehicle.steering import eased

if TYPE_CHECKING:
    from rtmbs.vehicle.car import Car

MODERATE = 0.3 * 9.81  # [m/s^2] lateral acceleration that the amplitudes of sine with dwell refer to


@dataclass(frozen=True)
class OneSine(Numeric):
    """Profile of one period of a sine, with a dwell at its second peak.

    Its phase starts and stops within ``blend``, so the rate does not jump.

    Parameters
    ----------
    t0 : float
        Time at which it begins [s].
    amplitude : float
        Amplitude [rad].
    frequency : float
        Frequency [Hz].
    dwell : float, default 0.0
        Time that the second peak is held [s].
    blend : float, default 0.02
        Time in which the phase starts and stops [s].
    """

    t0: float
    amplitude: float
    frequency: float
    dwell: float = 0.0
    blend: float = 0.02

    @property
    def end(self) -> float:
        """Time at which the sine is complete [s]."""
        return self.t0 + 1.0 / self.frequency + self.dwell

    def __call__(self, t: float) -> Motion:
        w, pause = 2.0 * math.pi * self.frequency, self.t0 + 0.75 / self.frequency
        p = pd = pdd = 0.0
        for at, sign in ((self.t0, 1.0), (pause, -1.0), (pause + self.dwell, 1.0), (self.end, -1.0)):
            value, rate, acceleration = eased(t - at, self.blend)
            p, pd, pdd = p + sign * value, pd + sign * rate, pdd + sign * acceleration
        p, pd, pdd, A = w * p, w * pd, w * pdd, self.amplitude
        sin, cos = math.sin(p), math.cos(p)
        return A * sin, A * cos * pd, A * (cos * pdd - sin * pd * pd)


@dataclass(frozen=True, kw_only=True)
class SineSteer(SearchedSteer):
    """One period of sine steer (ISO 7401): lags and gains of yaw rate and lateral acceleration in both half waves.

    Parameters
    ----------
    speed : float
        Speed [m/s].
    frequency : float, default 0.5
        Frequency [Hz].
    lateral_acceleration : float, default 4.0
        First peak that the amplitude is searched for [m/s^2], positive to the left.
    angle : float, optional
        Amplitude of pinion or Pitman arm [rad], in place of a lateral acceleration.
    begin : float, default 2.0
        Time at which the sine begins [s].
    after : float, default 2.0
        Time that the run goes on for after the sine [s].
    h : float, default 1e-3
        Step of the Simulation [s].
    """

    words: ClassVar[str] = "sine steer"
    sought: ClassVar[str] = "amplitude"
    speed: float
    frequency: float = 0.5
    lateral_acceleration: float = 4.0
    angle: float | None = None
    begin: float = 2.0
    after: float = 2.0
    h: float = 1e-3

    def perform(self, car: "Car") -> Trial:
        """Return the trial of a sine; the amplitude of a lateral acceleration is searched unless it is given."""
        speed, frequency = self.checked("speed", "frequency")
        if speed <= 0.0 or frequency <= 0.0:
            raise ModelError(f"sine steer: speed {speed:g} and frequency {frequency:g} must be above zero")
        rest = car.changed(steer=0.0).rest()
        torque = held_torque(car, speed, self.h, self.begin, rest)
        end = self.begin + self.whole(1.0 / frequency + self.after)
        angle, result = self.steered(car, torque, rest, end)
        signals = steered_signals(car, result)
        title = f"Sine steer {self.frequency:g} Hz at {self.speed:g} m/s"
        return Trial(title, self.metrics(signals, angle), signals, result, NOTES)

    def profile(self, angle: float) -> Numeric:
        """Return the sine of an amplitude.

        Parameters
        ----------
        angle : float
            Amplitude [rad].

        Returns
        -------
        OneSine
            Profile of the steering.
        """
        return OneSine(self.begin, angle, self.frequency)

    def level(self, signals: dict[str, Array], angle: float) -> float:
        """Return the first peak of the lateral acceleration.

        Parameters
        ----------
        signals : dict[str, ndarray]
            Signals of the run.
        angle : float
            Amplitude [rad], for its sign.

        Returns
        -------
        float
            Lateral acceleration [m/s^2].
        """
        return self.halves(signals, "lateral_acceleration", angle)[0][1]

    def halves(self, signals: dict[str, Array], name: str, angle: float) -> list[tuple[float, float]]:
        """Return time and value of the peaks of a signal in both half waves.

        Parameters
        ----------
        signals : dict[str, ndarray]
            Signals of the run.
        name : str
            Name of the signal.
        angle : float
            Amplitude [rad], for its sign.

        Returns
        -------
        list[tuple[float, float]]
            Time from the beginning [s] and value of each peak.
        """
        t, period, found = signals["t"] - self.begin, 1.0 / self.frequency, []
        for k, sign in enumerate((1.0, -1.0)):
            inside = np.flatnonzero((t >= 0.5 * k * period) & (t <= (0.5 * k + 0.75) * period))
            best = inside[int(np.argmax(sign * np.sign(angle) * signals[name][inside]))]
            found.append((float(t[best]), float(signals[name][best])))
        return found

    def metrics(self, signals: dict[str, Array], angle: float) -> dict[str, Metric]:
        """Return the metrics of a run.

        Parameters
        ----------
        signals : dict[str, ndarray]
            Signals of the run.
        angle : float
            Amplitude [rad], positive left.

        Returns
        -------
        dict[str, Metric]
            Metrics by name.
        """
        peaks = [0.25 / self.frequency, 0.75 / self.frequency]
        metrics = {
            "amplitude": Metric(angle, "rad", "of pinion or Pitman arm"),
            "frequency": Metric(self.frequency, "Hz", "of the sine"),
        }
        for name, unit in (("yaw_rate", "rad/s"), ("lateral_acceleration", "m/s^2")):
            for k, half in enumerate(("first", "second")):
                time, value = self.halves(signals, name, angle)[k]
                gain = value / angle * (-1.0) ** k
                metrics[f"{name}_{half}_peak"] = Metric(value, unit, f"extreme of the {half} half wave")
                metrics[f"{name}_{half}_lag"] = Metric(
                    time - peaks[k], "s", "from the peak of the steering to that extreme"
                )
                metrics[f"{name}_{half}_gain"] = Metric(gain, f"{unit} / rad", "extreme over amplitude of the steering")
        return metrics


@dataclass(frozen=True, kw_only=True)
class SineWithDwell(Manoeuvre):
    """Sine with dwell (FMVSS 126, UN R140): 0.7 Hz with 0.5 s at the second peak, throttle released.

    Passed when the yaw rate is at most 35 % and 20 % of its peak 1.00 s and 1.75 s after the steering is complete, and
    the car has moved 1.83 m to the side 1.07 s after its beginning.

    Parameters
    ----------
    speed : float, default 22.22
        Speed [m/s]; 80 km/h.
    factor : float, default 5.0
        Amplitude over the angle of 0.3 g at steady state.
    angle : float, optional
        Amplitude of pinion or Pitman arm [rad], in place of the factor.
    begin : float, default 2.0
        Time at which the sine begins [s].
    h : float, default 1e-3
        Step of the Simulation [s].
    """

    words: ClassVar[str] = "sine with dwell"
    speed: float = 80.0 / 3.6
    factor: float = 5.0
    angle: float | None = None
    begin: float = 2.0
    h: float = 1e-3

    def perform(self, car: "Car") -> Trial:
        """Return the trial; speeds that cannot be, and a car that does not reach 0.3 g, are refused."""
        (speed,) = self.checked("speed")
        if speed <= 0.0:
            raise ModelError(f"sine with dwell: speed is {speed:g}; it must be above zero")
        rest = car.changed(steer=0.0).rest()
        if self.angle is None:
            level = StepSteer(speed=speed, lateral_acceleration=MODERATE, h=self.h, duration=2.0).run(car)
            angle = self.factor * level["steering_angle"]
        else:
            (angle,) = self.checked("angle")
        angle = float(np.clip(angle, -car.data.steering.max_angle, car.data.steering.max_angle))
        steer = OneSine(self.begin, angle, 0.7, 0.5)
        result = run_open_loop(car, speed, steer, 0.0, rest, self.whole(steer.end + 2.0), self.h)
        signals = steered_signals(car, result)
        title = f"Sine with dwell at {self.speed:.3g} m/s"
        return Trial(title, self.metrics(signals, steer), signals, result, NOTES)

    def metrics(self, signals: dict[str, Array], steer: OneSine) -> dict[str, Metric]:
        """Return the metrics of a run.

        Parameters
        ----------
        signals : dict[str, ndarray]
            Signals of the run.
        steer : OneSine
            Profile of the steering.

        Returns
        -------
        dict[str, Metric]
            Metrics by name.
        """
        t, r, angle = signals["t"], signals["yaw_rate"], steer.amplitude
        second = t >= steer.t0 + 0.5 / steer.frequency  # after the steering has changed its sign
        peak = float(np.max(-np.sign(angle) * r[second])) * -float(np.sign(angle))
        late = [abs(float(np.interp(steer.end + after, t, r)) / peak) for after in (1.0, 1.75)]
        moved = abs(float(np.interp(self.begin + 1.07, t, signals["y"]) - np.interp(self.begin, t, signals["y"])))
        passed = late[0] <= 0.35 and late[1] <= 0.20 and moved >= 1.83
        return {
            "amplitude": Metric(angle, "rad", "of pinion or Pitman arm"),
            "second_peak_yaw_rate": Metric(peak, "rad/s", "after the steering has changed its sign"),
            "yaw_rate_ratio_1s": Metric(
                late[0], "1", "size over that peak, 1.00 s after the steering is complete; at most 0.35"
            ),
            "yaw_rate_ratio_1_75s": Metric(late[1], "1", "likewise after 1.75 s; at most 0.20"),
            "lateral_displacement": Metric(moved, "m", "1.07 s after the beginning; at least 1.83 m"),
            "peak_side_slip": Metric(
                float(np.max(np.abs(signals["side_slip"]))), "rad", "at the chassis' centre of mass"
            ),
            "passed": Metric(float(passed), "1", "1 when the three limits are kept"),
        }
