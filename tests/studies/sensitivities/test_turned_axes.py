"""Derivatives by numbers that turn the principal axes of a body on a ball or floating joint."""

import numpy as np
import pytest

import bench.campaigns.free_designs as free_designs
import rtmbs
from bench.campaigns.campaign import Tally
from rtmbs.studies.sensitivities.parameters import in_axes_of, model_numbers


def top():
    model = rtmbs.Model("top", gravity=(1.0, 2.0, -9.0))
    model.add_body("top", mass=1.0, inertia=(0.2, 0.2, 0.3, 0.01, 0.02, 0.03), center_of_mass=(0.1, 0.2, 0.3))
    model.add_joint("ball", rtmbs.Spherical(), "ground", "top")
    model.set_initial("ball", rate=(1.0, 2.0, 3.0))
    return model


def test_a_spinning_top_by_a_mass_centre_against_differences():
    model, method = top(), rtmbs.PenaltyTrapezoidal(tol=1e-12)

    def end(one):
        return rtmbs.Simulation(one.compile(), h=2e-2, method=method).run(0.1)["top.angular_velocity"][-1]

    sim = rtmbs.Simulation(model.compile(), h=2e-2, method=method)
    found = rtmbs.sensitivity(
        sim, 0.1, lambda r: r["top.angular_velocity"][-1], ["top.center_of_mass"], model=model, method="direct"
    )
    design = model_numbers(model, "top.center_of_mass", {}, sim.system.length)[0]
    wanted = (end(design.build(0.1 + 1e-5)) - end(design.build(0.1 - 1e-5))) / 2e-5
    np.testing.assert_allclose(found["top.center_of_mass[0]"], wanted, atol=1e-7 * np.abs(wanted).max())


@pytest.mark.slow
@pytest.mark.parametrize("case", range(2))
def test_a_body_on_a_ball_and_a_free_one_against_own_equations(case, monkeypatch):
    monkeypatch.setattr(free_designs, "STEPS", 50)
    error, apart, whose = free_designs.by_own_equations(case, Tally())
    assert error < 1e-4, whose
    assert apart < 1e-9


def test_axes_stay_and_the_first_spin_with_them():
    model = top()
    base = model.compile()
    other = model_numbers(model, "top.center_of_mass", {}, 1.0)[0].build(0.5).compile()
    assert np.abs(other.tables.dofs.axis - base.tables.dofs.axis).max() > 1e-2
    same = in_axes_of(base, other)
    np.testing.assert_array_equal(same.tables.dofs.axis, base.tables.dofs.axis)
    np.testing.assert_allclose(same.zd0, base.zd0, atol=1e-14)
