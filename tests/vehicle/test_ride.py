"""Cleat, hump and four-post rig: quasi-static limits, mirror images, Newton's law, and the linearised car."""

from functools import cache

import numpy as np
import pytest
from scipy.signal import lsim

import rtmbs
from rtmbs.vehicle import Cleat, FourPost, Hump, post_response, read
from rtmbs.vehicle.manoeuvres.ride import FallingSweep, obstacle_metrics, post_linearisation, post_metrics, rms

pytestmark = pytest.mark.filterwarnings("ignore:car:rtmbs.RtmbsWarning")


@cache
def car_of():
    return read("sedan", variant="from_models")


def test_four_post_on_a_road():
    """On a road of class A the run is that of the matrices of the linearised car in scipy, within 1 %."""
    rig = FourPost(mode="road", road_class="A", seed=3, duration=1.0, after=1.0)
    report = rig.run(car_of())
    signals = report.signals
    lin, profiles = post_linearisation(car_of()), rig.profiles(car_of())
    t = signals["t"]
    given = np.array([np.concatenate([profiles[corner](s) for corner in car_of().tyres]) for s in t.tolist()])
    y = lsim((lin.A, lin.B, lin.C, lin.D), given, t)[1]
    for k, corner in enumerate(car_of().tyres):
        load = signals[f"load_{corner}"] - signals[f"load_{corner}"][0]
        assert rms(load) > 100.0
        assert rms(y[:, 8 + 3 * k] - load) < 0.01 * rms(load)
        share = np.sqrt(np.mean(y[t <= 1.0, 8 + 3 * k] ** 2)) / signals[f"load_{corner}"][0]
        assert report[f"load_coefficient_{corner}"] == pytest.approx(share, rel=0.01)
    com = car_of().data.chassis.com
    a = signals["vertical_acceleration"]
    linear = y[:, 2] - y[:, 4] * com[0]
    assert rms(linear - a) < 0.01 * rms(a)
    assert report["rms_acceleration"] == pytest.approx(np.sqrt(np.mean(linear[t <= 1.0] ** 2)), rel=0.01)
    behind = (car_of().data.front.wheel_centre - car_of().data.rear.wheel_centre)[0]
    assert np.allclose(signals["post_rl"][200:], np.interp(t[200:] - behind / 20.0, t, signals["post_fl"]), atol=2e-5)


def test_slow_posts():
    """Posts that move slowly lift the whole car, and the loads are those of Newton's law; roll moves no centre."""
    heave = post_response(car_of(), [0.02, 0.05])
    assert np.abs(heave.rise) == pytest.approx(1.0, abs=2e-3)
    mass = sum(body.mass for body in car_of().bodies.values())
    wanted = -mass * (2.0 * np.pi * heave.frequency) ** 2
    assert sum(heave.loads.values()).real == pytest.approx(wanted, rel=6e-3)
    roll = post_response(car_of(), [1.0, 5.0], "roll")
    assert np.max(np.abs(roll.rise)) < 1e-9
    assert roll.loads["fl"] == pytest.approx(-roll.loads["fr"], rel=1e-9)


def test_metrics_of_posts_by_hand():
    """Metrics are those of the sweep: rest behind it, and what the car does there, does not change them."""
    t = np.linspace(0.0, 3.0, 3001)
    wave = np.where(t < 2.0, np.sin(50.0 * np.pi * t), 0.0)
    signals = {"t": t, "vertical_acceleration": 3.0 * wave, "post_fl": 0.01 * wave}
    for corner in car_of().tyres:
        signals[f"load_{corner}"] = np.where(t > 2.5, 0.0, 4000.0 + 800.0 * wave)
        signals[f"travel_{corner}"] = 0.02 * wave
    found = {name: one.value for name, one in post_metrics(signals, 2.0).items()}
    assert found["rms_acceleration"] == pytest.approx(3.0 / np.sqrt(2.0), rel=1e-3)
    assert found["load_coefficient_rl"] == pytest.approx(0.2 / np.sqrt(2.0), rel=1e-3)
    assert found["rms_post_velocity"] == pytest.approx(0.5 * np.pi / np.sqrt(2.0), rel=5e-3)
    assert found["smallest_load_fr"] == pytest.approx(3200.0)
    assert found["travel_rr"] == pytest.approx(0.04)


def test_sweep_is_smooth():
    """Rates of the falling sweep are those of its differences; its velocity is constant."""
    sweep, h = FallingSweep(0.01, 0.5, 20.0, 10.0), 1e-5
    for t in (0.7, 3.1, 6.0, 9.9):
        f, fd, fdd = sweep(t)
        low, high = sweep(t - h), sweep(t + h)
        assert fd == pytest.approx((high[0] - low[0]) / (2.0 * h), abs=1e-6)
        assert fdd == pytest.approx((high[1] - low[1]) / (2.0 * h), abs=1e-3)
        assert f == pytest.approx((high[0] + low[0]) / 2.0, abs=1e-7)


