"""Inverse dynamics against drivers, runs and closed forms; redundancy shared; contradictions in a sentence."""

import numpy as np
import pytest

import rtmbs
from rtmbs.errors import InputError
from tests.studies.sensitivities.cases import sprung_rocker

T = np.linspace(0.0, 1.0, 21)
TURN = rtmbs.ConstantRate(6.0)


@pytest.fixture(scope="module")
def rocker():
    return rtmbs.library.build("crank_rocker").compile()


def driven():
    model = rtmbs.library.build("crank_rocker")
    model.add_driver("drive", TURN, joint="crank_pivot")
    return model.compile()


def test_a_pendulum_in_closed_form():
    model = rtmbs.Model("arm", gravity=(0, 0, -9.81))
    model.add_body("arm", mass=2.0, inertia=(0.3, 0.3, 0.1), center_of_mass=(0, 0, -0.5))
    model.add_joint("hinge", rtmbs.Revolute(axis=(1, 0, 0)), "ground", "arm", point=(0, 0, 0))
    wave = rtmbs.Sine(amplitude=0.7, frequency_rad_s=3.0, offset=0.2)
    found = rtmbs.inverse_dynamics(model.compile(), {"hinge": wave}, T)
    q, _, qdd = np.array([wave(t) for t in T]).T
    wanted = (0.3 + 2.0 * 0.25) * qdd + 2.0 * 9.81 * 0.5 * np.sin(q)
    np.testing.assert_allclose(found.forces["hinge"], wanted, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.power["hinge"], wanted * found.result["hinge.rate"], rtol=1e-12)
    np.testing.assert_allclose(found.result["hinge.reaction"][:, 3], wanted, rtol=1e-10, atol=1e-10)
    sampled = rtmbs.inverse_dynamics(model.compile(), {"hinge.angle": q}, T)
    assert np.abs(sampled.forces["hinge.angle"] - wanted).max() < 2e-2
    assert sampled.forces["hinge"] is sampled.forces["hinge.angle"]
    assert sampled.statistics("hinge")["nx"].largest == pytest.approx(wanted.max(), abs=2e-2)
    along = sampled.reaction("hinge", frame="arm")[:, :3]
    np.testing.assert_allclose(np.linalg.norm(along, axis=1), sampled.statistics("hinge")["f"].values, rtol=1e-12)
    given = rtmbs.inverse_dynamics(model.compile(), {"hinge": np.array([wave(t) for t in T])}, T)
    np.testing.assert_array_equal(given.forces["hinge"], found.forces["hinge"])


def test_a_loop_needs_what_its_driver_gives(rocker):
    found = rtmbs.inverse_dynamics(rocker, {"crank_pivot": TURN}, T)
    other = rtmbs.inverse_dynamics(driven(), None, T)
    np.testing.assert_allclose(found.forces["crank_pivot"], other.forces["drive"], atol=1e-11)
    for joint in ("knee", "pin", "rocker_pivot"):
        np.testing.assert_allclose(found.result[f"{joint}.reaction"], other.result[f"{joint}.reaction"], atol=1e-10)
    errors = []
    for h in (5e-3, 2.5e-3):
        run = rtmbs.Simulation(driven(), h=h).run(1.0)
        errors.append(np.abs(run["drive.force"][:: round(0.05 / h)] - found.forces["crank_pivot"]).max())
    assert errors[1] < 4e-5
    assert errors[0] > 3.0 * errors[1]


