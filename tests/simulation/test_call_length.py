"""Kernel calls end after a while, so that Ctrl+C is heard; where they end changes no byte of a run."""

import math

import numpy as np
import pytest

import rtmbs
from rtmbs import TRBDF2, Batch, Every, PenaltyTrapezoidal, Simulation, VariationalMidpoint, library, refined
from rtmbs.library.linkages import add_bar
from tests.cases import quick
from tests.contracts.machines import beside, everything
from tests.simulation.test_extrapolated_run import two_springs

KERNELS = ("steps", "calls")  # files that bound their calls
WHOLE, SHORT = 1e3, 0.0  # [s] a call takes all of its steps, and one
H, T = 1e-3, 0.05
METHODS = PenaltyTrapezoidal, TRBDF2, VariationalMidpoint
WITH_TOLERANCE = PenaltyTrapezoidal, VariationalMidpoint


@pytest.fixture
def bounded(monkeypatch):
    """Return a function that calls ``act`` with both bounds of kernel calls, and returns the answers."""

    def answers(act):
        found = []
        for longest in (WHOLE, SHORT):
            for kernel in KERNELS:
                monkeypatch.setattr(f"rtmbs.semirecursive.compiled_{kernel}.LONGEST_CALL", longest)
            monkeypatch.setattr("rtmbs.batch.copies.LONGEST_CALL", longest)
            found.append(act())
        return found

    return answers


def recorded(result):
    """Return the bytes of all channels but the times of phases, of the log of steps, and what a result tells."""
    values = {name: result[name].tobytes() for name in result.names() if not name.startswith("solver")}
    if hasattr(result, "steps"):
        values |= {name: column.tobytes() for name, column in result.steps._asdict().items()}
    return values, dict(result.warnings), dict(result.outcomes)


def motor(torque):
    """Return a crank-rocker with a motor."""
    model = library.build("crank_rocker")
    model.add_force("motor", rtmbs.Motor(torque), joint=next(iter(model.joints)))
    return model.compile()


@pytest.fixture(scope="module")
def systems():
    """Return mechanisms by name: loops, springs, rotations, a driver, kinks, and inputs of all kinds."""
    names = "crank_rocker", "governor", "bricard", "top", "pendulum", "driven_fourbar"
    jumping = motor(lambda t: 0.3 * math.sin(50.0 * t) if t < 0.0333 else -0.4)
    given = {"input": motor(rtmbs.Input(0.0)), "function": motor(lambda t: 0.4 * math.sin(50.0 * t))}
    return {name: library.build(name).compile() for name in names} | given | {
        "jump": jumping, "kink": two_springs().system
    }  # fmt: skip


SCENES = quick(
    ("crank_rocker", "governor", "bricard", "top", "pendulum", "driven_fourbar", "input", "function", "jump", "kink"),
    "crank_rocker", "top", "driven_fourbar", "input", "jump", "kink",
)  # fmt: skip


def ran(system, method, ramped=False, **options):
    """Return the contents of a Simulation behind its run, and its result."""
    sim = Simulation(system, h=H, method=method())
    if "motor.torque" in sim.inputs and not system.signals:
        if ramped:
            sim.inputs.ramp("motor.torque")
        sim.inputs["motor.torque"] = 0.4
    result = sim.run(T, **options)
    return everything(sim), recorded(result)


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("method", WITH_TOLERANCE)
@pytest.mark.parametrize("tolerance", [1e-4, 1e-7])
@pytest.mark.parametrize("record", [None, Every(0.013)], ids=["steps", "times"])
def test_a_run_with_a_tolerance(systems, bounded, name, method, tolerance, record):
    whole, short = bounded(lambda: ran(systems[name], method, tolerance=tolerance, record=record))
    assert whole == short


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("record", [None, Every(0.013)], ids=["steps", "times"])
def test_a_run_of_equal_steps(systems, bounded, name, method, record):
    whole, short = bounded(lambda: ran(systems[name], method, record=record))
    assert whole == short


@pytest.mark.parametrize(
    ("method", "tolerance"), [(PenaltyTrapezoidal, None), (PenaltyTrapezoidal, 1e-5), (TRBDF2, None)]
)
def test_a_ramped_input(systems, bounded, method, tolerance):
    whole, short = bounded(lambda: ran(systems["input"], method, ramped=True, tolerance=tolerance))
    assert whole == short


