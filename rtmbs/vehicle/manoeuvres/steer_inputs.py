"""Lateral response to steering: step, sine, and frequency sweep of ISO 7401, sine with dwell, and the linearised car.

Sine with dwell is that of FMVSS 126 and UN R140. An angle is given, or searched for a lateral acceleration.
"""

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from rtmbs.errors import ModelError
from rtmbs.model.checks import Array, Numbers, as_floats, number
from rtmbs.model.profiles import Motion, Numeric
from rtmbs.numerics.rotations.quaternions import rotations
from rtmbs.results import Result
from rtmbs.simulation.simulation import Simulation
from rtmbs.studies.analysis.linearisation import linearise
from rtmbs.vehicle.axle import CHASSIS
from rtmbs.vehicle.manoeuvres.report import (
    Manoeuvre,
    Metric,
    Plot,
    Trial,
    first_peak,
    response_time,
    run_open_loop,
    signals_of,
    steady,
    steered_signals,
)
from rtmbs.vehicle.rest import Rest
from rtmbs.vehicle.steering import DRIVER, Ramp, eased

if TYPE_CHECKING:
    from rtmbs.vehicle.car import Car

CLOSE = 2e-3  # of the lateral acceleration that is asked for
ROUNDS = 8  # of the search for the steering angle
NOTES = (
    "Lateral acceleration is that of the centre of mass of the chassis, level and across the heading (ISO 8855).",
    "The steering angle is that of the pinion or Pitman arm.",
)


def held_torque(car: "Car", speed: float, h: float, time: float, rest: Rest) -> float:
    """Return the torque [N m] on all driven wheels together that holds a speed on a straight road: throttle held.

    A run without torque loses the power m v a, with the mass m = 2 E / v^2 of its kinetic energy E. That has the
    spin of all wheels, drive shafts and cases of differentials, and those of a trailer.
    """
    straight = car.changed(steer=0.0).at_speed(speed, rest)
    result = Simulation(straight.compile(), h).run(time)
    signals = signals_of(straight, result)
    loss = -float(np.mean(signals["longitudinal_acceleration"][result["t"] > 0.5 * time]))
    v = float(signals["speed"][-1])
    mass = 2.0 * float(result["energy.kinetic"][-1]) / v**2
    return mass * v * loss / float(np.mean([result[f"hub_{corner}.angle_rate"][-1] for corner in car.driven]))


def angle_for(
    tried: Callable[[float], tuple[float, Result]], wanted: float, most: float, what: str
) -> tuple[float, Result]:
    """Return the steering angle that gives a value, and its Result, by secants; ``what`` begins the error.

    ``tried`` returns the value of an angle and the Result of its run; angles up to ``most`` [rad] are tried.
    """
    angle, a0, f0 = 0.02 * most * float(np.sign(wanted)), 0.0, 0.0
    for _ in range(ROUNDS):
        found, result = tried(angle)
        if abs(found - wanted) <= CLOSE * abs(wanted):
            return angle, result
        a1, f1 = angle, found
        angle = a1 + (wanted - f1) * (a1 - a0) / (f1 - f0)
        a0, f0 = a1, f1
        if not abs(angle) <= most:
            break
    raise ModelError(f"{what}, the last gave {found:g}; it must be within what the tyres carry")


class SearchedSteer(Manoeuvre):
    """Frame of manoeuvres in open loop whose angle is given, or searched for a lateral acceleration."""

    sought: ClassVar[str]  # word for the angle
    speed: float
    lateral_acceleration: float
    angle: float | None

    @abstractmethod
    def profile(self, angle: float) -> Numeric:
        """Return the profile of the steering for an angle [rad]."""

    @abstractmethod
    def level(self, signals: dict[str, Array], angle: float) -> float:
        """Return the lateral acceleration of a run that the search compares [m/s^2]."""

    def steered(self, car: "Car", torque: float, rest: Rest, end: float) -> tuple[float, Result]:
        """Return the angle of the steering, and the Result of the run with it.

        Parameters
        ----------
        car : Car
            Car to test; it is not changed.
        torque : float
            Torque on all driven wheels together [N m].
        rest : Rest
            Equilibrium of the car.
        end : float
            End of the run [s].

        Returns
        -------
        angle : float
            Angle of pinion or Pitman arm [rad].
        result : Result
            Run with that angle.

        Raises
        ------
        ModelError
            For an angle and a lateral acceleration of zero.
        """

        def tried(angle: float) -> tuple[float, Result]:
            result = run_open_loop(car, self.speed, self.profile(angle), torque, rest, end, self.h)
            return self.level(signals_of(car, result), angle), result

        if self.angle is not None:
            (angle,) = self.checked("angle")
            if angle == 0.0:
                raise ModelError(f"{self.words}: angle is 0; it must be to the left or to the right")
            return angle, tried(angle)[1]
        (wanted,) = self.checked("lateral_acceleration")
        if wanted == 0.0:
            raise ModelError(f"{self.words}: lateral_acceleration is 0; it must be to the left or to the right")
        what = f"{self.words}: no {self.sought} gives {wanted:g} m/s^2 at {self.speed:g} m/s"
        return angle_for(tried, wanted, car.data.steering.max_angle, what)