def test_driven_legs_are_among_the_drives():
    """A Stewart platform: forces of the legs as in a run, and their power is the rate of the energy."""
    model = rtmbs.Model("stewart")
    plate = model.add_body("plate", mass=20.0, inertia=(1.0, 1.5, 2.0), position=(0, 0, 1))
    model.add_joint("free", rtmbs.Floating(), "ground", plate, point=(0, 0, 1))
    for i in range(6):
        a, b = 2 * np.pi * (i // 2) / 3 + 0.2 * (-1) ** i, 2 * np.pi * ((i + 1) // 2) / 3 - 0.4 * (-1) ** i
        foot, top = np.array((1.2 * np.cos(a), 1.2 * np.sin(a), 0.0)), np.array((0.6 * np.cos(b), 0.6 * np.sin(b), 1.0))
        model.add_marker(f"foot{i}", "ground", point=foot)
        model.add_marker(f"top{i}", plate, point=top)
        wave = rtmbs.Sine(0.02 + 0.01 * i, 3.0, offset=float(np.linalg.norm(top - foot)))
        model.add_driver(f"leg{i}", wave, between=(f"foot{i}", f"top{i}"))
    system = model.compile()
    found = rtmbs.inverse_dynamics(system, None, T)
    legs = [f"leg{i}" for i in range(6)]
    assert list(found.forces) == legs == list(found.power)
    run = rtmbs.Simulation(system, h=1e-3).run(1.0, record=rtmbs.Every(0.05))
    energy = found.result["energy.kinetic"] + found.result["energy.weight"]
    for leg in legs:
        np.testing.assert_allclose(found.forces[leg], run[f"{leg}.force"], atol=5e-3 * np.abs(run["leg0.force"]).max())
    given = sum(found.power.values())
    steps = 0.5 * (given[1:] + given[:-1]) * np.diff(T)
    np.testing.assert_allclose(steps, np.diff(energy), atol=0.02 * np.abs(np.diff(energy)).max())


def test_a_recorded_free_motion_needs_no_torque(rocker):
    run = rtmbs.Simulation(rocker, h=1e-3).run(0.1)
    found = rtmbs.inverse_dynamics(rocker, run, drives=["crank_pivot"], tolerance=1e-6)
    assert np.abs(found.forces["crank_pivot"]).max() < 1e-4
    assert found.gaps.max() < 1e-8
    np.testing.assert_array_equal(found.t, run.t)


def test_noise_is_projected_onto_the_loops(rocker):
    run = rtmbs.Simulation(rocker, h=1e-2).run(0.15)
    rng = np.random.default_rng(3)
    noisy = {}
    for joint in ("crank_pivot", "rocker_pivot", "pin"):
        columns = np.stack([run[f"{joint}.angle"], run[f"{joint}.rate"], run[f"{joint}.acceleration"]], axis=1)
        noisy[joint] = columns + 1e-4 * rng.normal(size=columns.shape)
    with pytest.raises(InputError, match="contradicts the loops at t = 0 s"):
        rtmbs.inverse_dynamics(rocker, noisy, run.t)
    found = rtmbs.inverse_dynamics(rocker, noisy, run.t, drives=["crank_pivot"], tolerance=1e-2)
    assert 1e-6 < found.gaps.max() < 1e-3
    assert np.abs(found.result["knee.violation"]).max() < 1e-9
    assert np.abs(found.forces["crank_pivot"]).max() < 0.05
    with pytest.raises(InputError, match="off the nearest pose"):
        rtmbs.inverse_dynamics(rocker, noisy, run.t, tolerance=1e-7)


def test_redundant_drives_share_as_asked(rocker):
    alone = rtmbs.inverse_dynamics(rocker, {"crank_pivot": TURN}, T)
    shares = []
    for weights in ({"crank_pivot": 1.0, "rocker_pivot": 1.0}, {"crank_pivot": 1.0, "rocker_pivot": 100.0}):
        found = rtmbs.inverse_dynamics(rocker, {"crank_pivot": TURN}, T, drives=weights)
        both = found.power["crank_pivot"] + found.power["rocker_pivot"]
        np.testing.assert_allclose(both, alone.power["crank_pivot"], atol=1e-9)  # whatever the share, one power
        ratio = found.forces["rocker_pivot"] * found.result["crank_pivot.rate"] * weights["crank_pivot"]
        other = found.forces["crank_pivot"] * found.result["rocker_pivot.rate"] * weights["rocker_pivot"]
        np.testing.assert_allclose(ratio, other, atol=1e-8)  # tau_k / weight_k in proportion to rates
        shares.append(np.abs(found.forces["crank_pivot"]).max())
    assert shares[1] < shares[0]


def test_inputs_and_springs_count():
    system = sprung_rocker().compile()
    found = rtmbs.inverse_dynamics(system, {"A": TURN}, T[:3])
    bare = rtmbs.inverse_dynamics(system, {"A": TURN}, T[:3], inputs={"spring.stiffness": 0.0, "spring.damping": 0.0})
    pull = found.result["spring.pull"]
    assert np.abs(bare.result["spring.pull"]).max() == 0.0
    lengthening = np.gradient(found.result["spring.length"], T[:3])[1]
    gained = (found.power["A"] - bare.power["A"])[1]
    assert gained == pytest.approx(pull[1] * lengthening, rel=0.05)


BAD = {
    "unknown": (lambda s: rtmbs.inverse_dynamics(s, {"crank_pivo": TURN}, T), "did you mean 'crank_pivot'"),
    "rates": (
        lambda s: rtmbs.inverse_dynamics(s, {"crank_pivot": TURN, "rocker_pivot": rtmbs.ConstantRate(1.0)}, T),
        "in velocity at t = 0 s: .* would open by",
    ),
    "nothing": (lambda s: rtmbs.inverse_dynamics(s, {}, T), "must map joints to motions"),
    "no drive": (lambda s: rtmbs.inverse_dynamics(s, {"crank_pivot": TURN}, T, drives=[]), "drives none cannot make"),
    "cut": (
        lambda s: rtmbs.inverse_dynamics(s, {"knee.angle": TURN}, T),
        "^'knee.angle' cannot be given: joint 'knee' is cut, .* take one of .*, or cut the loop in another joint",
    ),
    "cut drive": (
        lambda s: rtmbs.inverse_dynamics(s, {"crank_pivot": TURN}, T, drives=["knee"]),
        "^'knee' cannot have a drive: joint 'knee' is cut",
    ),
    "nan": (
        lambda s: rtmbs.inverse_dynamics(s, {"crank_pivot": np.where(T > 0.32, np.nan, T)}, T),
        r"^motion of 'crank_pivot' is not finite at t = 0\.35 s; leave that time out",
    ),
    "drive": (lambda s: rtmbs.inverse_dynamics(s, {"crank_pivot": TURN}, T, drives=["pon"]), "did you mean 'pin'"),
    "weight": (lambda s: rtmbs.inverse_dynamics(s, {"crank_pivot": TURN}, T, drives={"pin": 0.0}), "above zero"),
    "times": (lambda s: rtmbs.inverse_dynamics(s, {"crank_pivot": TURN}, [1.0, 0.5]), "increasing times"),
    "no times": (lambda s: rtmbs.inverse_dynamics(s, None), "increasing times"),
    "samples": (lambda s: rtmbs.inverse_dynamics(s, {"crank_pivot": np.zeros(3)}, T), "21 samples"),
    "finite": (lambda s: rtmbs.inverse_dynamics(s, {"crank_pivot": np.full(21, np.nan)}, T), "finite"),
    "input": (
        lambda s: rtmbs.inverse_dynamics(s, {"crank_pivot": TURN}, T, inputs={"gravty": 1.0}),
        "did you mean 'gravity'",
    ),
    "tolerance": (lambda s: rtmbs.inverse_dynamics(s, {"crank_pivot": TURN}, T, tolerance=-1.0), "zero or more"),
    "a Model": (
        lambda s: rtmbs.inverse_dynamics(rtmbs.library.build("crank_rocker"), {"pin": TURN}, T),
        "compiled System",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gets_a_sentence(rocker, case):
    call, words = BAD[case]
    with pytest.raises(ValueError, match=words):
        call(rocker)


def test_freedom_that_nothing_says_is_named():
    model = rtmbs.library.build("governor")
    with pytest.raises(InputError, match="3 degrees of freedom open at t = 0 s"):
        rtmbs.inverse_dynamics(model.compile(), {"bearing": TURN}, T)
    with pytest.raises(InputError, match="follows a driver of the model already"):
        rtmbs.inverse_dynamics(driven(), {"crank_pivot": TURN}, T)


def test_states_of_laws_are_named():
    model = sprung_rocker()
    model.add_force("lag", lambda t, k, p, s: (-s["w"], k.zd - s["w"]), joint="A", states={"w": 0.0})
    with pytest.raises(InputError, match="'lag' has states"):
        rtmbs.inverse_dynamics(model.compile(), {"A": TURN}, T[:3])


def test_what_a_result_is_to_give(rocker):
    run = rtmbs.Simulation(rocker, h=1e-3).run(0.01)
    with pytest.raises(InputError, match=r"beside a Result, which has its own times; leave t out"):
        rtmbs.inverse_dynamics(rocker, run, T)
    with pytest.raises(
        rtmbs.errors.UnknownNameError, match=r"'crank_pivot\.angel'; did you mean .*'crank_pivot\.angle"
    ):
        rtmbs.inverse_dynamics(rocker, run, ["crank_pivot.angel"])