@pytest.mark.parametrize("method", WITH_TOLERANCE)
def test_events_and_controllers(systems, bounded, method):
    """Both end batches of steps where they please."""

    def act():
        sim, seen = Simulation(systems["input"], h=H, method=method()), []
        sim.add_controller(lambda sim: {"motor.torque": math.sin(30.0 * sim.t)}, period=0.02)
        event = rtmbs.Event(lambda s: s.zd[0] - s.zd[1], action=lambda sim: seen.append(sim.t))
        result = sim.run(T, tolerance=1e-5, when=event)
        return everything(sim), recorded(result), seen

    whole, short = bounded(act)
    assert whole == short


def test_groups_on_threads(bounded):
    """A group that is slower than the others does not divide the steps that are judged together."""
    system = beside(library.build("crank_rocker"), library.build("top")).compile()

    def act():
        sim = Simulation(system, h=H, threads=2)
        result = sim.run(T, tolerance=1e-5)
        return everything(sim), recorded(result)

    whole, short = bounded(act)
    assert whole == short


def parallelogram(rng, steps, h):
    """Return bars that turn evenly without gravity, and end a step in their common line."""
    a, b, rate = rng.uniform(0.3, 1.0), rng.uniform(0.5, 2.0), rng.uniform(0.5, 8.0)
    turn = -h * rate * steps
    crank = (a * math.cos(turn), a * math.sin(turn), 0.0)
    far = (b + crank[0], crank[1], 0.0)
    model, axis = rtmbs.Model("parallelogram", gravity=(0.0, 0.0, 0.0)), rtmbs.Revolute(axis=(0.0, 0.0, 1.0))
    bars = {"crank": ((0.0, 0.0, 0.0), crank), "rocker": ((b, 0.0, 0.0), far), "coupler": (crank, far)}
    for name, ends in bars.items():
        add_bar(model, name, *ends, rng.uniform(0.5, 2.0))
    model.add_joint("O", axis, "ground", "crank", point=(0.0, 0.0, 0.0))
    model.add_joint("P", axis, "crank", "coupler", point=crank)
    model.add_joint("B", axis, "ground", "rocker", point=(b, 0.0, 0.0))
    model.add_joint("Q", axis, "coupler", "rocker", point=far, cut=True)
    model.set_initial("O", rate=float(rate))
    return model.compile()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(4))
def test_a_step_that_ends_in_a_singular_pose_unseen(bounded, seed):
    """Rates there are not asked for where nothing is recorded; a call that ended there had asked, and failed."""
    rng = np.random.default_rng(seed)
    system = parallelogram(rng, int(rng.integers(20, 60)), 4e-3)

    def act():
        sim = Simulation(system, h=4e-3, method=VariationalMidpoint())
        try:
            result = sim.run(0.6, record=Every(0.3))
        except rtmbs.RtmbsError as error:  # the next step may not leave that pose
            return str(error)
        return everything(sim), recorded(result)

    whole, short = bounded(act)
    assert whole == short


@pytest.mark.parametrize("method", METHODS)
def test_refined_runs(systems, bounded, method):
    whole, short = bounded(lambda: recorded(refined(systems["crank_rocker"], 2.5e-3, T, method=method(), threads=1)))
    assert whole == short


@pytest.mark.parametrize("method", METHODS)
def test_copies_of_a_batch(systems, bounded, method):
    torque = np.random.default_rng(7).normal(size=(3, 20))

    def act():
        batch = Batch(systems["input"], 3, h=H, method=method())
        read = batch.rollout({"motor.torque": torque}, channels=["crank_pivot.angle"])
        return read.tobytes(), [everything(batch.simulation(i)) for i in range(3)]

    whole, short = bounded(act)
    assert whole == short


def test_the_bound_ends_calls(systems, bounded, monkeypatch):
    """The comparison is one of calls of many steps with calls of one."""
    from rtmbs.semirecursive.compiled_calls import FusedExtrapolation

    plain, counts = FusedExtrapolation.call, []

    def call(self, *arguments):
        ending, done = plain(self, *arguments)
        counts[-1].append(done)
        return ending, done

    def act():
        counts.append([])
        ran(systems["crank_rocker"], VariationalMidpoint, tolerance=1e-7)

    monkeypatch.setattr(FusedExtrapolation, "call", call)
    bounded(act)
    whole, short = counts
    assert max(short) == 1 < max(whole)
    assert sum(short) == sum(whole)