@dataclass(frozen=True, kw_only=True)
class StepSteer(SearchedSteer):
    """Step steer of ISO 7401: straight on, then a ramp of the steering to a held angle; the throttle is held.

    Parameters
    ----------
    speed : float
        Speed at the beginning [m/s].
    lateral_acceleration : float, default 4.0
        Steady value that the angle is searched for [m/s^2], positive to the left.
    angle : float, optional
        Angle of the pinion or Pitman arm [rad], positive left, in place of a lateral acceleration.
    steer_time : float, default 0.1
        Duration of the ramp [s].
    begin : float, default 2.0
        Time at which the ramp begins [s]; before, the car settles on the road.
    duration : float, default 3.0
        Duration of the run after the ramp began [s].
    throttle : {'held', 'released'}, default 'held'
        "held" drives with the torque that holds the speed on the straight, "released" without.
    h : float, default 1e-3
        Step of the Simulation [s].

    Examples
    --------
    >>> manoeuvre = rtmbs.vehicle.StepSteer(speed=20.0, lateral_acceleration=4.0)
    >>> report = manoeuvre.run(rtmbs.vehicle.read("sedan"))  # doctest: +SKIP
    >>> report["yaw_response_time"]  # doctest: +SKIP
    """

    words: ClassVar[str] = "step steer"
    sought: ClassVar[str] = "steering angle"
    speed: float
    lateral_acceleration: float = 4.0
    angle: float | None = None
    steer_time: float = 0.1
    begin: float = 2.0
    duration: float = 3.0
    throttle: str = "held"
    h: float = 1e-3

    def perform(self, car: "Car") -> Trial:
        """Return the trial of a step; the angle of a lateral acceleration is searched unless it is given."""
        (speed,) = self.checked("speed")
        if self.throttle not in ("held", "released"):
            raise ModelError(f"step steer: throttle is {self.throttle!r}; it must be one of held, released")
        if speed <= 0.0:
            raise ModelError(f"step steer: speed is {speed:g}; it must be above zero")
        rest = car.changed(steer=0.0).rest()
        torque = held_torque(car, speed, self.h, self.begin, rest) if self.throttle == "held" else 0.0
        angle, result = self.steered(car, torque, rest, self.begin + self.duration)
        signals = steered_signals(car, result)
        return Trial(f"Step steer at {self.speed:g} m/s", self.metrics(signals, angle), signals, result, NOTES)

    def profile(self, angle: float) -> Numeric:
        """Return the ramp to an angle [rad]."""
        return Ramp(self.begin, self.begin + self.steer_time, 0.0, angle)

    def level(self, signals: dict[str, Array], angle: float) -> float:
        """Return the steady lateral acceleration [m/s^2]."""
        return steady(signals, "lateral_acceleration")

    def metrics(self, signals: dict[str, Array], angle: float) -> dict[str, Metric]:
        """Return the metrics of a run; t = 0 where the steering passes half of its angle.

        Parameters
        ----------
        signals : dict[str, ndarray]
            Signals of the run.
        angle : float
            Angle of the pinion or Pitman arm [rad], positive left.

        Returns
        -------
        dict[str, Metric]
            Metrics by name.
        """
        zero = self.begin + 0.5 * self.steer_time
        r, ay = steady(signals, "yaw_rate"), steady(signals, "lateral_acceleration")
        T_r, T_ay = (response_time(signals, name, zero) for name in ("yaw_rate", "lateral_acceleration"))
        peak, overshoot = first_peak(signals, "yaw_rate", zero)
        beta, roll = steady(signals, "side_slip"), steady(signals, "roll")
        return {
            "steering_angle": Metric(angle, "rad", "of pinion or Pitman arm, held"),
            "yaw_rate": Metric(r, "rad/s", "steady: mean of the last 0.5 s"),
            "lateral_acceleration": Metric(ay, "m/s^2", "steady, in the road"),
            "yaw_gain": Metric(r / angle, "1/s", "yaw rate over steering angle"),
            "acceleration_gain": Metric(ay / angle, "m/(s^2 rad)", "lateral acceleration over steering angle"),
            "yaw_response_time": Metric(T_r, "s", "from half of the steering to 90 % of the steady yaw rate"),
            "acceleration_response_time": Metric(T_ay, "s", "the same of the lateral acceleration"),
            "yaw_peak_time": Metric(peak, "s", "from half of the steering to the first maximum of the yaw rate"),
            "yaw_overshoot": Metric(overshoot / r - 1.0 if r else 0.0, "1", "first maximum over steady yaw rate - 1"),
            "side_slip": Metric(beta, "rad", "steady, at the centre of mass of the chassis"),
            "tb_factor": Metric(abs(beta) * peak, "rad s", "steady side slip angle times yaw peak time"),
            "roll": Metric(roll, "rad", "steady"),
            "roll_gradient": Metric(roll / ay, "rad s^2/m", "roll over lateral acceleration"),
        }


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


