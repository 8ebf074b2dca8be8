"""Events of every registered method in runs with steps of h, against closed forms: times, states, times of the grid."""

import math

import numpy as np
import pytest
from scipy.special import ellipk

import rtmbs
from rtmbs import METHODS, Event, Simulation
from rtmbs.methods import Capability, capabilities_of
from tests.cases import quick
from tests.contracts.machines import contents
from tests.contracts.reference_problems import ARM, MASS, START, TURNING, G, on_a_rod, pendulum
from tests.dae.motions import skip_without

QUICK = ("penalty-trapezoidal", "variational-midpoint", "trbdf2", "runge-kutta", "hht", "solve-ivp")  # one of each kind
EVERY = pytest.mark.parametrize("name", quick(METHODS, *QUICK))
STIFFNESS, WALL, RESTITUTION, REST = 40.0, -0.4, 0.7, 1.0  # [N/m], [m], [1], place at the start [m]
FREQUENCY = math.sqrt(STIFFNESS / MASS)  # [rad/s]
T = 1.5  # [s]
BY_TOLERANCE = 1e-5  # [s] error of methods that choose their steps by tolerances of 1e-8, anew in every step
ROUNDING = 1e-11  # [s]


def method(name):
    skip_without(name)
    return METHODS[name]()


def looped(name):
    """Return a method by its name; the test is skipped where it takes no closed loops."""
    found = method(name)
    if Capability.LOOPS not in capabilities_of(found):
        pytest.skip("takes no closed loops")
    return found


def oscillator():
    """A mass on a spring along its rail, at rest off its equilibrium."""
    model = rtmbs.Model("oscillator", gravity=(0.0, 0.0, 0.0))
    model.add_body("mass", mass=MASS, inertia=(1.0, 1.0, 1.0))
    model.add_joint("rail", rtmbs.Prismatic((1, 0, 0)), "ground", "mass")
    far, near = model.add_marker("far", "ground", point=(-10.0, 0.0, 0.0)), model.add_marker("near", "mass")
    model.add_force("spring", rtmbs.SpringDamper(stiffness=STIFFNESS, length=10.0), between=(far, near))
    model.set_initial("rail", position=REST)
    return model


def bounces():
    """Return the times at which the mass meets the wall up to T, and its amplitude behind each bounce."""
    times, amplitudes, t, x, v = [], [], 0.0, REST, 0.0
    while True:
        amplitude, phase = math.hypot(x, v / FREQUENCY), math.atan2(-v / FREQUENCY, x)
        meets = math.acos(WALL / amplitude)  # x = amplitude cos(phase), on its way down
        t += (meets - phase) % (2.0 * math.pi) / FREQUENCY
        if t > T:
            return times, amplitudes
        x, v = WALL, RESTITUTION * amplitude * FREQUENCY * math.sin(meets)
        times.append(t)
        amplitudes.append(math.hypot(x, v / FREQUENCY))


def bounce(sim):
    sim.set("rail.rate", -RESTITUTION * sim["rail.rate"])


def converges(name, errors):
    """Errors of h and h/2 fall by the order of the method, or are those of its tolerances."""
    order = method(name).order
    if order is None:
        assert max(errors) < BY_TOLERANCE
    else:
        near = 0.4 if getattr(method(name), "behind", 0) else 0.25  # of a formula over several points
        assert errors[1] < ROUNDING or math.log2(errors[0] / errors[1]) > order - near, errors
        assert errors[1] < (2e-3 if order > 1 else 2e-2)


@EVERY
def test_a_mass_on_a_spring_bounces_off_a_wall(name):
    times, amplitudes = bounces()
    wall = Event(lambda s: s.z[0] - WALL, action=bounce, direction=-1, name="wall")
    off, states, system = [], [], oscillator().compile()
    for h in (1.5e-2, 7.5e-3):
        sim = Simulation(system, h, method(name))
        result = sim.run(T, when=wall)
        assert [one.event.called for one in result.events] == ["wall"] * len(times)
        found = [one.t for one in result.events]
        grid = h * np.arange(round(T / h) + 1)
        assert result.t.tolist() == sorted([*grid, *found])  # the run goes on on its grid
        x, v = (result[f"rail.{one}"][np.isin(result.t, found)] for one in ("displacement", "rate"))
        np.testing.assert_allclose(x, WALL, rtol=1e-9)
        assert (v > 0.0).all()  # behind the action
        off.append(np.abs(np.subtract(found, times)).max())
        states.append(np.abs(np.hypot(x, v / FREQUENCY) - amplitudes).max())
        assert sim.h == h
    converges(name, off)
    converges(name, states)


PENDULUMS = {  # model, the coordinate to hold at the start, the function, the frequency of small swings [rad/s]
    "tree": (pendulum, "pin", lambda s: s.z[0] - 0.5 * math.pi, math.sqrt(MASS * G * ARM / TURNING)),
    "loop": (on_a_rod, "x", lambda s: s["bob.position"][0], math.sqrt(G)),
}


@EVERY
@pytest.mark.parametrize("kind", PENDULUMS)
def test_a_pendulum_passes_its_lowest_place_after_a_quarter_of_its_period(name, kind):
    model, held, function, frequency = PENDULUMS[kind]
    taken = looped(name) if kind == "loop" else method(name)
    quarter = ellipk(math.sin(0.5 * (0.5 * math.pi - START[0])) ** 2) / frequency
    system, off = model().compile(), []
    for h in (8e-3, 4e-3):
        sim = Simulation(system, h, taken)
        sim.set(f"{held}.rate", 0.0)
        result = sim.run(0.96, when=function)
        assert [one.t for one in result.events] == [sim.t]
        assert result.t[-1] == sim.t
        assert sim.h == h
        off.append(abs(sim.t - quarter))
    converges(name, off)


@EVERY
def test_a_run_whose_events_never_happen_or_only_stand_in_the_log_has_the_same_bytes(name):
    system = on_a_rod().compile()
    plain, other = (Simulation(system, 4e-3, looped(name)) for _ in range(2))
    plain.run(0.1)
    never = Event(lambda s: 1.0 + s.z[0] ** 2, name="never")
    seen = Event(lambda s: s.t - 0.0503, stop=False, name="seen")
    result = other.run(0.1, when=[never, seen])
    assert contents(plain.state) == contents(other.state)
    assert [one.event.called for one in result.events] == ["seen"]
    assert result.events[0].t == pytest.approx(0.0503, abs=1e-12)
    assert result.warnings == {"event 'never' never changed its sign": 1}


@EVERY
def test_a_state_saved_at_an_event_goes_on_bit_for_bit(name, tmp_path):
    system = oscillator().compile()
    one = Simulation(system, 1e-2, method(name))
    one.run(1.0, when=lambda s: s.z[0])
    assert 0.34 < one.t < 0.36
    one.state.save(tmp_path / "state.npz")
    other = Simulation(system, 1e-2, method(name))
    other.restore(tmp_path / "state.npz")
    for _ in range(5):
        one.step()
        other.step()
    assert contents(one.state) == contents(other.state)
