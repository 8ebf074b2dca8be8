"""FMUs of others in the loop of a Simulation: closed forms of sampled controllers, order, refusals."""

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import rtmbs
from rtmbs.errors import InputError, MotionError, UnknownNameError

pytest.importorskip("fmpy")
if not shutil.which("cc"):
    pytest.skip("no C compiler", allow_module_level=True)
sys.path.insert(0, str(Path(rtmbs.__file__).parents[1] / "apps" / "hosts"))
from coupled import built
from fmpy.validation import validate_fmu

sys.path.pop(0)
PUSH = "push.force"
H, EVERY, MASS, KP, KI, REFERENCE = 1e-3, 0.02, 2.0, 3.0, 8.0, 1.5


@pytest.fixture(scope="module")
def controller(tmp_path_factory):
    """A PI controller, compiled from C: no part of rtmbs."""
    return built(tmp_path_factory.mktemp("controller"))


def mass():
    """A mass on a line that a force moves."""
    model = rtmbs.Model("mass", gravity=(0.0, 0.0, 0.0))
    body = model.add_body("mass", mass=MASS, inertia=np.eye(3))
    model.add_joint("slide", rtmbs.Prismatic(axis=(1.0, 0.0, 0.0)), "ground", body)
    model.add_force("push", rtmbs.Motor(rtmbs.Input(0.0)), joint="slide")
    return rtmbs.Simulation(model.compile(), h=H)


def connected(path, **other):
    """Return the controller at the mass."""
    given = {
        "path": path, "every": EVERY, "inputs": {"speed": "slide.rate"}, "outputs": {PUSH: "torque"},
        "start": {"kp": KP, "ki": KI, "reference": REFERENCE},
    }  # fmt: skip
    return rtmbs.CoupledFMU(**{**given, **other})


def test_the_controller_is_a_valid_fmu(controller):
    assert validate_fmu(str(controller)) == []


@pytest.mark.parametrize("order", ["gauss-seidel", "jacobi"])
def test_a_sampled_controller_has_its_closed_form(controller, order):
    sim, count = mass(), 75
    result = rtmbs.co_simulate(sim, count * EVERY, [connected(controller)], order=order)
    # (v, integral, held force, 1) from sample to sample; the method integrates a constant force exactly
    now = np.array([-KP, KI, 0.0, KP * REFERENCE])  # of the controller at (v, I, f, 1)
    force = now if order == "gauss-seidel" else np.array([0.0, 0.0, 1.0, 0.0])
    step = np.array([[1.0, 0, 0, 0], [-EVERY, 1.0, 0, EVERY * REFERENCE], now, [0, 0, 0, 1.0]])
    step[0] += EVERY / MASS * force
    wanted = [(np.linalg.matrix_power(step, k) @ [0.0, 0.0, 0.0, 1.0])[0] for k in range(count + 1)]
    found = result["slide.rate"][:: round(EVERY / H)]
    assert len(found) == count + 1
    assert np.abs(found - wanted).max() < 1e-11
    assert max(wanted) > REFERENCE


def test_the_bytes_are_those_of_a_loop_by_hand(controller):
    sim, by_hand = mass(), mass()
    rtmbs.co_simulate(sim, 1.0, [connected(controller)])
    integral = 0.0
    for _ in range(50):
        error = REFERENCE - by_hand["slide.rate"]
        by_hand.inputs[PUSH] = KP * error + KI * integral
        integral += error * EVERY
        for _ in range(20):
            by_hand.step()
    assert sim.state.zd.tobytes() == by_hand.state.zd.tobytes()
    assert sim.state.z.tobytes() == by_hand.state.z.tobytes()
    assert sim.t == by_hand.t


def test_an_fmu_of_fmi_3_with_another_communication_step(tmp_path, controller):
    """The other mechanism is an FMU; a vector input takes one of its outputs, beside the controller."""
    path = rtmbs.export_fmu(rtmbs.library.build("pendulum").compile(), tmp_path / "p.fmu", outputs=["pivot.angle"])
    sim = mass()
    swinging = rtmbs.CoupledFMU(path, every=5e-3, inputs={}, outputs={"gravity[0]": "pivot.angle"})
    result = rtmbs.co_simulate(sim, 0.4, [swinging, connected(controller)], record=rtmbs.Every(0.1))
    pendulum = rtmbs.Simulation(rtmbs.library.build("pendulum").compile(), h=1e-3).run(0.4)
    assert len(result.t) == 5
    assert sim.inputs["gravity"][0] == pendulum["pivot.angle"][400]
    assert sim.inputs["gravity"][1:].tolist() == [0.0, 0.0]


def test_what_does_not_fit_is_one_sentence(controller, tmp_path):
    def run(sim=None, **other):
        return rtmbs.co_simulate(sim or mass(), 0.1, [connected(**{"path": controller, **other})])

    with pytest.raises(InputError, match="no whole number of steps"):
        run(every=1.5e-3)
    with pytest.raises(InputError, match="communication step in seconds"):
        run(every="often")
    with pytest.raises(UnknownNameError, match=r"slide\.rate"):
        run(inputs={"speed": "slide.rat"})
    with pytest.raises(UnknownNameError, match="torque"):
        run(outputs={"gravity[0]": "torqe"})
    with pytest.raises(UnknownNameError, match=r"gravity\[1\]"):
        run(outputs={"gravity[3]": "torque"})
    with pytest.raises(InputError, match="order is"):
        rtmbs.co_simulate(mass(), 0.1, [], order="gauss")
    with pytest.raises(InputError, match="list of CoupledFMU"):
        rtmbs.co_simulate(mass(), 0.1, connected(controller))
    (tmp_path / "broken.fmu").write_bytes(b"no archive")
    with pytest.raises(InputError, match=r"broken\.fmu cannot be loaded"):
        run(path=tmp_path / "broken.fmu")
    with pytest.raises(InputError, match=r"none\.fmu cannot be loaded: there is no file"):
        run(path=tmp_path / "none.fmu")


def test_an_fmu_that_refuses_a_step_leaves_the_result_so_far(controller):
    """This controller refuses speeds beyond 1000 rad/s."""
    sim = mass()
    with pytest.raises(MotionError, match=r"controller\.fmu refused the step from t = ") as caught:
        rtmbs.co_simulate(sim, 5.0, [connected(controller, start={"kp": -200.0, "reference": 1.0})])
    assert caught.value.result.t[-1] == pytest.approx(caught.value.t)
    assert abs(sim["slide.rate"]) > 1000.0
