"""Refined runs: Richardson extrapolation and its error estimates."""

import copy
import math
import threading
from functools import partial
from typing import ClassVar

import numpy as np
import pytest

import rtmbs
from bench.measures.refined import maxwell
from rtmbs import PenaltyTrapezoidal, RungeKutta, Simulation, library, refined
from rtmbs.errors import InputError, UnknownNameError
from rtmbs.library import references
from rtmbs.methods import METHODS
from rtmbs.numerics.rotations.quaternions import turn_between, turned
from rtmbs.results.samples import Samples
from rtmbs.simulation.jumps import Piece
from rtmbs.simulation.refined import RefinedResult, extrapolated, level, side_by_side, weights_of

CASES = (  # mechanism, h, end, what the result tells with two and with three runs
    ("pendulum", 8e-2, 0.8, 4, 6),  # a tree of revolutes
    ("top", 2e-2, 0.4, 4, 6),  # rotations on the group
    ("fourbar", 4e-2, 0.8, 4, 6),  # a loop whose reactions keep their direction
    ("crank_rocker", 5e-3, 0.4, 3, 4),  # loops whose reactions turn
    ("planar_slider_crank", 1e-2, 0.2, 3, 4),
)
SLACK = 0.65  # of an order, over three steps that are not small


def off(result, exact, ends=("position", "angle", "orientation", "rate", "velocity")):
    """Largest error at the end of all channels that end so."""
    names = [name for name in exact.names() if name.split(".")[-1] in ends]
    return max(float(np.max(np.abs(result[name][-1] - exact[name][-1]))) for name in names)


def slope(system, h, t_end, runs, exact, **options):
    errors = [off(refined(system, h / 2**k, t_end, runs=runs, **options), exact) for k in range(3)]
    return float(-np.polyfit(range(3), np.log2(errors), 1)[0]), errors


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_orders_are_those_that_the_result_tells(case):
    name, h, t_end, two, three = case
    system = library.build(name).compile()
    exact = refined(system, h / 32, t_end, runs=3)
    for runs, told in ((2, two), (3, three)):
        assert refined(system, h, t_end, runs=runs).order == told
        found, errors = slope(system, h, t_end, runs, exact)
        assert found > told - SLACK or max(errors) < 5e-9, (name, runs, found, errors)


def test_force_states_have_order_four():
    system = maxwell().compile()
    exact = refined(system, 5e-4, 0.4, runs=3)
    found, _ = slope(system, 1e-2, 0.4, 2, exact)
    assert abs(found - 4.0) < 0.15
    state = next(name for name in exact.names() if name.endswith(".way"))
    assert abs(refined(system, 1e-2, 0.4)[state][-1] - exact[state][-1]) < 1e-5


def motored(function):
    """Return a crank-rocker with a motor whose torque is a function of time."""
    model = library.build("crank_rocker")
    joint = next(iter(model.joints))
    model.add_force("motor", rtmbs.Motor(function), joint=joint)
    return model.compile()


def jumping(t):
    return -1.0 if t < 0.1234 else 3.0


def left_at_the_grid(t):
    return -1.0 if t <= 0.12 else 3.0


class Declared:
    jumps = (0.1234, 0.2)

    def __call__(self, t):
        return -1.0 if t < 0.1234 else (3.0 if t <= 0.2 else 0.5)


@pytest.mark.parametrize("function", [jumping, left_at_the_grid, Declared()], ids=["inside", "at the grid", "declared"])
def test_a_jump_costs_no_order(function):
    system = motored(function)
    exact = refined(system, 2.5e-4, 0.4, runs=3)
    found, errors = slope(system, 1e-2, 0.4, 2, exact)
    assert found > 3.0 - SLACK, errors
    plain = [off(Simulation(system, h, PenaltyTrapezoidal(hold_energy=False)).run(0.4), exact) for h in (5e-3, 2.5e-3)]
    assert errors[2] < 0.02 * plain[1]


