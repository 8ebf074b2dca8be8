"""Options change between steps: what follows is what a Simulation made with them does from the same State."""

import numpy as np
import pytest

from rtmbs import PenaltyTrapezoidal, Simulation, library
from rtmbs.errors import InputError, RtmbsError, UnknownNameError
from rtmbs.simulation.options import by_name
from tests.contracts.machines import accepted_steps, contents

SYSTEM = library.build("crank_rocker").compile()
H = 2e-3

SWITCHES = [
    {"jacobian": "trace"},
    {"jacobian": "finite-difference"},
    {"tangent_terms": "exact"},
    {"tangent_terms": "paper", "jacobian": "complex-step"},
    {"max_iterations": 3, "fixed_iterations": True},
    {"penalty": 1e8},
    {"alpha": 1e7},
    {"tol": 1e-6},
    {"projection_metric": "mass"},
    {"projection_tol": 1e-13},
    {"max_projections": 1},
    {"project_velocities": False, "project_accelerations": False},
    {"fused": False},
    {"refactor": "every-iteration"},
    {"threads": 2},
    {"max_iterations": 2, "fixed_iterations": True, "refactor": "every-step"},
]


@pytest.mark.parametrize("options", SWITCHES, ids=str)
def test_a_switch_goes_on_as_a_fresh_simulation(options):
    """Byte for byte, and back again too."""
    sim = Simulation(SYSTEM, h=H)
    accepted_steps(sim, 10)
    before = sim.state.copy()
    sim.change(**options)
    fresh = Simulation(SYSTEM, h=H, **by_name(**options))
    start = before.copy()
    start.memory["alpha"][:] = fresh.state.memory["alpha"]
    fresh.restore(start)
    accepted_steps(sim, 10), accepted_steps(fresh, 10)
    assert contents(sim.state) == contents(fresh.state)
    plain = Simulation(SYSTEM, h=H)
    sim.change(**{name: plain._store.options.value(name) for name in (*options, "penalty", "alpha")})
    sim.restore(before)
    plain.restore(before)
    accepted_steps(sim, 10), accepted_steps(plain, 10)
    assert contents(sim.state) == contents(plain.state)


def test_a_restored_state_brings_the_settings_that_follow_from_it():
    """A state of another h, in a simulation that stood elsewhere: byte for byte the steps of one that stayed there."""
    sim, other = Simulation(SYSTEM, h=H), Simulation(SYSTEM, h=7.3e-3, method=PenaltyTrapezoidal(penalty=1e4))
    accepted_steps(sim, 5), accepted_steps(other, 3)
    other.change(penalty=None)
    other.restore(sim.state)
    assert all(np.array_equal(*both) for both in zip(sim._store.work.settings, other._store.work.settings, strict=True))
    accepted_steps(sim, 20), accepted_steps(other, 20)
    assert contents(sim.state) == contents(other.state)


def test_a_switch_of_the_source_leaves_the_state_alone():
    sim = Simulation(SYSTEM, h=H)
    accepted_steps(sim, 3)
    before = contents(sim.state)
    sim.change(jacobian="autograd", max_iterations=5, tangent_terms="lagged")
    assert contents(sim.state) == before
    assert (sim._store.options.jacobian, sim.method.max_iterations, sim.method.tangent_terms) == (
        "autograd",
        5,
        "lagged",
    )


def test_a_switch_and_a_change_of_h_commute():
    """The penalty factors follow both."""
    first, second = Simulation(SYSTEM, h=H), Simulation(SYSTEM, h=H)
    accepted_steps(first, 5), accepted_steps(second, 5)
    first.h = 1e-3
    first.change(penalty=1e7)
    second.change(penalty=1e7)
    second.h = 1e-3
    np.testing.assert_array_equal(first.state.memory["alpha"], second.state.memory["alpha"])
    np.testing.assert_array_equal(
        first.state.memory["alpha"],
        Simulation(SYSTEM, h=1e-3, method=PenaltyTrapezoidal(penalty=1e7)).state.memory["alpha"],
    )


def test_penalty_and_alpha_take_the_place_of_each_other():
    sim = Simulation(SYSTEM, h=H)
    sim.change(alpha=1e8)
    assert (sim.method.c, sim.method.alpha) == (None, 1e8)
    sim.change(penalty=1e5)
    assert (sim.method.c, sim.method.alpha) == (1e5, None)
    sim.change(penalty=None, alpha=None)  # neither: the default
    assert (sim.method.c, sim.method.alpha) == (1e6, None)
    with pytest.raises(InputError, match="exclude each other"):
        sim.change(penalty=1e5, alpha=1e8)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"jacobian": "sympy"}, UnknownNameError, "jacobian named 'sympy'"),
        ({"jacobian": "trace", "tangent_terms": "most"}, UnknownNameError, "tangent_terms named 'most'"),
        ({"max_iterations": 0}, InputError, "max_iterations is 0"),
        ({"tol": -1.0}, InputError, "tol is -1.0"),
        ({"alpha": float("nan")}, InputError, "alpha is nan"),
        ({"penalty": 1e305}, InputError, "not finite"),
        ({"speed": 2.0}, UnknownNameError, "option named 'speed'"),
        ({"h": 1e-3}, UnknownNameError, "option named 'h'"),
    ],
)
def test_a_refused_switch_changes_nothing(options, error, words):
    sim = Simulation(SYSTEM, h=H)
    accepted_steps(sim, 2)
    before, kept = contents(sim.state), sim._store.options
    with pytest.raises(error, match=words) as caught:
        sim.change(**options)
    assert isinstance(caught.value, RtmbsError)
    assert contents(sim.state) == before
    assert sim._store.options is kept
    accepted_steps(sim, 2)
