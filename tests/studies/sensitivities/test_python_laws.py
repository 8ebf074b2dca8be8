"""Sensitivities through force laws that Python calls: exact along the branches that they take."""

import math

import numpy as np
import pytest

import rtmbs
from bench.measures.complex_steps import TIGHT, errors
from rtmbs.errors import InputError
from tests.studies.sensitivities.cases import differences, error, sprung_rocker

STEPS, H = 30, 2e-3


def stop(t, k, p):
    """A stop with a smooth edge, and drag that knows its direction."""
    drag = -p["drag"] * k.zd * k.zd if k.zd > 0.0 else p["drag"] * k.zd * k.zd
    if k.z > 0.6:
        return drag - p["stiffness"] * (k.z - 0.6) ** 3 - 0.1 * t
    return drag - 0.1 * t


def rope(t, k, p):
    """A rope that stiffens once it is long."""
    length = np.sqrt(np.dot(k.r, k.r))
    pull = p["k"] * (length - 0.4)
    if length > 0.53:
        pull = pull + 4000.0 * (length - 0.53) ** 3
    return pull


def rocker(rate=6.0):
    """A sprung four-bar with both."""
    model = sprung_rocker(rate=rate)
    model.add_force("stop", stop, joint="A", parameters={"stiffness": 5e4, "drag": 0.02}, trace=False)
    model.add_force("rope", rope, between=("post", "tip"), parameters={"k": 30.0}, trace=False)
    return model


def values(result):
    """Motion and forces at the end."""
    ends = [result[f"tip.{what}"][-1] for what in ("position", "velocity")]
    return np.concatenate([*ends, result["rope.force"][-1]])


BY = ["stop.stiffness", "stop.drag", "rope.k", "A.rate", "coupler.mass"]


@pytest.fixture(scope="module")
def found():
    model = rocker()
    system = model.compile()
    assert len(system.called) == 2
    sim = rtmbs.Simulation(system, h=H, method=TIGHT)
    return sim, model, rtmbs.sensitivity(sim, STEPS * H, values, BY, model=model, method="direct")


def test_the_run_takes_every_branch(found):
    result = found[2].result
    assert {True, False} == set((result["A.angle"] > 0.6).tolist())
    assert {True, False} == set((result["A.rate"] > 0.0).tolist())
    assert {True, False} == set((result["spring.length"] > 0.53).tolist())  # the rope is between the same markers


@pytest.mark.slow
def test_direct_is_the_complex_step():
    worst = errors(rocker(), ["rope.k", "A.rate"], H, STEPS)
    assert max(worst.values()) < 1e-9


@pytest.mark.parametrize(("name", "size"), [("stop.stiffness", 50.0), ("rope.k", 0.5), ("A.rate", 1e-3)])
def test_direct_is_the_difference_of_runs(found, name, size):
    def run(value):
        own = name == "A.rate"
        sim = rtmbs.Simulation((rocker(rate=value) if own else rocker()).compile(), h=H, method=TIGHT)
        if not own:
            sim.inputs[name] = value
        sim._store.go_on_from(sim.state.copy(), 0.0)
        sim.method.begin(sim.equations, sim.state)
        return values(sim.run(STEPS * H))

    k = found[2].parameters.index(name)
    assert error(found[2][name], differences(run, found[2].point[k], size)) < 1e-6
    assert found[2].missed < 1e-8


@pytest.mark.usefixtures("adjoint_way")
def test_the_adjoint_is_the_direct_method(found):
    sim, model, direct = found
    adjoint = rtmbs.sensitivity(sim, STEPS * H, values, BY, model=model, method="adjoint", checkpoints=4)
    assert error(adjoint.jacobian, direct.jacobian) < 1e-10


def test_a_spatial_loop_under_a_law_on_a_body():
    def wind(t, k, p):
        push = -p["c"] * k.v if k.v[0] > 0.0 else -0.5 * p["c"] * k.v
        return push, np.zeros(3)

    model = rtmbs.library.build("slider_crank")
    model.add_force("wind", wind, body="rod", parameters={"c": 0.4})
    worst = errors(model, ["wind.c", "pivot.rate"], 1e-3, 4)
    assert max(worst.values()) < 1e-8


@pytest.mark.parametrize("law", [lambda t, k, p: math.sin(k.z), lambda t, k, p: float(k.z) * 2.0])
def test_a_law_that_leaves_numpy_is_named(law):
    model = sprung_rocker()
    model.add_force("odd", law, joint="A")
    sim = rtmbs.Simulation(model.compile(), h=H)
    with pytest.raises(InputError, match=r"^force 'odd' is called in Python, and has no exact derivative: .*float"):
        rtmbs.sensitivity(sim, 0.1, "A.angle", ["A.rate"])
