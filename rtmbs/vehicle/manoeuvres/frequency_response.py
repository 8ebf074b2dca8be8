"""Frequency response of a car to its steering: sine sweep of ISO 7401 with coherence, and the linearised car."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from rtmbs.errors import ModelError
from rtmbs.model.checks import Array, Numbers, as_floats, number
from rtmbs.model.profiles import Motion, Numeric
from rtmbs.numerics.rotations.quaternions import rotations
from rtmbs.simulation.simulation import Simulation
from rtmbs.studies.analysis.linearisation import linearise
from rtmbs.vehicle.axle import CHASSIS
from rtmbs.vehicle.manoeuvres.manoeuvre import Manoeuvre, Trial, run_open_loop
from rtmbs.vehicle.manoeuvres.report import Metric, Plot
from rtmbs.vehicle.manoeuvres.signals import steered_signals
from rtmbs.vehicle.manoeuvres.step_steer import NOTES, held_torque
from rtmbs.vehicle.steering import DRIVER

if TYPE_CHECKING:
    from rtmbs.vehicle.car import Car
    from rtmbs.vehicle.rest import Rest

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
