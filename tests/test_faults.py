"""A failed step, whatever raised in it, leaves the state byte for byte as it was, and the simulation goes on.

Faults are raised at every call and at every line that an accepted step passes through: one accepted step is watched
first, then the same step is taken again for every event, with the fault at that event. Nothing is listed by hand, so
new code on the way of a step is tested by itself.
"""

import ast
import gc
import math
import os
import re
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import rtmbs
from rtmbs import Outcome, PenaltyTrapezoidal, Simulation, errors, library
from rtmbs.errors import InputError, LoopOpenError, NotConvergedError, NotFiniteError, SingularTangentError, StepError
from rtmbs.integrators.contract import StepEquations
from rtmbs.jit import compile_progress
from rtmbs.semirecursive.machine_code import SMALL_PIVOT
from rtmbs.simulation.options import by_name
from rtmbs.simulation.running import retry
from tests.cases import spread
from tests.contracts.machines import accepted_steps, closed_simulation, entry, everything
from tests.contracts.test_steps import carts
from tests.trees import tree_of

PACKAGE = Path(rtmbs.__file__).parent
INSIDE = str(PACKAGE)
H5PY = f"{os.sep}h5py{os.sep}"


class Surprise(Exception):
    """What the user's function may raise."""


FAULTS = (KeyboardInterrupt, MemoryError, Surprise, RecursionError, SystemExit, FloatingPointError)

# ------------------------------------------------------------------------------------------------------ raise anywhere


class Watcher:
    """Counts events from the first call into the package on, and raises at one of them when told to.

    Lines: at every line, entry and return of functions of the package. Calls: at the start and the end of every call,
    of Python and of C functions, made anywhere below. Locks of h5py and of ``threading`` are left out: one that is
    taken before its ``with`` has begun stays taken, and whoever writes, or starts a thread, next waits for ever.
    """

    def __init__(self, kind, at=None, fault=None):
        self.kind, self.at, self.fault = kind, at, fault
        self.count = self.depth = 0

    def event(self):
        self.count += 1
        if self.count - 1 == self.at:
            raise self.fault

    def trace(self, frame, event, arg):
        if not frame.f_code.co_filename.startswith(INSIDE):
            return None
        self.event()
        return self.trace

    def profile(self, frame, event, arg):
        if self.depth == 0 and not frame.f_code.co_filename.startswith(INSIDE):
            return
        self.depth += (event == "call") - (event == "return")
        if event != "c_exception" and not locks(frame, event, arg):
            self.event()

    def __enter__(self):
        self.previous = sys.gettrace(), sys.getprofile()
        if self.kind == "lines":
            sys.settrace(self.trace)
        else:
            sys.setprofile(self.profile)
        return self

    def __exit__(self, *error):
        sys.settrace(self.previous[0])
        sys.setprofile(self.previous[1])


def locks(frame, event, arg):
    """True when h5py or ``threading`` takes or leaves a lock."""
    file = frame.f_code.co_filename
    inside = event.startswith("c_") and (H5PY in file or file == threading.__file__)
    return inside and arg.__name__ in ("__enter__", "__exit__", "acquire", "release")


def events(kind, act):
    """Return how many events ``act`` passes through."""
    with Watcher(kind) as watcher:
        act()
    return watcher.count


def raised_at(kind, at, fault, act):
    """Do ``act`` with ``fault`` raised at one event; return whether it came out again, or as the cause of an error.

    A fault within the end of a compilation leaves its progress open and the collector at rest, for all tests behind it.
    """
    collecting = gc.isenabled()
    try:
        with Watcher(kind, at, fault):
            act()
    except type(fault):
        fault.__traceback__ = None  # or generators on the way would end in the middle of the next step
        return True
    except ValueError as error:  # numpy raises its own from a fault inside np.common_type
        if isinstance(error, errors.RtmbsError) or error.__cause__ is not fault:
            raise
        return True
    finally:
        compile_progress._active.clear()
        if collecting:
            gc.enable()
    return False


