"""Sensitivities by states of force laws: complex step, differences of runs, the adjoint, checkpoints."""

import numpy as np
import pytest

import rtmbs
from bench.measures.complex_steps import TIGHT, errors
from rtmbs.errors import InputError
from tests.cases import quick
from tests.studies.sensitivities.cases import differences, error, sprung_rocker

WANTED = 1e-8


def maxwell(t, k, p, s):
    """A spring, and beside it a stiffening spring with a damper in series; the state is the way of the damper."""
    length = np.sqrt(np.dot(k.r, k.r))
    way = length - 0.4 - s["way"]
    pull = p["stiffness"] * way + 300.0 * way**3
    return p["base"] * (length - 0.4) + pull, pull / p["damping"]


def motor(t, k, p, s):
    """First order: the current follows the voltage, with an iron that saturates and a supply that hums."""
    i, p_ = s["current"], p
    return p_["k"] * i, (p_["U"] + 0.3 * np.sin(40.0 * t) - p_["R"] * i - p_["k"] * k.zd) / p_["L"] - 0.1 * i**3


def tyre(t, k, p, s):
    """The side force follows the slip over a length; the state is the force."""
    speed = np.sqrt(np.dot(k.v, k.v) + 1e-2)
    return (np.array([0.0, 1.0, 0.0]) * s["side"], np.zeros(3)), speed / p["length"] * (-p["c"] * k.v[1] - s["side"])


def controller(t, k, p, s):
    """PID of an angle, its derivative filtered."""
    angle = k.z - 0.8
    slope = (angle - s["held"]) / p["lag"]
    return -(p["kp"] * angle + p["ki"] * s["sum"] + p["kd"] * slope), np.stack([angle, slope])


def rocker(way=0.05, current=1.0, rate=6.0):
    """A sprung four-bar with a Maxwell element across it and a motor on its crank."""
    model = sprung_rocker(rate=rate)
    given = {"stiffness": 150.0, "damping": 12.0, "base": 20.0}
    model.add_force("element", maxwell, between=("post", "tip"), states={"way": way}, parameters=given)
    given = {"k": 0.8, "U": 5.0, "R": 2.0, "L": 0.05}
    model.add_force("motor", motor, joint="A", states={"current": current}, parameters=given)
    return model


def on_tyre():
    """A spatial slider-crank whose slider pushes a tyre aside."""
    model = rtmbs.library.build("slider_crank")
    given = {"c": 3.0, "length": 0.05}
    model.add_force("tyre", tyre, body="slider", states={"side": 0.1}, parameters=given)
    return model


def controlled(name, joint):
    """A mechanism of the library under a controller."""
    model = rtmbs.library.build(name)
    given = {"kp": 3.0, "ki": 4.0, "kd": 0.05, "lag": 0.02}
    states = {"sum": 0.1, "held": 0.0}
    model.add_force("pid", controller, joint=joint, states=states, parameters=given)
    return model


LOOPS = {
    "rocker": (rocker, ["element.damping", "motor.L", "element.way", "motor.current", "coupler.mass"], 2e-3),
    "tyre": (on_tyre, ["tyre.length", "tyre.side", "rod.mass"], 1e-3),
    "crank-rocker": (
        lambda: controlled("crank_rocker", "crank_pivot"),
        ["pid.ki", "pid.sum", "pid.held", "crank_pivot.rate"],
        4e-3,
    ),
    "bricard": (lambda: controlled("bricard", "joint_2"), ["pid.kd", "pid.held", "rod_2.mass"], 5e-3),
    "windows": (lambda: controlled("windows", "pivot_1"), ["pid.kp", "pid.sum"], 4e-3),
}


@pytest.mark.parametrize("name", quick(LOOPS, "rocker"))
def test_direct_is_the_complex_step(name):
    make, by, h = LOOPS[name]
    found = errors(make(), by, h, 4)
    assert {"z", "zd", "zdd", "s", "sd", "force"} <= set(found)
    found.pop("lam")  # redundant rows of Bricard's loop; forces of loops stand for them
    assert max(found.values()) < WANTED


def values(result):
    """Motion, forces and states at the end, and a sum over the run."""
    r = result
    ends = [r["tip.position"][-1], r["tip.velocity"][-1], r["element.force"][-1]]
    return np.concatenate(
        [*ends, np.stack([r["element.way"][-1], r["motor.current"][-1], np.sum(r["element.way"] ** 2)])]
    )


BY = ["element.stiffness", "element.damping", "motor.L", "motor.U", "element.way", "motor.current", "A.rate"]
SIZES = (3.0, 0.2, 5e-4, 0.05, 1e-3, 1e-2, 2e-2)


@pytest.fixture(scope="module")
def sprung():
    sim = rtmbs.Simulation(rocker().compile(), h=2e-3, method=TIGHT)
    return sim, rtmbs.sensitivity(sim, 0.1, values, BY, method="direct")


@pytest.mark.parametrize(("name", "size"), list(zip(BY, SIZES, strict=True)))
def test_direct_is_the_difference_of_runs(sprung, name, size):
    _, found = sprung
    arguments = {"element.way": "way", "motor.current": "current", "A.rate": "rate"}

    def run(value):
        own = name in arguments
        sim = rtmbs.Simulation(rocker(**({arguments[name]: value} if own else {})).compile(), h=2e-3, method=TIGHT)
        if not own:
            sim.inputs[name] = value
        sim._store.go_on_from(sim.state.copy(), 0.0)
        sim.method.begin(sim.equations, sim.state)
        return values(sim.run(0.1))

    k = found.parameters.index(name)
    assert error(found[name], differences(run, found.point[k], size)) < 1e-7
    assert found.missed < 1e-8


@pytest.mark.usefixtures("adjoint_way")
def test_the_adjoint_is_the_direct_method(sprung):
    sim, found = sprung
    for checkpoints in (None, 7):
        adjoint = rtmbs.sensitivity(sim, 0.1, values, BY, method="adjoint", checkpoints=checkpoints)
        assert error(adjoint.jacobian, found.jacobian) < 1e-11


def test_a_run_that_goes_on_has_the_rates_of_its_states(sprung):
    """From the middle of a run on, where states have rates already."""
    system = rocker().compile()
    sim = rtmbs.Simulation(system, h=2e-3, method=TIGHT)
    sim.run(0.05)
    found = rtmbs.sensitivity(sim, 0.1, "element.way", ["motor.current", "element.damping"])

    def run(value):
        own = rtmbs.Simulation(system, h=2e-3, method=TIGHT)
        state = sim.state.copy()
        k = [one.name for one in system.states].index("current")
        state.s[k] = value
        own.restore(state)
        own.change(threads=1)
        own._store.go_on_from(own.state, own.t)
        own.method.begin(own.equations, own.state)
        return own.run(0.1)["element.way"][-1:]

    wanted = differences(run, found.point[0], 1e-2)
    assert found.point[0] == sim.state.s[[one.name for one in system.states].index("current")]
    assert error(found["motor.current"], wanted) < 1e-7


def test_a_first_value_in_the_model_is_refused():
    sim = rtmbs.Simulation(rocker().compile(), h=2e-3)
    with pytest.raises(
        InputError, match=r"way changes the first value of the state 'way' of force 'element'.*element\.way"
    ):
        rtmbs.sensitivity(sim, 0.1, "tip.position", ["way"], model=rocker, at={"way": 0.05})
