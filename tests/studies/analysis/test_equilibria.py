"""Several equilibria of one mechanism."""

import numpy as np
import pytest

import rtmbs
from rtmbs.errors import InputError
from rtmbs.studies.analysis.static import NoEquilibrium
from tests.studies.analysis.cases import chain


def truss(stiffness=2000.0, half=1.0, rise=0.4):
    """A mass on a vertical rail between two springs that are longer than half the span: von Mises' truss."""
    model = rtmbs.Model("truss", gravity=(0, 0, 0))
    body = model.add_body("mass", mass=1.5, inertia=(1, 1, 1), position=(0, 0, rise))
    model.add_joint("rail", rtmbs.Prismatic(axis=(0, 0, 1)), "ground", body, point=(0, 0, rise))
    for name, x in (("left", -half), ("right", half)):
        ends = (
            model.add_marker(f"{name} end", "ground", point=(x, 0, 0)),
            model.add_marker(name, body, point=(0, 0, rise)),
        )
        model.add_force(f"{name} spring", rtmbs.SpringDamper(stiffness, 1.0, np.hypot(half, rise)), between=ends)
    return model


def test_a_double_pendulum_has_four():
    found = rtmbs.equilibria(chain(2).compile(), starts=40)
    turns = sorted((abs(np.sin(one.state.z)).max(), round(float(np.cos(one.state.z).sum()), 6)) for one in found)
    assert len(found) == 4
    assert max(turn for turn, _ in turns) < 1e-7
    assert [one.stable for one in found] == [True, False, False, False]


def test_a_truss_snaps_between_two_and_balances_at_the_third():
    heights = sorted(float(one.simulation["mass.position"][2]) for one in rtmbs.equilibria(truss().compile()))
    np.testing.assert_allclose(heights, [-0.4, 0.0, 0.4], atol=1e-8)
    assert len(rtmbs.equilibria(truss().compile(), stable=True)) == 2


def test_a_loop_in_two_assemblies_keeps_its_own():
    model = rtmbs.library.build("crank_rocker")
    found = rtmbs.equilibria(model.compile(), starts=12)
    assert len(found) >= 2
    assert found[0].stable
    assert all(one.residual < 1e-7 for one in found)


def test_the_same_seed_finds_the_same():
    a, b = (rtmbs.equilibria(chain(2).compile(), starts=6, seed=3) for _ in range(2))
    for one, other in zip(a, b, strict=True):
        np.testing.assert_array_equal(one.state.z, other.state.z)


def test_none_is_told():
    model = rtmbs.Model("stone")
    stone = model.add_body("stone", mass=1.0, inertia=(1, 1, 1))
    model.add_joint("rail", rtmbs.Prismatic(axis=(0, 0, 1)), "ground", stone)
    with pytest.raises(NoEquilibrium, match=r"^none of 3 starts leads to an equilibrium; the first ends so: no equil"):
        rtmbs.equilibria(model.compile(), starts=3)


def test_bad_input_of_equilibria():
    with pytest.raises(InputError, match=r"^starts is 0; it must be a whole number"):
        rtmbs.equilibria(chain(2).compile(), starts=0)
    with pytest.raises(InputError, match=r"^equilibrium takes a System or a Simulation, not 'x'"):
        rtmbs.equilibria("x")