@pytest.mark.slow
def test_sweep_in_heave():
    """In a sweep the gain of the run is that of the linear response."""
    signals = FourPost(mode="heave", amplitude=0.002, low=0.5, high=12.0, duration=12.0).run(car_of()).signals
    t, post, a = signals["t"], signals["post_fl"], signals["vertical_acceleration"]
    f = np.fft.rfftfreq(len(t), t[1])
    X, Y = np.fft.rfft(post), np.fft.rfft(a - a[0])
    for wanted in (1.0, 2.0, 4.0, 8.0):
        band = np.abs(f - wanted) < 0.15
        gain = np.sum(np.conj(X[band]) * Y[band]) / np.sum(np.abs(X[band]) ** 2)
        weights = np.abs(X[band]) ** 2 / np.sum(np.abs(X[band]) ** 2)
        linear = np.sum(weights * post_response(car_of(), f[band]).acceleration)
        assert abs(gain - linear) < 0.02 * abs(linear)


@pytest.mark.slow
def test_slow_plateau():
    """On top of a plateau the wheels have risen by its height; both sides of a cleat mirror each other."""
    report = Hump(speed=3.0, shape="plateau", length=6.0, after=0.3).run(car_of())
    heights = np.array([report.result[f"wheel_{corner}.position"][:, 2] for corner in car_of().tyres])
    top = np.all(heights > heights[:, :1] + 0.099, axis=0)  # all wheels on the top
    assert np.sum(top) > 500
    assert np.median((heights - heights[:, :1])[:, top], axis=1) == pytest.approx(0.1, abs=3e-4)
    assert report["lift_off_time"] == 0.0
    left, right = (Cleat(speed=10.0, side=side, after=0.3).run(car_of()) for side in ("left", "right"))
    assert left["peak_acceleration"] == pytest.approx(right["peak_acceleration"], rel=1e-9)
    assert np.allclose(left.signals["roll"], -right.signals["roll"], atol=1e-10)
    assert np.allclose(left.signals["load_fl"], right.signals["load_fr"], atol=1e-5)


def test_metrics_by_hand():
    """Signals with known peaks, a wheel in the air for 0.1 s, and a decay whose end is known."""
    t = np.linspace(0.0, 2.0, 2001)
    load = np.where((t > 0.5) & (t <= 0.6), 0.0, 4000.0)
    wave = np.exp(-3.0 * t) * np.cos(60.0 * t)
    signals = {"t": t, "vertical_acceleration": 8.0 * wave, "rise": 0.01 * t, "pitch": 0.02 * np.sin(t)}
    signals |= {f"load_{corner}": load for corner in car_of().tyres}
    signals |= {f"travel_{corner}": 0.03 * wave for corner in car_of().tyres}
    found = {name: one.value for name, one in obstacle_metrics(car_of(), signals, 0.25).items()}
    assert found["peak_acceleration"] == 8.0
    assert found["lift_off_time"] == pytest.approx(0.1, abs=2e-3)
    assert found["front_bump_travel"] == pytest.approx(0.03)
    assert found["settling_time"] == pytest.approx(np.log(20.0) / 3.0 - 0.25, abs=0.06)


@pytest.mark.parametrize(
    ("manoeuvre", "words"),
    [
        (Cleat(speed=0.0), "speed 0 and after 2 must be above zero"),
        (Cleat(speed=5.0, length=1e-3), "length 0.001 above 2 mm"),
        (Hump(speed=5.0, shape="round"), "shape is 'round'; it must be one of watts, cosine, plateau"),
        (Hump(speed=5.0, side="middle"), "side is 'middle'; it must be one of both, left, right"),
        (Hump(speed=5.0, throttle="full"), "throttle is 'full'; it must be one of held, released"),
        (FourPost(mode="jump"), "mode is 'jump'; it must be one of heave, pitch, roll, warp, road"),
        (FourPost(mode="road", road_class="Z"), "road_class is 'Z'; it must be one of A"),
        (FourPost(low=30.0), "low is 30; it must be below high, which is 20"),
        (FourPost(low=0.05), "duration is 20; it must be above two periods of low, 40 s"),
        (FourPost(h=0.0), "h is 0; it must be above zero"),
    ],
)
def test_refusals(manoeuvre, words):
    with pytest.raises(rtmbs.errors.ModelError, match=words):
        manoeuvre.run(car_of())


def test_a_start_on_posts():
    """A car with posts starts at a speed in its pose of rest: the posts are no part of a car at rest."""
    car = read("sedan", variant="from_models", posts=True, steer=0.0)
    rest = car.rest()
    sim = rtmbs.Simulation(car.at_speed(0.0, rest).compile(), h=1e-3)
    for corner, load in rest.wheel_loads.items():
        assert sim[f"tyre_{corner}.force"][2] == pytest.approx(load, rel=1e-9)
