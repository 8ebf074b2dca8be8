"""The check of forces too stiff or too sudden for the step: what it names, and what it leaves alone."""

import warnings

import numpy as np
import pytest

import rtmbs
from rtmbs import PenaltyTrapezoidal, Simulation, VariationalMidpoint, library
from rtmbs.simulation.stiff_forces import StiffForces

H = 1e-3
SENTENCE = "its acceleration stops or reverses all motion within a step"


def on_a_rail(stiffness, damping, rate=1.0, load=0.0):
    """A mass of 2 kg with a spring and a damper, and a constant force."""
    model = rtmbs.Model("rail", gravity=(load / 2.0, 0, 0))
    model.add_body("mass", mass=2.0, inertia=(1, 1, 1))
    model.add_joint("rail", rtmbs.Prismatic((1, 0, 0)), "ground", "mass")
    model.set_initial("rail", rate=rate)
    model.add_force("spring", rtmbs.TorsionSpring(stiffness=stiffness, damping=damping), joint="rail")
    return model.compile()


def told(system, method, steps, h=H):
    """Return the sentences that single steps print."""
    sim = Simulation(system, h, method)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(steps):
            if not sim.step().outcome.accepted:
                break
    return [str(one.message) for one in caught if SENTENCE in str(one.message)]


@pytest.mark.parametrize("method", [PenaltyTrapezoidal(), VariationalMidpoint()])
@pytest.mark.parametrize("damping", [1e5, 1e7])
def test_single_steps_tell_of_a_stiff_damper_once(method, damping):
    sentences = told(on_a_rail(0.0, damping), method, 20)
    assert len(sentences) == 1
    assert sentences[0].startswith(f"rail.displacement: {SENTENCE} of h = 0.001 s of {type(method).__name__}")
    assert "rtmbs.TRBDF2()" in sentences[0]


def test_runs_of_one_step_tell():
    sim = Simulation(on_a_rail(0.0, 1e7), H)
    with pytest.warns(UserWarning, match=SENTENCE):
        results = [sim.run(sim.t + H) for _ in range(4)]
    assert any(SENTENCE in name for name in results[-1].warnings)


@pytest.mark.parametrize(
    ("stiffness", "damping", "rate", "load"),
    [
        (0.0, 0.0, 0.0, 1e5),  # from rest with 50,000 m/s^2
        (2.0 * 500.0**2, 0.0, 1.0, 0.0),  # w h = 0.5, past many turning points
        (0.0, 200.0, 10.0, 0.0),  # c h / m = 0.1
    ],
)
def test_what_steps_resolve_is_left_alone(stiffness, damping, rate, load):
    assert not told(on_a_rail(stiffness, damping, rate, load), PenaltyTrapezoidal(), 100)


def test_a_vibration_that_steps_do_not_resolve_is_told():
    assert told(on_a_rail(2.0 * 2_000.0**2, 0.0, 10.0), PenaltyTrapezoidal(), 20)  # w h = 2


def test_the_library_runs_without_a_word():
    for name in ("crank_rocker", "slider_crank", "governor", "andrews"):
        result = Simulation(library.build(name).compile(), 1e-4).run(0.02)
        assert not any(SENTENCE in one for one in result.warnings), name


def test_each_condition_by_itself():
    """Of one coordinate of size one: rings, contact of a step, contact within a step, a brake that holds."""
    system = on_a_rail(0.0, 1.0)
    size = float(system.typical[0])

    def seen(rates, accelerations):
        check = StiffForces(system)
        return bool(check.look(H, size * np.array(rates)[:, None], size * np.array(accelerations)[:, None], "X"))

    assert seen((12.0, 12.0), (1e9, 1e9))
    assert seen((12.0, 5.0), (0.0, -14_000.0))
    assert seen((12.0, -9.0), (0.0, 0.0))
    assert not seen((12.0, 0.0), (-1e9, 0.0))
    assert not seen((12.0, 12.1), (100.0, 100.0))
    assert not seen((0.1, -0.1), (-1e9, 0.0))
    assert not seen((0.1, -0.1), (0.0, -0.2))  # too small a motion to matter


@pytest.mark.parametrize("seed", range(60))
def test_the_kernel_suspects_just_the_steps_that_are_found(seed):
    """Random rates and accelerations about the border of the rule."""
    rng = np.random.default_rng(seed)
    system = rtmbs.library.build("crank_rocker").compile()
    h, k, n = 10.0 ** rng.uniform(-4, -1), 5, system.n
    zd = rng.normal(size=(k + 1, n)) * 10.0 ** rng.uniform(-3, 2)
    zdd = rng.normal(size=(k + 1, n)) * np.abs(zd).max() / h * 10.0 ** rng.uniform(-2, 1)
    check = StiffForces(system)
    suspected = check.suspects(h, zd[0], zdd[0], zd[1:], zdd[1:])
    assert suspected == bool(check.look(h, zd, zdd, "PenaltyTrapezoidal"))
