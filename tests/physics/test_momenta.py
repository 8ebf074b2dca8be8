"""Momenta and energies over long runs of the variational midpoint rule, beside the trapezoidal rule that loses them."""

import numpy as np
import pytest

import rtmbs
from bench.campaigns.momentum import KEEPS, lost, mechanism
from bench.measures.conservation import momentum
from rtmbs import Every, PenaltyTrapezoidal, Simulation, VariationalMidpoint, library
from tests.cases import spread

X = (1.0, 0.0, 0.0)
CORNERS = tuple(np.array(corner) for corner in ((0.0, 0.0, 0.0), (0.0, 0.0, 0.3), (0.0, 1.0, 0.8), (0.0, 1.0, 0.0)))


def four_bar_on(base, gravity, **start):
    """Return an unequal four-bar on a carriage of 5 kg that ``base`` joins to ground."""
    model = rtmbs.Model("cart", gravity=gravity)
    model.add_body("cart", mass=5.0, inertia=(1.0, 1.0, 1.0))
    model.add_joint("base", base, "ground", "cart")
    for i, mass in enumerate((0.6, 1.2, 0.9)):
        along = CORNERS[i + 1] - CORNERS[i]
        inertia = (mass * along @ along / 12.0 + 1e-3) * np.eye(3)
        model.add_body(f"r{i}", mass=mass, center_of_mass=along / 2, inertia=inertia, position=CORNERS[i])
    ends = (("a", "cart", "r0"), ("b", "r0", "r1"), ("c", "r1", "r2"), ("d", "r2", "cart"))
    for k, (name, one, other) in enumerate(ends):
        model.add_joint(name, rtmbs.Revolute(X), one, other, point=CORNERS[k], cut=name == "d")
    model.set_initial("base", **start)
    model.set_initial("a", position=0.0, rate=9.0)
    return model


def along_the_rail(method, steps):
    """Return the change of the momentum along the rail, of its start, and the outcomes."""
    model = four_bar_on(rtmbs.Prismatic((0, 1, 0)), (0.0, 0.0, -9.81), position=0.0, rate=0.2)
    result = Simulation(model.compile(), 5e-3, method).run(steps * 5e-3, record=Every(0.5))
    p = momentum(model, result).linear[:, 1]
    return float(np.abs(p / p[0] - 1.0).max()), result.outcomes


def test_a_four_bar_on_a_cart_keeps_the_momentum_along_its_rail():
    """To rounding over 2,000 steps; the trapezoidal rule loses over 1 % of it in the same time."""
    change, outcomes = along_the_rail(VariationalMidpoint(), 2_000)
    assert change < 1e-12
    assert outcomes == {"CONVERGED": 2_000}
    assert along_the_rail(PenaltyTrapezoidal(), 2_000)[0] > 1e-2


def test_a_four_bar_afloat_keeps_momentum_angular_momentum_and_energy():
    """The base turns on the group. Energy swings by an amount of order h^2 and does not drift.

    Angular momentum is kept about a point of space; that about the mass centre has the error of its position.
    """
    model = four_bar_on(rtmbs.Floating(), (0.0, 0.0, 0.0), rate=(0.1, 0.2, -0.1, 0.5, -0.3, 0.4))
    result = Simulation(model.compile(), 5e-3, VariationalMidpoint()).run(20.0)
    linear, energy = momentum(model, result).linear, result["energy.total"]
    for part in (linear, result["momentum.angular_about_origin"]):
        assert np.abs(part - part[0]).max() < 1e-10 * np.abs(part).max()
    quarter = len(energy) // 4
    swing = np.ptp(energy[:quarter])
    assert swing < 0.03 * energy[0]
    assert np.ptp(energy) < 1.3 * swing
    assert abs(energy[-quarter:].mean() - energy[:quarter].mean()) < 0.02 * swing


@pytest.mark.parametrize("seed", spread(range(50), 10))
def test_random_mechanisms_with_a_symmetry_keep_its_momenta(seed):
    """Floating, sliding and turning bases, loops in space, springs, dampers and a motor; 2,000 steps."""
    model, kind, axis = mechanism(seed)
    assert max(lost(model, kind, axis)) <= KEEPS


def test_energy_of_a_loop_is_bounded_without_a_balance():
    """The crank-rocker for 200 s at 5 ms: the swing of all steps is that of the first thousand."""
    result = Simulation(library.build("crank_rocker").compile(), 5e-3, VariationalMidpoint()).run(200.0)
    energy = result["energy.total"]
    swing = np.ptp(energy[:1_000])
    assert np.ptp(energy) < 1.05 * swing
    assert abs(energy[-4_000:].mean() - energy[:4_000].mean()) < 0.02 * swing
