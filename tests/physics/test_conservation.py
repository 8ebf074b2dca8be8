"""What physics keeps, and what it gives and takes: free fall, energy, momentum, work."""

import numpy as np
import pytest

from bench.measures.conservation import drop, energy_drift, momentum
from bench.measures.mechanisms import floating_ring, free_body
from rtmbs import Simulation

STEPS = (1e-2, 5e-3, 2.5e-3, 1.25e-3)


@pytest.mark.parametrize("h", [1e-3, 5e-3, 1e-2, 0.1])
def test_a_free_body_falls_as_far_as_it_should(h):
    assert drop(free_body().compile(), "free", h) == pytest.approx(4.905, abs=1e-9)


@pytest.mark.slow
def test_energy_of_the_fourbar_stays_for_30_seconds():
    drift = energy_drift(h=1e-3, t_end=30.0)
    assert drift.largest < 1e-4 * drift.exchanged
    assert drift.exchanged > 1.0


@pytest.fixture(scope="module")
def balances():
    """Errors of momentum, angular momentum and energy of the floating ring after 1 s, by step."""
    model = floating_ring()
    system, mass = model.compile(), sum(body.mass for body in model.bodies.values())
    found = []
    for h in STEPS:
        result = Simulation(system, h).run(1.0)
        sums = momentum(model, result)
        gained = sums.linear - sums.linear[0] - np.outer(result.t, (0.0, 0.0, -9.81 * mass))
        power = 1.5 * result["crank_pivot.rate"] - 0.2 * result["rocker_pivot.rate"] ** 2
        work = np.sum((power[:-2:2] + 4.0 * power[1:-1:2] + power[2::2]) * h / 3.0)
        energy = result["energy.total"]
        found.append(
            (
                np.max(np.abs(gained)),
                np.max(np.abs(sums.angular - sums.angular[0])),
                abs(energy[-1] - energy[0] - work),
            )
        )
    return np.array(found).T


@pytest.mark.parametrize(("which", "name"), [(0, "momentum"), (1, "angular momentum"), (2, "work")])
def test_balances_of_a_floating_mechanism_close_with_order_two(balances, which, name):
    """Gravity alone changes the momentum; nothing the angular one; motor and damper account for the energy."""
    assert balances[which, -1] < 1e-3, name
    assert 1.9 < np.polyfit(np.log(STEPS), np.log(balances[which]), 1)[0] < 2.5, (name, balances[which])
