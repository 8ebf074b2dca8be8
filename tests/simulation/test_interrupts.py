"""A run that ends early keeps what it has, and changes between steps happen as a whole or not at all.

Faults are raised at every event of a run, of ``change`` and of ``attach``, as in ``test_faults.py``.
"""

import copy
import functools
from contextlib import suppress

import numpy as np
import pytest

import rtmbs
from rtmbs import PenaltyTrapezoidal, Recorder, Simulation, library
from rtmbs.errors import NotConvergedError
from rtmbs.library.force_laws import point_spring
from rtmbs.simulation.options import by_name
from rtmbs.simulation.running import in_parts
from tests.cases import spread
from tests.contracts.machines import accepted_steps, everything, library_simulation
from tests.simulation.test_running import ByHand
from tests.test_faults import FAULTS, Surprise, Watcher, events, raised_at, stubborn

T = 0.012


def machine(**options):
    """A crank-rocker that has taken a step, so that its kernel is loaded; one that was started before and copied."""
    return copy.copy(started(**options))


@functools.cache
def started(**options):
    """The one that is copied: to start one takes thirty times as long."""
    sim = Simulation(library.build("crank_rocker").compile(), **by_name(**{"h": 2e-3, **options}))
    accepted_steps(sim, 1)
    return sim


def same_state(sim, samples, k):
    """Return whether sample ``k`` of a record is the state that counts, byte for byte."""
    names = ("z", "zd", "zdd", "lam", "R0", "u")
    return sim.t == samples.t[k] and all(
        getattr(samples, name)[k].tobytes() == getattr(sim.state, name).tobytes() for name in names
    )


# ------------------------------------------------------------------------------------------------------- what is kept


def test_a_step_that_fails_for_good_carries_the_result_so_far():
    sim = Simulation(
        library.build("crank_rocker", rate=40.0).compile(), h=2e-2, method=PenaltyTrapezoidal(max_iterations=5, tries=0)
    )
    with pytest.raises(NotConvergedError) as caught:
        sim.run(10.0, on_failure="raise")
    result = caught.value.result
    assert len(result) == caught.value.step > 1
    assert result.t[-1] == sim.t
    assert result["crank_pivot.angle"].shape == result.t.shape
    assert sum(result.outcomes.values()) == caught.value.step - 1


