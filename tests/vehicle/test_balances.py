"""Balances that do not use the equations of a run: power of all elements, and every newton of a full throttle."""

import numpy as np
import pytest

import rtmbs
from bench.measures import full_throttle
from rtmbs.vehicle import DrivenCar, HeldSteering, PedalTable, power_balance, read

pytestmark = pytest.mark.filterwarnings("ignore:car:rtmbs.RtmbsWarning")


def test_power_balance():
    """Engine, brakes, tyres, springs, dampers and steering give what the energy changes; the error is of order two."""
    car, errors = read("sedan", variant="from_models"), []
    rest = car.changed(steer=0.0).rest()
    for h in (2e-3, 1e-3):
        pedals = PedalTable(lambda t: max(0.0, np.sin(12.0 * t)), lambda t: 0.3 * max(0.0, -np.sin(12.0 * t)))
        driven = DrivenCar(car, 20.0, pedals, HeldSteering(0.15), rest=rest, h=h)
        balance = power_balance(driven.car, driven.run(0.4))
        errors.append(balance.error)
    assert errors[1] < 1e-6
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1)
    work = balance.work
    assert work["drive_fl"] > 300.0
    assert work["brake_rl"] < -300.0
    assert work["tyre_fr"] < -10.0
    assert work["shock_fl"] < 0.0
    assert "brake_rr" in str(balance)


def test_power_balance_names_another_force():
    car = read("sedan", variant="from_models", steer=0.0)
    car.add_force("wind", rtmbs.Wrench(force=(-100.0, 0.0, 0.0)), body="chassis")
    with pytest.raises(rtmbs.errors.ModelError, match="force 'wind' is none of a car's own"):
        power_balance(car, {})


def test_every_newton_of_a_full_throttle():
    """Torque, spin inertia, rolling resistance and toe sum to mass times acceleration; toe takes what is missing."""
    car, result = full_throttle.run(t_end=0.4)
    for k in (100, 250, 399):
        terms, force = full_throttle.account(car, result, k)
        assert sum(terms.values()) == pytest.approx(force, abs=1e-3)
    assert terms["inertia of the spin"] == pytest.approx(-0.03 * force, rel=0.2)
    assert terms["toe"] == pytest.approx(-0.012 * force, rel=0.2)
    assert abs(terms["rolling resistance"]) < 5.0
