"""Two functions of time are told apart by what they do, and known again in another process.

Pickles of systems and simulations whose functions no other process could import.
"""

import copy
import functools
import inspect
import math
import pickle
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import rtmbs
from rtmbs import Simulation
from rtmbs.errors import InputError, StateError
from rtmbs.system.user_functions import identity
from tests.patience import LONGEST

A = 2.0
TABLE = np.array([1.0, 2.0])


def helper(t):
    return 3.0 * t


def other_helper(t):
    return 4.0 * t


def reads_global(t):
    return A * t


def calls(t):
    return helper(t)


class Controller:
    def __init__(self, gain):
        self.gain = gain

    def __call__(self, t):
        return self.gain * t

    def torque(self, t):
        return self.gain * t


def closing(value):
    return lambda t: value * t


def default(value):
    def f(t, a=value):
        return a * t

    return f


def keyword(value):
    def f(t, *, a=value):
        return a * t

    return f


def two(t, a):
    return a * t


PAIRS = {
    "constants": (lambda: lambda t: 2.0 * t, lambda: lambda t: 3.0 * t),
    "instructions": (lambda: lambda t: 2.0 * t, lambda: lambda t: 2.0 + t),
    "names": (lambda: lambda t: math.sin(t), lambda: lambda t: math.cos(t)),
    "inner functions": (lambda: lambda t: (lambda: 2.0 * t)(), lambda: lambda t: (lambda: 3.0 * t)()),
    "closures": (lambda: closing(2.0), lambda: closing(3.0)),
    "closed arrays": (lambda: closing(np.array([1.0])), lambda: closing(np.array([2.0]))),
    "closed functions": (lambda: closing(helper), lambda: closing(other_helper)),
    "signs of zero": (lambda: closing(0.0), lambda: closing(-0.0)),
    "types": (lambda: closing(1), lambda: closing(1.0)),
    "defaults": (lambda: default(2.0), lambda: default(3.0)),
    "keyword defaults": (lambda: keyword(2.0), lambda: keyword(3.0)),
    "built-in functions": (lambda: math.sin, lambda: math.cos),
    "NumPy's functions": (lambda: np.sin, lambda: np.cos),
    "partials": (lambda: functools.partial(two, a=2.0), lambda: functools.partial(two, a=3.0)),
    "objects": (lambda: Controller(2.0), lambda: Controller(3.0)),
    "bound methods": (lambda: Controller(2.0).torque, lambda: Controller(3.0).torque),
    "classes": (lambda: float, lambda: int),
    "profiles": (lambda: rtmbs.Sine(1.0, 2.0), lambda: rtmbs.Sine(1.0, 3.0)),
    "kinds of profiles": (lambda: rtmbs.ConstantRate(1.0, 2.0), lambda: rtmbs.Sine(1.0, 2.0)),
    "splines": (lambda: rtmbs.Spline((0, 1), (0, 1)), lambda: rtmbs.Spline((0, 1), (0, 2))),
    "functions of profiles": (
        lambda: rtmbs.Function(math.sin, math.cos, helper),
        lambda: rtmbs.Function(math.sin, math.cos, other_helper),
    ),
}


@pytest.mark.parametrize("case", PAIRS)
def test_what_differs_is_told_apart_and_what_does_not_is_the_same(case):
    first, second = PAIRS[case]
    assert identity(first()) == identity(first())
    assert identity(first()) != identity(second())


def test_globals_of_the_module_count(monkeypatch):
    before, calling = identity(reads_global), identity(calls)
    monkeypatch.setitem(globals(), "A", 3.0)
    monkeypatch.setitem(globals(), "helper", other_helper)
    assert identity(reads_global) != before
    assert identity(calls) != calling


def test_what_may_change_while_running_does_not_count():
    memory = [1.0]
    f = closing(memory)
    before = identity(f)
    memory[0] = 2.0
    assert identity(f) == before


def test_functions_that_know_themselves_end():
    def f(t):
        return f(t - 1.0) if t > 0.0 else 0.0

    controller = Controller(1.0)
    controller.me, controller.method = controller, controller.torque
    assert len({identity(f), identity(controller), identity(controller.torque)}) == 3


def motor(function):
    model = rtmbs.Model("arm")
    model.add_body("arm", mass=1.0, inertia=(1, 1, 1), center_of_mass=(0, 0, -1))
    model.add_joint("hinge", rtmbs.Revolute((1, 0, 0)), "ground", "arm")
    model.add_force("motor", rtmbs.Motor(function), joint="hinge")
    return model.compile()


def test_a_state_of_one_motor_is_no_state_of_another(tmp_path):
    one, same, other = (Simulation(motor(closing(value)), h=0.01) for value in (2.0, 2.0, 3.0))
    one.step()
    one.state.save(tmp_path / "state")
    same.restore(tmp_path / "state")
    with pytest.raises(StateError, match="other functions of time"):
        other.restore(tmp_path / "state")


def test_drivers_count_too():
    def driven(profile):
        model = rtmbs.Model("arm")
        model.add_body("arm", mass=1.0, inertia=(1, 1, 1))
        model.add_joint("hinge", rtmbs.Revolute((1, 0, 0)), "ground", "arm")
        model.add_driver("drive", profile, joint="hinge")
        return model.compile().fingerprint

    assert driven(rtmbs.Sine(1.0, 2.0)) == driven(rtmbs.Sine(1, 2)) != driven(rtmbs.Sine(1.0, 3.0))


def test_another_process_gives_the_same_identity():
    code = (
        "import tests.system.test_user_functions as m;"
        "print(*(m.identity(make()) for pair in m.PAIRS.values() for make in pair), m.identity(m.calls))"
    )
    root = Path(rtmbs.__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, timeout=LONGEST, check=True
    )
    import tests.system.test_user_functions as here  # under the name it has there

    mine = [here.identity(make()) for pair in here.PAIRS.values() for make in pair]
    assert done.stdout.split() == [*mine, here.identity(here.calls)]


def test_a_function_of_numpy_stays_itself_after_it_was_looked_at():
    before = identity(np.sin)
    inspect.signature(np.sin)  # keeps its answer in the function
    assert identity(np.sin) == before


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