def machine(**options):
    """A driven loop with a motor and a wrench that are functions of time, and an input."""
    model = library.build("driven_fourbar")
    model.add_force("motor", rtmbs.Motor(math.sin), joint="rocker_pivot")
    model.add_force(
        "push", rtmbs.Wrench(force=rtmbs.Input((1.0, 2.0, 3.0)), torque=lambda t: (t, 0, 0)), body="coupler"
    )
    sim = Simulation(model.compile(), **by_name(**{"h": 2e-3, **options}))
    accepted_steps(sim, 2)
    return sim


FORMS = {
    "fused": {},
    "readable": {"fused": False},
    "mass metric": {"fused": False, "projection_metric": "mass"},
    "complex step": {"jacobian": "complex-step"},
}


@pytest.mark.parametrize("kind", ["lines", "calls"])
@pytest.mark.parametrize(
    "form",
    spread(
        [
            "fused",
            "readable",
            *(pytest.param(form, marks=pytest.mark.slow) for form in ("mass metric", "complex step", "dense")),
        ],
        1,
    ),
)
def test_a_fault_anywhere_in_a_step_changes_nothing(form, kind, monkeypatch):
    if form == "dense":
        monkeypatch.setattr(
            "rtmbs.semirecursive.compiled_steps.FusedKernel.__call__", lambda *arguments: (SMALL_PIVOT, 0)
        )
    sim = machine(**FORMS.get(form, {}))
    reference = machine(**FORMS.get(form, {}))
    count = events(kind, reference.step)
    assert count > 50
    before, committed = everything(sim), everything(reference)
    late = 0
    for at in range(count):
        assert raised_at(kind, at, FAULTS[at % len(FAULTS)](), sim.step)
        after = everything(sim)
        if after != before:  # the one moment that may be later than the commit: on the way out of the step
            assert after == committed, f"event {at} of {count}"
            late += 1
            sim._store.states = sim._store.states[::-1]
    assert late <= 4, "the commit is the last thing a step does"
    accepted_steps(reference, 3)
    accepted_steps(sim, 4)
    assert everything(sim) == everything(reference)


@pytest.mark.parametrize("fault", FAULTS)
def test_every_kind_of_fault(fault):
    """The whole table of kinds at a few events; the test above takes them in turn."""
    sim = machine()
    count, before = events("lines", machine().step), everything(sim)
    for at in range(0, count - 5, 7):
        assert raised_at("lines", at, fault(), sim.step)
        assert everything(sim) == before


def test_a_fault_between_steps_of_a_run_loses_no_step():
    """An observer that fails: the steps taken so far stand, and the run may be taken up again."""

    class Brittle(rtmbs.Observer):
        def look(self, sim, report):
            if sim.state.k == 5:
                raise Surprise

    sim, reference = machine(), machine()
    with pytest.raises(Surprise):
        sim.run(0.02, observers=[Brittle()])
    assert sim.state.k == 5
    sim.run(0.02)
    reference.run(0.02)
    assert everything(sim) == everything(reference)


# ---------------------------------------------------------------------------------------- numbers that are no numbers


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1e308])
@pytest.mark.parametrize("form", ["fused", "readable"])
def test_a_spoilt_state_is_never_answered_with_success(form, bad):
    """Every entry of every array, spoilt from outside: no converged step holds a number that is not finite."""
    sim = closed_simulation(0, fused=form == "fused", tangent_terms="lagged")
    accepted_steps(sim, 2)
    sound = sim.state.copy()
    for name in ("z", "zd", "zdd", "lam", "alpha", "R0", "u"):
        for place in range(0, entry(sound, name).size, 3):
            entry(sim.state, name).flat[place] = bad
            before = everything(sim)
            report = sim.step()
            if report.outcome.accepted:
                finite = all(np.all(np.isfinite(value)) for value in vars_of(sim.state))
                assert finite, (name, place)
            else:
                assert everything(sim) == before
                assert report.worst
            sim.restore(sound)
    assert sim.step().outcome.accepted


def vars_of(state):
    return state.z, state.zd, state.zdd, state.lam, state.R0


QUESTIONS = [name for name, value in vars(StepEquations).items() if callable(value) and not name.startswith("_")]