def test_samples_are_those_of_the_grid_and_an_ordinary_result(tmp_path):
    system = library.build("crank_rocker").compile()
    result = refined(system, 5e-3, 0.1)
    plain = Simulation(system, 5e-3).run(0.1)
    assert isinstance(result, rtmbs.Result)
    assert np.array_equal(result.t, plain.t)
    assert result.names() == plain.names()
    assert sum(result.outcomes.values()) == 20 + 40
    result.save(tmp_path / "refined.npz")
    assert np.array_equal(rtmbs.load_result(tmp_path / "refined.npz").t, result.t)
    for name in result.names():
        assert result.error(name).shape == result[name].shape


def test_estimates_cover_the_errors():
    system = library.build("slider_crank").compile()
    exact = refined(system, 2.5e-4, 0.2, runs=3)
    for runs in (2, 3):
        result = refined(system, 2e-3, 0.2, runs=runs)
        for name in exact.names():
            if name.split(".")[-1] in ("position", "velocity", "acceleration", "orientation"):
                true = np.abs(result[name] - exact[name][::8])
                size = float(np.max(np.abs(exact[name])))
                assert true.max() <= 2.0 * result.error(name).max() + 1e-8 * size, (name, runs)


def test_one_thread_gives_the_same_bytes():
    system = library.build("top").compile()
    one, two = (refined(system, 5e-3, 0.1, runs=3, threads=threads) for threads in (1, 2))
    assert all(one[name].tobytes() == two[name].tobytes() for name in one.names())


def test_theta_1_of_the_multiple_fourbar():
    system = library.build("fourbar", ny=4, nz=4, layout="parallel").compile()
    exact = references.fourbar(4, 4, 1.0, "parallel", math.radians(30.0), 0.1).q
    for runs, bound in ((2, 1e-8), (3, 1e-9), (4, 1e-9)):
        result = refined(system, 5e-3, 1.0, runs=runs)
        angles = [result[f"pin_{k}_0.angle"][-1] for k in range(1, 5)]
        assert np.max(np.abs(angles - exact)) < bound


@pytest.mark.parametrize(
    "name", ["penalty-trapezoidal", "variational-midpoint", "runge-kutta", "adams-bashforth", "hht"]
)
def test_every_method_gains_an_order(name):
    system = library.build("pendulum").compile()
    method = METHODS[name]()
    exact = refined(system, 2.5e-3, 0.2, runs=3)
    result = refined(system, 4e-2, 0.2, method=method)
    assert isinstance(result, RefinedResult)
    assert result.order >= method.order + 1
    found, errors = slope(system, 2e-2, 0.2, 2, exact, method=method)
    assert found > result.order - SLACK or max(errors) < 1e-11, errors


def test_a_jump_costs_explicit_methods_no_order():
    system = motored(jumping)
    exact = refined(system, 2.5e-4, 0.2, runs=3)
    found, errors = slope(system, 1e-2, 0.2, 2, exact, method=RungeKutta())
    assert found > 3.6, errors


def test_weights_cancel_the_powers():
    for runs, powers in ((2, (2, 4)), (3, (2, 4)), (3, (2, 3)), (3, (4, 5))):
        weights, h = weights_of(runs, powers), 0.5 ** np.arange(runs)
        assert weights.sum() == pytest.approx(1.0, abs=1e-14)
        for q in powers[: runs - 1]:
            assert abs(weights @ h**q) < 1e-14


class Orderless(PenaltyTrapezoidal):
    order: ClassVar[float] = 1.5


