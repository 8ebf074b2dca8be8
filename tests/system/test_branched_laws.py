"""Force laws with branches are recorded; those that cannot be are called in Python, and a warning says why."""

import math
import warnings

import numpy as np
import pytest

import rtmbs
from rtmbs import RtmbsWarning

SEEN = []


def model_of(law, **options):
    model = rtmbs.Model("pendulum", gravity=(0, -9.81, 0))
    model.add_body("rod", mass=1.0, center_of_mass=(0.5, 0, 0), inertia=(0.001, 0.083, 0.083))
    model.add_joint("a", rtmbs.Revolute(axis=(0, 0, 1)), "ground", "rod", point=(0, 0, 0))
    model.add_force("l", law, joint="a", **options)
    return model


def branch(t, k, p):
    if k.z > 0.0:
        return -p["c"] * np.sqrt(k.z)
    return p["c"] * np.tanh(-k.z) - 0.1 * min(k.zd, 1.0)


def where(t, k, p):
    left = p["c"] * np.tanh(-k.z) - 0.1 * np.minimum(k.zd, 1.0)
    return np.where(k.z > 0.0, -p["c"] * np.sqrt(np.where(k.z > 0.0, k.z, 1.0)), left)


def halves(t, k, p):
    z = k.z
    while z > 0.1:
        z = 0.5 * z
    return z


def of_math(t, k, p):
    return -math.sin(k.z)


def raises(t, k, p):
    if k.z > 1.0:
        raise ValueError("the spring is broken")
    return -k.z


def keeps(t, k, p):
    if k.z > 0.0:
        SEEN.append(t)
    return -k.z


class Remembers:
    last = 0.0

    def __call__(self, t, k, p):
        if k.z > self.last:
            self.last = float(np.real(k.z)) if isinstance(k.z, float) else 0.0
        return -k.z


def test_a_branch_moves_as_where_does_and_nothing_is_said():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        runs = [rtmbs.Simulation(model_of(law, parameters={"c": 2.0}).compile(), h=1e-3) for law in (branch, where)]
        results = [sim.run(1.0) for sim in runs]
    assert not runs[0].system.called
    assert "recorded" in str(runs[0].start_report) or not runs[0].system.forces["l"].called
    np.testing.assert_allclose(results[0]["a.angle"], results[1]["a.angle"], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("law", "why"),
    [
        (halves, r"more than 64 ways through its conditions \(test_branched_laws.py:\d+\)"),
        (of_math, r"float\(\) is not possible \(test_branched_laws.py:\d+\)"),
        (raises, r"the spring is broken \(test_branched_laws.py:\d+\)"),
        (keeps, "writes SEEN outside of itself"),
        (Remembers(), "writes last outside of itself"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_law_that_is_called_says_so_once_at_its_own_line(law, why):
    with pytest.warns(RtmbsWarning) as caught:
        system = model_of(law).compile()
    (one,) = caught
    assert one.filename == __file__
    assert pytest.importorskip("re").search(why, str(one.message))
    assert "force 'l': its law could not be recorded" in str(one.message)
    assert "numpy.where" in str(one.message)
    assert system.forces["l"].called


def test_a_call_that_is_asked_for_is_not_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model_of(halves, trace=False).compile().forces["l"].called


def test_a_recorded_law_that_writes_outside_of_itself_is_told():
    kept = []

    def log(t, k, p):
        kept.append(t)
        return -k.z

    with pytest.warns(RtmbsWarning, match="its law writes kept outside of itself. It is recorded and not called"):
        system = model_of(log).compile()
    assert not system.forces["l"].called


def test_a_law_with_states_may_have_branches():
    def law(t, k, p, s):
        drive = 5.0 if s["x"] < 0.2 else 1.0
        return -k.z, drive - s["x"]

    sim = rtmbs.Simulation(model_of(law, states={"x": 0.0}).compile(), h=1e-3)
    x = sim.run(1.0)["l.x"]
    first = np.log(5.0 / 4.8)  # when x = 0.2
    np.testing.assert_allclose(x[-1], 1.0 - 0.8 * np.exp(-(1.0 - first)), atol=2e-3)