SILENT = ("factor", "factor_mass_metric", "commit", "follow_states", "keep_states")  # these answer nothing


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_equations_that_answer_no_number(question, bad, monkeypatch):
    """From any call on, an answer that is not finite ends the step, and names come with the outcome."""
    calls, inner = [0], getattr(rtmbs.simulation.simulation.SemiRecursiveEquations, question)

    def wrong(self, *arguments, **more):
        value = inner(self, *arguments, **more)
        calls[0] += 1
        return value * bad if isinstance(value, np.ndarray | float) and calls[0] >= first else value

    sim = machine(fused=False, projection_metric="mass")
    before = everything(sim)
    monkeypatch.setattr(rtmbs.simulation.simulation.SemiRecursiveEquations, question, wrong)
    first = sys.maxsize
    assert sim.step().outcome.accepted
    sim._store.states = sim._store.states[::-1]
    for turn in range(1, calls[0] + 1):
        calls[0], first = 0, turn
        report = sim.step()
        if question in (
            "factor",
            "factor_mass_metric",
            "commit",
            "follow_states",
            "keep_states",
        ):  # these answer nothing
            assert report.outcome.accepted
            sim._store.states = sim._store.states[::-1]
        else:
            assert report.outcome in (Outcome.NOT_FINITE, Outcome.LOOP_OPEN, Outcome.SINGULAR_TANGENT)
            assert report.worst
        assert everything(sim) == before


# ----------------------------------------------------------------------------------------------- the user's functions

FUNCTIONS = {  # how a function of time is given, and the name it goes by
    "motor": (lambda f: lambda model: model.add_force("law", rtmbs.Motor(f), joint="pivot"), "law.torque"),
    "wrench": (
        lambda f: lambda model: model.add_force("law", rtmbs.Wrench(force=lambda t: (0.0, 0.0, f(t))), body="bob"),
        "law.force",
    ),
    "driver": (lambda f: lambda model: model.add_driver("law", rtmbs.Function(f, f, f), joint="rail"), "law"),
}


def timed(name, f):
    """A pendulum on a rail with one function of time."""
    model = rtmbs.Model("timed")
    model.add_body("cart", mass=1.0)
    model.add_body("bob", mass=1.0, center_of_mass=(0, 0, -1), inertia=(0.1, 0.1, 0.1))
    model.add_joint("rail", rtmbs.Prismatic(axis=(0, 1, 0)), "ground", "cart")
    model.add_joint("pivot", rtmbs.Revolute(axis=(1, 0, 0)), "cart", "bob")
    FUNCTIONS[name][0](f)(model)
    return Simulation(model.compile(), h=1e-2)


class Unreliable:
    """Zero, but for the moments told: then it raises, or returns what it is told to."""

    def __init__(self):
        self.wrong = None

    def __call__(self, t):
        if isinstance(self.wrong, BaseException):
            raise self.wrong
        return 0.0 if self.wrong is None else self.wrong


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_function_that_raises(name, fault):
    """Its own exception comes out, with a note that names it, and the step can be taken again."""
    f, g = Unreliable(), Unreliable()
    sim, reference = timed(name, f), timed(name, g)
    for each in (sim, reference):
        accepted_steps(each, 2)
    before, f.wrong = everything(sim), fault("of the user")
    for act in (sim.step, lambda: sim.run(0.1), lambda: sim.run(0.1, on_failure="halve")):
        with pytest.raises(fault, match="of the user") as caught:
            act()
        assert everything(sim) == before
    if issubclass(fault, Exception):
        assert f"{FUNCTIONS[name][1]!r} at t = 0.03 s" in caught.value.__notes__[0]
    f.wrong = None
    accepted_steps(sim, 2)
    accepted_steps(reference, 2)
    assert everything(sim) == everything(reference)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_function_that_returns_no_number(name, bad):
    f = Unreliable()
    sim = timed(name, f)
    accepted_steps(sim, 2)
    before, f.wrong = everything(sim), bad
    report = sim.step()
    assert report.outcome is Outcome.NOT_FINITE
    assert report.worst == (FUNCTIONS[name][1],)
    assert everything(sim) == before
    with pytest.raises(NotFiniteError, match=FUNCTIONS[name][1]) as caught:
        sim.run(0.1)
    assert caught.value.step == 3
    assert caught.value.t == pytest.approx(0.03)
    assert caught.value.worst == (FUNCTIONS[name][1],)
    assert everything(sim) == before
    f.wrong = None
    assert sim.step().outcome.accepted


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("bad", [(1.0, 2.0), "fast", object()])
def test_a_function_that_returns_something_else(name, bad):
    f = Unreliable()
    sim = timed(name, f)
    before, f.wrong = everything(sim), bad
    with pytest.raises((TypeError, ValueError)) as caught:
        sim.step()
    assert FUNCTIONS[name][1] in " ".join(caught.value.__notes__)
    assert everything(sim) == before