ANSWERS = ("yaw_rate", "lateral_acceleration", "roll")
COHERENT = 0.95  # coherence from which an estimate counts
FADES = 10.0  # periods of the last frequency in which a sweep fades out
CALMS = 3.0  # [s] that the run goes on for after the sweep
PLOTS = (
    *(
        Plot(f"{what} of {name.replace('_', ' ')} over frequency [Hz]", (f"{what}_{name}",), "frequency")
        for name in ANSWERS
        for what in ("gain", "phase")
    ),
    Plot("Coherence over frequency [Hz]", tuple(f"coherence_{name}" for name in ANSWERS), "frequency"),
)


class SineSweep(Numeric):
    """Profile of a sine whose frequency grows exponentially, faded in over its first period and out over the last ten.

    Parameters
    ----------
    t0 : float
        Time at which it begins [s].
    amplitude : float
        Amplitude [rad].
    low : float
        First frequency [Hz].
    high : float
        Last frequency [Hz].
    duration : float
        Duration [s]; the angle is zero behind it.
    """

    def __init__(self, t0: float, amplitude: float, low: float, high: float, duration: float) -> None:
        self.t0, self.amplitude, self.low, self.high, self.duration = t0, amplitude, low, high, duration

    def __call__(self, t: float) -> Motion:
        """Return the angle with its first two rates."""
        tau = t - self.t0
        if tau <= 0.0 or tau >= self.duration:
            return 0.0, 0.0, 0.0
        rate = np.log(self.high / self.low) / self.duration
        w = 2.0 * np.pi * self.low * np.exp(rate * tau)
        phase = (w - 2.0 * np.pi * self.low) / rate
        s, sd, sdd = np.sin(phase), w * np.cos(phase), rate * w * np.cos(phase) - w * w * np.sin(phase)
        f, fd, fdd = raised(tau * self.low, self.low)
        if tau > 1.0 / self.low:
            f, fd, fdd = raised((self.duration - tau) * self.high / FADES, -self.high / FADES)
        A = self.amplitude
        return float(A * f * s), float(A * (f * sd + fd * s)), float(A * (f * sdd + 2.0 * fd * sd + fdd * s))


def raised(share: float, rate: float) -> Motion:
    """Return a raised cosine from 0 at a share of 0 to 1 at 1, with its first two rates; ``rate`` is that of share."""
    if share >= 1.0:
        return 1.0, 0.0, 0.0
    x, b = np.pi * share, np.pi * rate
    return float(0.5 - 0.5 * np.cos(x)), float(0.5 * b * np.sin(x)), float(0.5 * b * b * np.cos(x))