BAD = (
    ({"runs": 1}, "runs is 1; it must be a whole number from 2 to 4"),
    ({"runs": 5}, "runs is 5; it must be a whole number from 2 to 4"),
    ({"runs": "two"}, "runs is 'two'; it must be a whole number from 2 to 4"),
    ({"threads": 0}, "threads is 0; it must be a whole number from 1 to 2"),
    ({"h": -1e-3}, "h is -0.001; it must be a positive number"),
    ({"t_end": 0.0107}, "is no whole number of steps"),
    ({"t_end": math.nan}, "t_end is nan; it must be a time in seconds"),
    ({"method": Orderless()}, "method Orderless has order 1.5; refined needs a method whose order is a whole number"),
)  # fmt: skip


@pytest.mark.parametrize(("wrong", "sentence"), BAD, ids=[str(case[0]) for case in BAD])
def test_bad_input_gets_one_sentence(wrong, sentence):
    system = library.build("pendulum").compile()
    with pytest.raises(InputError, match=sentence.replace("(", r"\(")):
        refined(system, **{"h": 5e-3, "t_end": 0.1, **wrong})


def test_an_unknown_channel_is_named():
    result = refined(library.build("pendulum").compile(), 5e-3, 0.05)
    with pytest.raises(UnknownNameError, match="channel"):
        result.error("nobody")


def test_a_run_that_fails_ends_the_other_one():
    """The coarse run is interrupted by its function of time; the finest one, which would take minutes, is given up."""
    main = threading.get_ident()

    def value(t):
        if t > 0.05 and threading.get_ident() == main and busy:
            raise KeyboardInterrupt
        return math.sin(t)

    busy = False
    system = motored(value)
    sim = Simulation(system, 1e-2)
    plan = [Piece(0.0, 3000.0, 300_000, 1, -1, 3000.0)]
    stopped, others = threading.Event(), [sim, copy.copy(sim)]
    tasks = [partial(level, one, plan, 2**k, 300_000, 1e-2, stopped) for k, one in enumerate(others)]
    busy = True
    with pytest.raises(KeyboardInterrupt):
        side_by_side(tasks, 2, stopped)
    assert stopped.is_set()


# ---- extrapolation of samples ---------------------------------------------------------------------------------------


def samples(h, powers, rng):
    """Return samples whose error is a sum of powers of h, drawn by a generator that begins anew."""
    true, *errors = rng.normal(size=(len(powers) + 1, 5, 4))
    off = sum(error * h**q for error, q in zip(errors, powers, strict=True))
    R = turned(np.broadcast_to(np.eye(3), (5, 1, 3, 3)), true[:, None, :3])
    values = true + off
    empty = np.zeros((5, 0))
    run = Samples(
        np.arange(5.0), values, 2 * values, 3 * values, -values, turned(R, off[:, None, :3]), empty, values, np.zeros(5)
    )
    return run, true, R


@pytest.mark.parametrize(("runs", "powers"), [(2, (2,)), (3, (2, 4)), (3, (2, 3)), (3, (4, 5))])
def test_terms_of_the_error_are_removed(runs, powers):
    levels = [samples(0.1 / 2**k, powers, np.random.default_rng(7)) for k in range(runs)]
    best, (_, true, R) = extrapolated([one[0] for one in levels], powers), levels[0]
    for values, factor in ((best.z, 1), (best.zd, 2), (best.zdd, 3), (best.lam, -1), (best.s, 1)):
        assert np.abs(values - factor * true).max() < 1e-13
    assert np.abs(turn_between(best.R0, R)).max() < 1e-4
    assert np.abs(turn_between(best.R0, R)).max() < 0.1 * np.abs(turn_between(levels[-1][0].R0, R)).max()
    assert np.abs(np.swapaxes(best.R0, -1, -2) @ best.R0 - np.eye(3)).max() < 1e-14


def test_doubt_of_any_run_stays():
    one, *_ = samples(0.1, (2,), np.random.default_rng(1))
    doubtful = one._replace(doubtful=np.array([0.0, 1.0, 0.0, 0.0, 0.0]))
    assert extrapolated([doubtful, one], (2, 4)).doubtful.tolist() == [0.0, 1.0, 0.0, 0.0, 0.0]