def test_a_function_of_too_few_numbers():
    """Three numbers at t = 0, one number later: not spread over the three."""
    values = [(1.0, 0.0, 0.0), 5.0]
    model = library.build("pendulum")
    model.add_force("gust", rtmbs.Wrench(force=lambda t: values[t > 0.0]), body="bob")
    sim = Simulation(model.compile(), h=1e-2)
    before = everything(sim)
    with pytest.raises(InputError, match=r"'gust.force' returned 5.0; it must return 3 numbers"):
        sim.step()
    assert everything(sim) == before


# ------------------------------------------------------------------------------------------------ outcomes and errors


def stubborn(**options):
    """A crank-rocker with a step far too large for it."""
    return Simulation(library.build("crank_rocker").compile(), **by_name(**{"h": 0.3, "max_iterations": 6, **options}))


def slack(**options):
    """A crank-rocker whose loop is held by next to nothing."""
    return Simulation(library.build("crank_rocker").compile(), **by_name(**{"h": 5e-3, "alpha": 30.0, **options}))


def singular(**options):
    """Carts on a rail, pushed off by just what makes the matrix singular."""
    sim = carts()
    sim.inputs["band.stiffness"] = 0.0
    sim.inputs["left push.stiffness"] = sim.inputs["right push.stiffness"] = -16.0
    return sim


def not_finite(**options):
    """A crank-rocker with a motor beyond all numbers."""
    model = library.build("crank_rocker")
    model.add_force("motor", rtmbs.Motor(rtmbs.Input()), joint="crank_pivot")
    sim = Simulation(model.compile(), **by_name(**{"h": 2e-3, **options}))
    sim.inputs["motor.torque"] = 1e308
    return sim


ENDINGS = {
    "not converged": (stubborn, NotConvergedError, Outcome.NOT_CONVERGED, 3),
    "loop open": (slack, LoopOpenError, Outcome.LOOP_OPEN, None),
    "singular": (singular, SingularTangentError, Outcome.SINGULAR_TANGENT, 0),
    "not finite": (not_finite, NotFiniteError, Outcome.NOT_FINITE, None),
}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("form", [{}, {"fused": False}], ids=["fused", "readable"])
def test_run_raises_the_matching_error(ending, form):
    """Step, time, history and names, all of the step that failed; the state is that before it."""
    make, kind, outcome, iterations = ENDINGS[ending]
    sim = make(**form)
    taken = 0
    while taken < 200 and (report := sim.step()).outcome.accepted:
        taken += 1
    assert report.outcome is outcome
    assert iterations in (None, report.iterations)
    before = everything(sim)
    with pytest.raises(kind) as caught:
        sim.run(sim.t + 3 * sim.h, on_failure="raise")
    error = caught.value
    assert isinstance(error, StepError)
    assert (error.step, error.t) == (taken + 1, report.t)
    assert error.residuals == report.corrections
    assert error.worst == report.worst
    names = {*sim.system.coordinate_names, *sim.system.row_names, *sim.system.closure_names, *sim.system.inputs}
    assert error.worst
    assert set(error.worst) <= names
    assert error.reason == report.reason
    for words in (f"step {taken + 1} to t = {report.t:g} s", outcome.value, error.reason, *error.worst):
        assert words in str(error)
    assert all(f"{size:.2e}" in str(error) for size in error.residuals)
    assert everything(sim) == before