@pytest.mark.parametrize("observers", [list, lambda: [ByHand()]], ids=["rows", "single"])
@pytest.mark.parametrize("kind", ["lines", pytest.param("calls", marks=pytest.mark.slow)])
def test_a_fault_anywhere_in_a_run_leaves_no_hole(kind, observers, monkeypatch):
    """The result that comes with the fault ends at the state that counts, and another run goes on from there."""
    monkeypatch.setattr("rtmbs.semirecursive.compiled_steps.LONGEST_CALL", 0.0)  # a call of the kernel takes one step
    reference, watched = machine(), machine()
    whole = reference.run(T)
    count, short = events(kind, lambda: watched.run(T, observers=observers())), 0
    for at in range(0, count, max(count // 150, 1)):
        sim, fault = machine(), FAULTS[at % len(FAULTS)]()
        if not raised_at(kind, at, fault, lambda sim=sim: sim.run(T, observers=observers())):
            continue
        first = getattr(fault, "result", None)
        if first is None:  # before the first sample, or behind the last step
            assert sim.state.k in (1, 6)
            continue
        assert first.t[-1] == sim.t, f"event {at} of {count}"
        assert sum(first.outcomes.values()) == len(first) - 1
        short += len(first) < len(whole)
        if sim.t < T:
            second = sim.run(T)
            together = np.concatenate((first["crank_pivot.angle"], second["crank_pivot.angle"][1:]))
            assert together.tobytes() == whole["crank_pivot.angle"].tobytes()
        assert everything(sim) == everything(reference)
    assert short > 10


def test_the_observers_behind_the_one_that_fails_see_the_step():
    class Brittle(rtmbs.Observer):
        def look(self, sim, report):
            if sim.state.k == 4:
                raise Surprise

    sim, before, after = machine(), Recorder(), Recorder()
    with pytest.raises(Surprise) as caught:
        sim.run(T, observers=[before, Brittle(), after])
    for recorder in (before, after):
        assert recorder.count == 4
        assert same_state(sim, recorder.samples, -1)
    assert len(caught.value.result) == 4


# ------------------------------------------------------------------------------------------------------- two in a row


class Twice(Watcher):
    """Raises at one event, and again some events later, on the way out."""

    def __init__(self, kind, at, again, fault):
        super().__init__(kind, at, fault)
        self.again = again

    def event(self):
        self.count += 1
        if self.count - 1 in (self.at, self.at + self.again):
            raise KeyboardInterrupt


@pytest.mark.parametrize("again", spread([1, 2, 3, 5, 9, 20], 2))
def test_two_interrupts_while_a_step_is_halved_keep_no_half_step(again):
    sim, reference = stubborn(tries=0), stubborn(tries=0)
    report, _ = sim.step(), reference.step()
    before, start = everything(sim), sim.state.copy()
    count = events("lines", lambda: in_parts(reference, report, 6))
    after = everything(reference)
    for at in range(0, count, 5):
        with suppress(KeyboardInterrupt), Twice("lines", at, again, KeyboardInterrupt()):
            in_parts(sim, report, 6)
        assert everything(sim) in (before, after), f"events {at} and {at + again} of {count}"
        sim.restore(start)


# ------------------------------------------------------------------------------------------------- changes as a whole


def pulled():
    """A pendulum with a hand on it."""
    model = library.build("crank_rocker")
    body = next(name for name in model.bodies if name != "ground")
    values = {"target": (0.1, 0.2, 0.3), "stiffness": 50.0, "limit": 20.0, "damping": 1.0}
    model.add_force("hand", point_spring, body=body, parameters=values)
    sim = Simulation(model.compile(), h=2e-3)
    accepted_steps(sim, 2)
    return sim, [name for name in model.bodies if name != "ground"]


CHANGES = {
    "penalty": lambda sim: sim.change(penalty=1e4),
    "alpha": lambda sim: sim.change(alpha=1e8),
    "source": lambda sim: sim.change(jacobian="complex-step", max_iterations=5),
    "terms": lambda sim: sim.change(tangent_terms="lagged", tol=1e-6),
    "step": lambda sim: setattr(sim, "h", 1e-3),
}


def held(sim):
    """Return all that a change may touch, as something that can be compared."""
    settings = {name: np.asarray(value).tobytes() for name, value in sim._store.work.settings._asdict().items()}
    forces = {name: (force.a, force.b) for name, force in sim.system.forces.items()}
    source = type(sim.equations.source).__name__
    return (
        everything(sim),
        sim._store.options,
        settings,
        source,
        forces,
        sim.equations.source is not None or sim.equations.own_steps.equations is sim.equations,
    )


@pytest.mark.parametrize("kind", ["lines", "calls"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_fault_anywhere_in_a_change_leaves_all_or_nothing(change, kind):
    act, sim, reference = CHANGES[change], machine(), machine()
    before = held(sim)
    count = events(kind, lambda: act(reference))
    after, changed = held(reference), 0
    for at in range(0, count, max(count // 120, 1)):
        trial = machine() if changed and held(sim) != before else sim
        raised_at(kind, at, FAULTS[at % len(FAULTS)](), lambda trial=trial: act(trial))
        found = held(trial)
        assert found in (before, after), f"event {at} of {count}"
        if found == after:
            changed, sim = changed + 1, machine()
    assert changed < count / 2


@pytest.mark.parametrize("kind", ["lines", "calls"])
def test_a_fault_anywhere_in_an_attachment_leaves_all_or_nothing(kind):
    sim, bodies = pulled()
    reference, _ = pulled()
    before = held(sim)
    count = events(kind, lambda: reference.attach("hand", bodies[-1], (0.0, 0.1, 0.0)))
    after = held(reference)
    assert before != after
    for at in range(0, count, max(count // 120, 1)):
        raised_at(
            kind,
            at,
            FAULTS[at % len(FAULTS)](),
            lambda sim=sim: sim.attach("hand", bodies[-1], np.array((0.0, 0.1, 0.0))),
        )
        found = held(sim)
        assert found in (before, after), f"event {at} of {count}"
        if found == after:
            sim, _ = pulled()
    accepted_steps(sim, 2)


def test_a_twin_steps_by_itself():
    sim = library_simulation("crank_rocker")
    before, settings = everything(sim), sim._store.work.settings
    twin = sim._twin()
    twin.h = 1e-3
    accepted_steps(twin, 4)
    assert everything(sim) == before
    assert sim._store.work.settings is settings
    assert copy.copy(sim).h == sim.h
    sim._store.take_over(twin._store)
    assert (sim.t, sim.h) == (twin.t, settings.h)
