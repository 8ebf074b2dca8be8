"""Consistent rates: the smallest weighted change that the loops allow, pins kept exactly."""

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtmbs import Simulation
from rtmbs.errors import StartError
from rtmbs.start.motion import consistent_rates
from tests.start.cases import MODELS, closed_pose, fourbar, system_of

ALL = pytest.mark.parametrize("name", MODELS)


def dense_answer(assembly, wanted, pinned, weights):
    """Return the least change by singular values: no multipliers, no sweeps."""
    violation = assembly.equations.closure_velocities(wanted)
    P, typical = assembly.equations.closure_jacobian(), assembly.typical
    roots = np.sqrt(weights[~pinned])
    A = P[:, ~pinned] * typical[~pinned] / roots / assembly.scale[:, None]
    change = np.linalg.pinv(A, rcond=1e-11) @ (-violation / assembly.scale)
    zd = wanted.copy()
    zd[~pinned] += change / roots * typical[~pinned]
    return zd


def wish(name, seed):
    """Return an assembly at a closed pose, with random rates and weights."""
    system = system_of(name)
    assembly, z = closed_pose(system)
    assembly.gap(z)
    rng = np.random.default_rng(seed)
    return assembly, 3.0 * system.typical * rng.normal(size=system.n), rng.uniform(0.2, 5.0, system.n)


@ALL
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_against_the_dense_answer(name, seed):
    assembly, wanted, weights = wish(name, seed)
    pinned = np.zeros(len(wanted), bool)
    found = consistent_rates(assembly, wanted, pinned, weights)
    np.testing.assert_allclose(found, dense_answer(assembly, wanted, pinned, weights), atol=1e-8)
    assert np.abs(assembly.equations.closure_velocities(found)).max() < 1e-9


@ALL
def test_pins_are_kept_to_the_last_bit(name):
    """Each coordinate that a degree of freedom is left for; a driven one cannot be pinned to something else."""
    assembly, wanted, weights = wish(name, 4)
    kept = 0
    for place in range(len(wanted)):
        pinned = np.zeros(len(wanted), bool)
        pinned[place] = True
        with suppress(StartError):
            found = consistent_rates(assembly, wanted, pinned, weights)
            kept += 1
            assert found[place] == wanted[place]
            np.testing.assert_allclose(found, dense_answer(assembly, wanted, pinned, weights), atol=1e-7)
    assert kept or name == "driven_fourbar"


@ALL
def test_consistent_rates_stay(name):
    assembly, wanted, weights = wish(name, 5)
    pinned = np.zeros(len(wanted), bool)
    once = consistent_rates(assembly, wanted, pinned, weights)
    np.testing.assert_allclose(consistent_rates(assembly, once, pinned, weights), once, atol=1e-11)


@ALL
@given(scale=st.floats(1e-6, 1e6))
def test_twice_the_wish_is_twice_the_answer(name, scale):
    """Linear, and no threshold hides small rates; drivers bring a part of their own."""
    assembly, wanted, weights = wish(name, 6)
    pinned = np.zeros(len(wanted), bool)
    rest = consistent_rates(assembly, np.zeros(len(wanted)), pinned, weights)
    one, other = (consistent_rates(assembly, size * wanted, pinned, weights) for size in (1.0, scale))
    np.testing.assert_allclose(other - rest, scale * (one - rest), atol=1e-9 * max(scale, 1.0))


def test_drivers_are_followed():
    """Phi_t: the crank of the driven four-bar starts at 4 rad/s (0.8 sin 5 t), the others after it."""
    sim = Simulation(system_of("driven_fourbar"))
    crank = sim.system.coordinate_names.index("crank_pivot.angle")
    assert sim.state.zd[crank] == pytest.approx(4.0, rel=1e-12)
    assert np.abs(np.delete(sim.state.zd, crank)).min() > 0.1


def test_pinned_rates_that_contradict_each_other():
    model = fourbar()
    model.set_initial("A", rate=1.0)
    model.set_initial("D", rate=-1.0)
    with pytest.raises(StartError, match="initial rates cannot all hold") as refusal:
        Simulation(model.compile())
    for words in ("'C.", "A.angle", "D.angle", "pin=False"):
        assert words in str(refusal.value)
    freed = fourbar()
    freed.set_initial("A", rate=1.0)
    freed.set_initial("D", rate=-1.0, pin=False)
    sim = Simulation(freed.compile())
    assert sim.state.zd[sim.system.coordinate_names.index("A.angle")] == 1.0
    assert sim.start_report.moved_rate_coordinate in ("B.angle", "D.angle")
    assert sim.start_report.moved_rate > 0.1