def test_every_outcome_has_an_error_and_a_sentence():
    from rtmbs.simulation.running import FAILURES

    assert {*FAILURES, *(outcome for outcome in Outcome if outcome.accepted)} == set(Outcome)
    elsewhere = {Outcome.HALF_TURN, Outcome.UNSOLVED}  # tests/simulation/test_step_checks.py, tests/dae
    assert {outcome for _, _, outcome, _ in ENDINGS.values()} == set(FAILURES) - elsewhere
    kinds = [kind for kind in vars(errors).values() if kind is StepError or kind in StepError.__subclasses__()]
    assert set(FAILURES.values()) == set(kinds)
    assert all(len(outcome.value) > 15 for outcome in Outcome)
    assert {outcome for outcome in Outcome if outcome.accepted} == set(Outcome) - set(FAILURES)


# ------------------------------------------------------------------------------------------------------------ halving


def test_halving_gets_over_a_step_that_is_too_large():
    sim, fine = stubborn(), stubborn(h=0.3 / 2, max_iterations=8)
    assert not stubborn().step().outcome.accepted
    result = sim.run(0.3, on_failure="halve")
    accepted_steps(fine, 2)
    assert (sim.t, sim.h, len(result)) == (0.3, 0.3, 2)
    np.testing.assert_allclose(sim.state.z, fine.state.z, atol=1e-6)


@pytest.mark.parametrize("at_most", [0, 1, 2, 3])
def test_halving_is_bounded_and_leaves_nothing_behind(at_most, monkeypatch):
    """Always failing: 1 step, then one failed attempt a halving, then the error; state, h and penalties as before."""
    sim = machine()
    before, tried = everything(sim), []
    step = Simulation.step
    monkeypatch.setattr(PenaltyTrapezoidal, "takes_many", lambda self, equations: False)

    def failing(self):
        report = step(self)
        tried.append(self.h)
        if report.outcome.accepted:
            self._store.back_to((self._store.states[::-1], {}, None))
        return type(report)(outcome=Outcome.NOT_CONVERGED, t=report.t, worst=("pin.angle",))

    monkeypatch.setattr(Simulation, "step", failing)
    with pytest.raises(NotConvergedError):
        sim.run(0.02, on_failure="halve", at_most=at_most)
    assert tried == [2e-3 / 2**k for k in range(at_most + 1)]
    monkeypatch.undo()
    assert everything(sim) == before
    reference = machine()
    accepted_steps(sim, 3)
    accepted_steps(reference, 3)
    assert everything(sim) == everything(reference)


def test_the_last_of_the_parts_may_fail_too(monkeypatch):
    """Three of four parts taken, the fourth fails: all four are taken back."""
    sim, step, tried = machine(), Simulation.step, []

    def failing(self):
        tried.append(self.h)
        report = step(self)
        if len(tried) in (1, 2, 6):
            self._store.states = self._store.states[::-1]
            return type(report)(outcome=Outcome.LOOP_OPEN, t=report.t)
        return report

    before = everything(sim)
    monkeypatch.setattr(PenaltyTrapezoidal, "takes_many", lambda self, equations: False)
    monkeypatch.setattr(Simulation, "step", failing)
    with pytest.raises(LoopOpenError):
        sim.run(0.006, on_failure="halve", at_most=2)
    assert tried == [2e-3, 1e-3, 5e-4, 5e-4, 5e-4, 5e-4]
    assert everything(sim) == before


@pytest.mark.parametrize("kind", ["lines", "calls"])
def test_a_fault_anywhere_in_halving_changes_nothing(kind):
    """Half a step is no step: whatever raises between the parts, the state is that before the whole."""
    sim, reference = stubborn(), stubborn()
    report, _ = sim.step(), reference.step()  # the first step of a Simulation listens for compilations
    before, start = everything(sim), sim.state.copy()
    count = events(kind, lambda: retry(reference, report, "halve", 6))
    after = everything(reference)
    whole = 0
    for at in range(0, count, 7 if kind == "calls" else 3):
        raised = raised_at(kind, at, FAULTS[at % len(FAULTS)](), lambda: retry(sim, report, "halve", 6))
        if everything(sim) == after:  # on the way out, or a little sooner than the watched retry
            whole += 1
            sim.restore(start)
        else:
            assert raised
        assert everything(sim) == before, f"event {at} of {count}"
    assert whole <= 20  # the watched one checks arrays that the other knows by now