class Response(NamedTuple):
    """Frequency response to the angle of the pinion or Pitman arm.

    Parameters
    ----------
    frequency : ndarray
        Frequencies (k,) [Hz].
    yaw_rate : ndarray
        Response of the yaw rate (k,) complex [1/s].
    lateral_acceleration : ndarray
        Response of the lateral acceleration (k,) complex [m/(s^2 rad)].
    roll : ndarray
        Response of the roll angle (k,) complex.
    """

    frequency: Array
    yaw_rate: Array
    lateral_acceleration: Array
    roll: Array


def linear_response(
    car: "Car", speed: Numbers, frequency: Numbers, *, settle: float = 2.0, rest: "Rest | None" = None, h: float = 1e-3
) -> Response:
    """Return the frequency response of the linearised car, G = C (i w - A)^-1 B + D, at a speed on a straight road.

    Parameters
    ----------
    car : Car
        Car.
    speed : float
        Speed [m/s].
    frequency : array_like
        Frequencies (k,) [Hz].
    settle : float, default 2.0
        Time of a run straight on before the linearisation [s].
    rest : Rest, optional
        Equilibrium of the car, which saves its search.
    h : float, default 1e-3
        Step of that run [s].

    Returns
    -------
    Response
        Complex responses of yaw rate, lateral acceleration of the chassis' centre of mass, and roll, to the angle of
        the pinion or Pitman arm.

    Raises
    ------
    ModelError
        For frequencies that are not positive numbers.
    """
    f = np.atleast_1d(as_floats(frequency))
    if f.ndim != 1 or not np.all(np.isfinite(f) & (f > 0.0)):
        raise ModelError("frequency response: frequencies must be finite numbers above zero")
    standing = car.changed(steer=0.0).rest() if rest is None else rest
    V = number(speed, "frequency response: speed")
    torque = held_torque(car, V, h, settle, standing)
    moving = car.changed(steer=None).at_speed(V, standing)
    sim = Simulation(moving.compile(), h)
    for name, value in moving.drive_inputs(torque).items():
        sim.inputs[name] = value
    sim.run(settle)
    names = ("angular_velocity", "acceleration", "angular_acceleration")
    lin = linearise(sim, inputs=[DRIVER], outputs=[f"{CHASSIS}.{name}" for name in names])
    w = 2j * np.pi * f
    steer = car.data.steering.ratio * np.stack((np.ones_like(w), w, w * w))  # value, rate, acceleration
    eye = np.eye(len(lin.A))
    y = np.array(
        [lin.C @ np.linalg.solve(s * eye - lin.A, lin.B @ u) + lin.D @ u for s, u in zip(w, steer.T, strict=True)]
    )
    arm = rotations(sim[f"{CHASSIS}.orientation"]) @ car.data.chassis.com
    across = y[:, 4] + y[:, 8] * arm[0] - y[:, 6] * arm[2]
    return Response(f, y[:, 2], across, y[:, 0] / w)


@dataclass(frozen=True, kw_only=True)
class FrequencyResponse(Manoeuvre):
    """Sine sweep of ISO 7401 at a constant speed: gains, phases and coherence over the frequency.

    The sweep fades in and out, so the record begins and ends straight on, and its Fourier transform needs no window.
    Estimates are H1 = S_xy / S_xx with spectra that are means over a ``band`` of frequencies; those with a coherence
    below 0.95 do not count.

    Parameters
    ----------
    speed : float
        Speed at the beginning [m/s].
    angle : float, default 0.05
        Amplitude of pinion or Pitman arm [rad].
    low : float, default 0.1
        First frequency [Hz].
    high : float, default 5.0
        Last frequency [Hz].
    duration : float, default 60.0
        Duration of the sweep [s].
    band : float, default 0.1
        Band of frequencies over which spectra are means [Hz].
    begin : float, default 1.0
        Time at which the sweep begins [s].
    h : float, default 1e-3
        Step of the Simulation [s].
    """

    words: ClassVar[str] = "frequency response"
    speed: float
    angle: float = 0.05
    low: float = 0.1
    high: float = 5.0
    duration: float = 60.0
    band: float = 0.1
    begin: float = 1.0
    h: float = 1e-3

    def perform(self, car: "Car") -> Trial:
        """Return the trial of a sweep; its signals have gains, phases [rad] and coherence."""
        speed, low, high, length, band, angle = self.checked("speed", "low", "high", "duration", "band", "angle")
        if not (speed > 0.0 and 0.0 < low < high and 2.0 / low < length and 3.0 / length <= band < high - low):
            raise ModelError(
                f"frequency response: speed {speed:g}, low {low:g}, high {high:g}, duration {length:g} and band "
                f"{band:g} must be above zero, low below high, two periods of low in the duration, and three lines in "
                "the band"
            )
        if angle == 0.0:
            raise ModelError("frequency response: angle is 0; it must be to the left or to the right")
        rest = car.changed(steer=0.0).rest()
        torque = held_torque(car, speed, self.h, 2.0, rest)
        sweep = SineSweep(self.begin, angle, low, high, length)
        end = self.whole(self.begin + length + CALMS)
        result = run_open_loop(car, speed, sweep, torque, rest, end, self.h)
        signals = steered_signals(car, result)
        found = estimates(signals, self.h, band, low, high)
        return Trial(f"Frequency response at {speed:g} m/s", metrics(found), signals | found, result, NOTES, PLOTS)


