"""A second thread is refused while one is inside a Simulation; functions of the user may do what they are there for."""

import re
import threading

import numpy as np
import pytest

import rtmbs
from rtmbs import Simulation, library
from rtmbs.errors import BusyError
from rtmbs.simulation.observers.observer import Observer
from tests.contracts.machines import everything
from tests.patience import LONGEST


class Waiting(Observer):
    """Stops a run in its middle until the test lets it go on, and touches the simulation from its own thread."""

    def __init__(self) -> None:
        super().__init__()
        self.inside, self.go_on = threading.Event(), threading.Event()

    def look(self, sim, report) -> None:
        self.inside.set()
        assert self.go_on.wait(LONGEST)
        assert sim["coupler.position"].shape == (3,)  # its own thread may look


@pytest.fixture
def running():
    """A simulation that another thread holds in the middle of a run; reference: the same run undisturbed."""
    sim, reference, observer = (*(Simulation(library.build("crank_rocker").compile(), h=2e-3) for _ in "ab"), Waiting())
    reference.run(0.02)
    thread = threading.Thread(target=lambda: sim.run(0.02, observers=[observer]))
    thread.start()
    assert observer.inside.wait(LONGEST)
    yield sim
    observer.go_on.set()
    thread.join(LONGEST)
    assert everything(sim) == everything(reference)


def set_h(sim):
    sim.h = 1e-3


def set_input(sim):
    sim.inputs["gravity"] = (0.0, 1.0, 0.0)


STATE = Simulation(library.build("crank_rocker").compile(), h=2e-3).state
ACTS = {
    "step": lambda sim: sim.step(),
    "run": lambda sim: sim.run(sim.t + sim.h),
    "restore": lambda sim: sim.restore(STATE),
    "change": lambda sim: sim.change(max_iterations=4),
    "h =": set_h,
    "inputs[...] =": set_input,
    "reaction": lambda sim: sim.reaction("coupler_pin"),
    "attach": lambda sim: sim.attach("x", "y"),
}


@pytest.mark.parametrize("act", ACTS)
def test_a_second_thread_is_refused_and_changes_nothing(running, act):
    with pytest.raises(
        BusyError, match=f"Simulation.{re.escape(act)}: another thread is stepping it; let one thread hold"
    ):
        ACTS[act](running)


def test_threads_may_take_turns():
    sim, reference = (Simulation(library.build("crank_rocker").compile(), h=2e-3) for _ in "ab")
    for _ in range(5):
        thread = threading.Thread(target=sim.step)
        thread.start()
        thread.join()
        sim.step()
    reference.run(0.02)
    assert everything(sim) == everything(reference)


@pytest.mark.parametrize("fault", [KeyboardInterrupt, ZeroDivisionError])
def test_whatever_ends_a_step_lets_the_next_thread_in(fault):
    model = rtmbs.Model("arm")
    model.add_body("arm", mass=1.0, inertia=(1, 1, 1), center_of_mass=(0, 0, -1))
    model.add_joint("hinge", rtmbs.Revolute((1, 0, 0)), "ground", "arm")

    def torque(t):
        if 0.0 < t < 0.015 and threading.current_thread() is threading.main_thread():
            raise fault
        return 0.0

    model.add_force("motor", rtmbs.Motor(torque), joint="hinge")
    sim = Simulation(model.compile(), h=0.01)
    with pytest.raises(fault):
        sim.step()
    thread = threading.Thread(target=sim.step)
    thread.start()
    thread.join()
    assert sim.state.k == 1


def test_many_threads_at_once_take_whole_steps_or_none():
    """Steps that were taken are those of one thread, whoever took them."""
    sim, reference = (Simulation(library.build("crank_rocker").compile(), h=2e-3) for _ in "ab")
    refused, odd = [], []

    def act():
        for _ in range(300):
            try:
                sim.step()
            except BusyError:
                refused.append(1)
            except Exception as error:  # noqa: BLE001
                odd.append(error)

    threads = [threading.Thread(target=act) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not odd
    assert sim.state.k == 1200 - len(refused)
    for _ in range(sim.state.k):
        reference.step()
    np.testing.assert_array_equal(sim.state.z, reference.state.z)