def test_inputs_survive_halving():
    model = library.build("crank_rocker")
    model.add_force("push", rtmbs.Wrench(force=rtmbs.Input((0.0, 0.0, 0.0))), body="coupler")
    sim = Simulation(model.compile(), h=0.3, method=PenaltyTrapezoidal(max_iterations=6))
    sim.inputs["push.force"] = (0.1, 0.2, 0.3)
    sim.run(0.3, on_failure="halve")
    np.testing.assert_array_equal(sim.inputs["push.force"], (0.1, 0.2, 0.3))


# ------------------------------------------------------------------------------------------------------------- bounds

# Why each `while` of the package ends.
BOUNDED = {
    "simulation/observers/recorder.py: with_some": "every turn halves the samples, and these are finite",
    "simulation/passing.py: bound": "every turn goes one dof up in a tree of dofs",
    "ad/derivative_tapes.py: sparing": "every turn has twice the room, and vertices are finite",
    "ad/vertex_elimination.py: leaves_no_more": "every turn goes one edge on in those of a vertex",
    "studies/sensitivities/saddles.py: passes": "every turn is a pass, at most MOST_PASSES of them",
    "studies/sensitivities/saddles.py: factor_lu": "along a row",
    "semirecursive/near_pairs.py: order_partners": "every turn goes one pair back in those of one ball",
    "semirecursive/near_pairs.py: keep_pairs": "every turn goes one pair on in those that stand in the inputs",
    "batch/batch.py: _advance": "every turn takes a step of a copy, ends one, or solves for its accelerations once",
    "batch/batch.py: read": "every turn reads one copy at least, and copies are finite",
    "viewer/web/live.py: first_frame": "every turn sleeps, and ends with the session or after a minute",
    "dae/newton.py: may_bend": "every turn goes one wrapper in, to the system that it wraps",
    "dae/solve_ivp.py: step_dop853": "every turn shortens the step by a tenth, down to ten spacings of t",
    "formats/assembly.py: free_name": "every turn doubles a number or halves a range, and names are finite",
    "formats/assembly.py: place_neighbours": "every turn takes a link from a queue that each enters once",
    "formats/sdf.py: cut_loops": "every turn goes one link up in a tree of links",
    "formats/sdf.py: root": "every turn goes one link up in a tree of links",
    "formats/urdf_writer.py: tree_of": "every turn takes a body from a queue that each enters once",
    "formats/xml_tree.py: walk": "every turn takes an element from a list that each enters once",
    "export/bridge.py: serve": "a tick every period, up to the number of ticks; without one the user ends the bridge",
    "export/bridge.py: serve_in_lockstep": "a tick a packet, up to the number of ticks; without one the user ends it",
    "forces/bushings.py: curve_values": "the span between two knots is halved until it is one",
    "formulations/reference_point.py: new_name": "every turn makes the name longer than the last, and names are finite",
    "library/benchmarks.py: continued": "every turn takes a microsecond at least towards the time",
    "kinematics/continuation.py: fill": "every turn fills a row or ends",
    "errors.py: warn": "up the frames of the call",
    "ad/trace.py: place_of_condition": "up the frames of the call",
    "system/recorded_laws.py: error_location": "up the frames of an exception",
    "simulation/access.py: is_inside": "up the frames of the call",
    "results/tables.py: check_column": "every turn takes a page, and pages have bytes",
    "results/tables.py: struct": "every turn takes a byte at least",
    "results/tables.py: unsigned": "every turn takes a byte",
    "model/mesh.py: chunks": "every turn takes a head of eight bytes at least",
    "simulation/set_coordinate.py: __init__": "every turn goes up a tree, which has a root",
    "simulation/controlled.py: go_to": "StepBound ends a run of too many steps",
    "simulation/extrapolated_run.py: go_to": "StepBound ends a run of too many steps",
    "simulation/events.py: act": "an event happens AGAIN times at one instant at most",
    "simulation/events.py: look": "every turn takes a zero off the list",
    "simulation/controlled.py: run_with_tolerance": "MOST_AGAIN",
    "simulation/events.py: zeros_within": "looks double until they are MOST",
    "model/mesh.py: placed": "every turn takes a node off the list, and nodes are bounded in number",
    "numerics/linear/rank.py: weak_columns": "probes double until they are as many as the columns",
    "formulations/recursive.py: tree_of": "every turn goes one system inwards",
    "viewer/scene/drawing.py: smooth_normals": "every turn goes one corner further in the order, and orders end",
    "recursive/reduced_system.py: group_unknowns": "no loop of its own: that of find",
    "recursive/reduced_system.py: find": "every turn goes up a tree, which has a root",
    "recursive/partition.py: divided": "every turn divides a part, or sets one aside that cannot be",
    "recursive/partition.py: spanning": "every turn but the last reaches a body",
    "recursive/recursion.py: answer": "every turn keeps one more coordinate, and coordinates are finite in number",
    "recursive/partition.py: branches_of": "no loop of its own: that of find",
    "recursive/partition.py: find": "every turn goes up a tree, which has a root",
    "recursive/partition.py: trunk_of": "every turn goes down the tree",
    "recursive/partition.py: coupling_force": "no loop of its own: that of branch",
    "recursive/partition.py: branch": "every turn goes up a tree, which has a root",
    "recursive/part_kernels.py: march_part": "every thread counts once a stage, and none leaves before the others",
    "semirecursive/compiled_steps.py: __call__": "every turn takes a row, and rows are finite in number",
    "jit/compile_progress.py: monitor": "every worker says once that it ended, killed or not; Ctrl+C and STOP end all",
    "jit/native_code.py: kernels_module": "every turn links a slot, and kernels call finitely many others",
    "jit/prebuilt_code.py: prebuilt_module": "every turn links a slot, and kernels call finitely many others",
    "jit/lazy_kernel.py: compile_all": "every turn fills a slot or raises, and kernels call finitely many others",
    "results/hdf5_check.py: superblock_checksum": "every turn takes twelve bytes off",
    "simulation/observers/observer.py: serve": "the thread of a record: it ends with the record or the process",
    "simulation/observers/observer.py: wait": "every job is done; that of a dead thread is done here",
    "simulation/impulses.py: along_tree": "every turn goes up a tree, which has a root",
    "simulation/jumps.py: located": "the interval is halved until its edge, in 30 turns",
    "simulation/running.py: in_parts": "every turn takes a part or ends",
    "simulation/controlled.py: due": "every turn passes one of the times",
    "simulation/running.py: run": "every turn takes a step or raises",
    "simulation/running.py: show": "every turn serves an observer or raises",
    "simulation/running.py: shown_to_all": "no loop of its own: that of show",
    "jit/intrinsics.py: seconds_per_tick": "2 ms of wall time",
    "simulation/pacing.py: _wait_until": "the deadline passes",
    "numerics/linear/sparse_lu.py: eliminate": "p grows by the pivots taken, up to the width",
    "numerics/linear/sparse_lu.py: subtract_products": "p grows by one at least, up to the pivots",
    "numerics/linear/symbolic.py: elimination_tree": "up a tree",
    "numerics/linear/sparse_lu.py: solve_refined": "MAX_REFINEMENTS",
    "numerics/linear/symbolic.py: group_time": "the width shrinks",
    "numerics/linear/symbolic.py: heir_first": "every group is pushed once",
    "system/pattern.py: branches": "every turn goes up a tree, which has a root",
    "system/topology.py: mean_loop": "every turn goes up a tree, which has a root",
    "system/topology.py: clusters": "every turn joins neighbouring groups, which are finite in number",
    "system/topology.py: balls": "every turn takes a group off the list, and a ball is grown once from each",
    "system/topology.py: path": "up a tree",
    "system/topology.py: traverse": "every joint is reached once from each body",
    "system/topology.py: grow": "every joint is pushed once from each body",
    "system/topology.py: find": "up a forest",
    "studies/sweeps/engines.py: make_all_runs": "every turn makes a run at least, or raises",
    "studies/sweeps/engines.py: run_on_all_workers": "every turn sends a chunk or waits for one of finitely many",
    "studies/sweeps/engines.py: run_one_by_one": "every turn takes a run off the list, or raises",
    "viewer/session/origin.py: free_name": "files of one second",
    "viewer/session/mouse_spring.py: pulled_mass": "up a tree",
    "viewer/qt/capture.py: _write": "until the recording is stopped",
    "viewer/session/plotted.py: read": "every turn reads a batch of the states, which are finite in number",
    "viewer/film.py: stepped_frames": "up to the time of a picture, or to a step that fails",
    "viewer/session/disk_history.py: _make_room": "the oldest block goes, up to the newest",
    "viewer/session/disk_history.py: _states": "the block that was read first goes",
    "viewer/session/history.py: _discard_later": "what comes after the present goes",
    "viewer/session/history.py: _forget": "the oldest goes",
    "viewer/session/history.py: _load": "every turn reads the next block, up to the last one on disk",
    "viewer/session/worker.py: should_step": "commands that have come",
    "viewer/session/process_connection.py: _send": "until the process ends",
    "viewer/session/process_connection.py: _read": "messages that have come, until the pipe is empty",
    "viewer/session/process_connection.py: describe": "until the worker speaks or its process ends",
    "viewer/session/process_connection.py: present": "the oldest goes",
    "viewer/session/connection.py: messages": "messages that have come",
    "viewer/session/snapshot.py: mark": "the oldest mark goes",
    "viewer/session/worker.py: _receive": "LIMIT",
    "viewer/session/worker.py: _serve": "until Quit: a session has no end of its own",
    "viewer/session/worker.py: turn": "commands that have come",
    "system/law_tables.py: path_to": "up a tree",
    "ad/builder.py: emit_power": "the exponent is halved",
    "ad/builder.py: find": "the table always has a free place",
    "ad/numpy_rules.py: folded": "the elements are halved",
    "ad/vertex_elimination.py: eliminate_vertex": "along lists of edges",
    "ad/vertex_elimination.py: find_edge": "the table always has a free place",
    "ad/numpy_rules.py: einsum": "a repeated letter is taken out",
    "ad/derivative_tapes.py: eliminated": "every turn has twice the room, and vertices left are fewer",
    "ad/derivative_tapes.py: settled": "every turn has twice the room",
    "ad/derivative_tapes.py: write_sums": "along a list of products",
    "ad/derivative_tapes.py: written": "every turn has twice the room",
    "ad/program.py: find_order": "an instruction is taken once",
    "ad/program.py: longest": "down a chain of instructions",
    "ad/program.py: write_products": "down a tree of sums",
    "ad/vertex_elimination.py: eliminate_greedily": "the heap shrinks",
    "ad/vertex_elimination.py: shift": "up or down a heap",
    "ad/tape.py: rebuilt": "every turn has twice the room",
    "language/expressions.py: written": "every instruction is written once",
}


LOOPS = re.compile(r"^\s*while\b|\bitertools\b", re.MULTILINE)


def loops():
    """Yield file and function of every `while`, and of every `for` over something without an end."""
    for path in PACKAGE.rglob("*.py"):
        if not LOOPS.search(path.read_text(encoding="utf-8")):
            continue  # most files have none of the words
        for function in ast.walk(tree_of(path)):
            if not isinstance(function, ast.FunctionDef):
                continue
            for node in ast.walk(function):
                if isinstance(node, ast.While) or (isinstance(node, ast.Call) and endless(node.func)):
                    yield f"{path.relative_to(PACKAGE).as_posix()}: {function.name}"


def endless(called):
    """Return whether a call makes an iterator without an end."""
    match called:
        case ast.Name(id="count" | "cycle"):
            return True
        case ast.Attribute(value=ast.Name(id="itertools"), attr="count" | "cycle"):
            return True
    return False


def test_no_loop_without_a_bound():
    """A new `while` is refused until somebody writes down why it ends."""
    found = set(loops())
    assert found - BOUNDED.keys() == set()
    assert BOUNDED.keys() - found == set()
