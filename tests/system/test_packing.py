"""Pickles of systems and simulations whose functions no other process could import."""

import copy
import pickle
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import rtmbs
from rtmbs.errors import InputError
from tests.patience import LONGEST

ROOT = Path(__file__).parents[2]


def torque(t):
    return 0.3 * np.cos(t)


def law(t, kinematics, parameters):
    return -0.2 * kinematics.zd


def simulation(motor=torque, force=law, drive=None):
    model = rtmbs.Model("swing")
    model.add_body("bar", mass=1.0, center_of_mass=(0.0, 0.0, -0.5), inertia=(1.0, 1.0, 1.0))
    model.add_body("cart", mass=1.0, inertia=(1.0, 1.0, 1.0))
    model.add_joint("pin", rtmbs.Revolute((1, 0, 0)), "ground", "bar")
    model.add_joint("rail", rtmbs.Prismatic((1, 0, 0)), "ground", "cart")
    model.add_force("motor", rtmbs.Motor(motor), joint="pin")
    model.add_force("drag", force, joint="pin")
    model.add_driver("drive", drive or rtmbs.Sine(0.1, 2.0), joint="rail")
    return rtmbs.Simulation(model.compile(), 1e-3)


def angles(sim):
    return sim.run(sim.t + 0.05)["pin.angle"].tobytes()


SIZE = 0.3
LOCAL = {
    "by name": {},
    "lambda of a motor": {"motor": lambda t: SIZE * np.cos(t)},
    "lambda of a law": {"force": lambda t, kinematics, parameters: -0.2 * kinematics.zd},
    "partial": {"motor": partial(lambda size, t: size * np.cos(t), 0.3)},
    "functions of a driver": {
        "drive": rtmbs.Function(
            lambda t: 0.1 * np.sin(2.0 * t), lambda t: 0.2 * np.cos(2.0 * t), lambda t: -0.4 * np.sin(2.0 * t)
        )
    },
}


@pytest.mark.parametrize("given", LOCAL.values(), ids=LOCAL)
def test_a_pickled_simulation_goes_on_with_the_same_bytes(given):
    sim = simulation(**given)
    sim.run(0.02)
    other = pickle.loads(pickle.dumps(sim))
    assert other.system.fingerprint == sim.system.fingerprint
    assert angles(other) == angles(sim)


def test_another_process_reads_it(tmp_path):
    sim = simulation(motor=lambda t: SIZE * np.cos(t))
    (tmp_path / "sim.pickle").write_bytes(pickle.dumps(sim))
    code = "import pickle, sys; sim = pickle.load(open(sys.argv[1], 'rb')); print(sim.run(0.05)['pin.angle'].tobytes())"
    said = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "sim.pickle")],
        cwd=ROOT, capture_output=True, text=True, timeout=LONGEST, check=True,
    )  # fmt: skip
    assert said.stdout.strip() == str(angles(sim))


def test_a_function_that_cannot_be_pickled_is_named():
    lock = threading.Lock()

    def guarded(t):
        with lock:
            return 0.1 * t

    with pytest.raises(InputError, match=r"'motor': the function of its torque cannot be pickled: <function .*guarded"):
        pickle.dumps(simulation(motor=guarded))

    def held(t, kinematics, parameters):
        return -0.2 * kinematics.zd if lock else 0.0

    with pytest.raises(InputError, match=r"the law of force 'drag' cannot be pickled: <function .*held"):
        pickle.dumps(simulation(force=held))


def test_a_deep_copy_shares_its_functions():
    sim = simulation(motor=lambda t: SIZE * np.cos(t))
    other = copy.deepcopy(sim.system)
    assert other.signals[0].function is sim.system.signals[0].function
    assert other.outside[0].function is sim.system.outside[0].function