def estimates(signals: dict[str, Array], h: float, band: float, low: float, high: float) -> dict[str, Array]:
    """Return frequency [Hz], and gain, phase [rad] and coherence of each answer to ``steering_angle``."""
    count = len(signals["t"])
    f = np.fft.rfftfreq(count, h)
    wide = max(round(band / f[1]), 3)

    def mean(values: Any) -> Any:
        return np.convolve(values, np.ones(wide) / wide, "same")

    spectra = {name: np.fft.rfft(signals[name] - signals[name][0]) for name in ("steering_angle", *ANSWERS)}
    X = spectra["steering_angle"]
    Sxx = mean(np.abs(X) ** 2)
    inside = slice(int(np.searchsorted(f, low + 0.5 * band)), int(np.searchsorted(f, high)), max(wide // 2, 1))
    found: dict[str, Array] = {"frequency": np.asarray(f[inside], dtype=np.float64)}
    for name in ANSWERS:
        Y = spectra[name]
        Sxy, Syy = mean(np.conj(X) * Y), mean(np.abs(Y) ** 2)
        H = (Sxy / Sxx)[inside]
        found[f"gain_{name}"], found[f"phase_{name}"] = np.abs(H), np.unwrap(np.angle(H))
        found[f"coherence_{name}"] = (np.abs(Sxy) ** 2 / (Sxx * Syy))[inside]
    return found


def metrics(found: dict[str, Array]) -> dict[str, Metric]:
    """Return the metrics of estimates; ModelError where none is coherent."""
    f, given = found["frequency"], {}
    for name, unit in (("yaw_rate", "1/s"), ("lateral_acceleration", "m/(s^2 rad)"), ("roll", "1")):
        counts = found[f"coherence_{name}"] >= COHERENT
        if np.sum(counts) < 3:
            raise ModelError(f"frequency response: the {name} is not coherent; the sweep must be longer or larger")
        gain, phase, at = found[f"gain_{name}"][counts], found[f"phase_{name}"][counts], f[counts]
        steady, top = float(gain[0]), int(np.argmax(gain))
        given[f"{name}_gain"] = Metric(steady, unit, f"gain at {at[0]:.2f} Hz")
        given[f"{name}_peak_frequency"] = Metric(float(at[top]), "Hz", "frequency of the largest gain")
        given[f"{name}_peak_ratio"] = Metric(float(gain[top]) / steady, "1", "largest gain over that at the beginning")
        given[f"{name}_phase_1hz"] = Metric(float(np.interp(1.0, at, phase)), "rad", "phase at 1 Hz")
        late = np.flatnonzero(phase - phase[0] <= -0.25 * np.pi)
        if len(late) and late[0] > 0:
            k = late[0]
            bound = float(np.interp(-0.25 * np.pi, [phase[k] - phase[0], phase[k - 1] - phase[0]], [at[k], at[k - 1]]))
            given[f"{name}_equivalent_time"] = Metric(
                1.0 / (2.0 * np.pi * bound), "s", "1 / (2 pi f) where the phase has fallen by 45 degrees"
            )
    return given
