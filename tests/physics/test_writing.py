"""How a mechanism is written does not change how it moves: direction of joints, cut joint, kind of closure, auxiliary
bodies.
"""

import numpy as np
import pytest

from bench.measures.comparing import CHANNELS, VELOCITIES, apart, limit, motion
from bench.measures.mechanisms import JOINTS, crank_rocker
from rtmbs import Simulation, TorsionSpring, library

SAME = 1e-8
H, T_END = 5e-3, 0.5


@pytest.fixture(scope="module")
def plain():
    return motion(crank_rocker(), H, T_END)


@pytest.mark.parametrize("turned", [(joint,) for joint in JOINTS] + [JOINTS])
def test_a_joint_turned_round(plain, turned):
    assert apart(plain, motion(crank_rocker(turned=turned), H, T_END)) < SAME


@pytest.mark.parametrize("closure", ["line", "point"])
def test_closures_of_a_plane_loop(plain, closure):
    assert apart(plain, motion(crank_rocker(closure=closure), H, T_END)) < SAME


@pytest.mark.parametrize("closure", ["line", "point"])
@pytest.mark.parametrize("layout", ["stacked", "parallel"])
def test_closures_of_the_fourbar(layout, closure):
    written = [library.build("fourbar", ny=2, nz=3, layout=layout, closure=each) for each in ("revolute", closure)]
    assert apart(*(motion(model, H, T_END) for model in written)) < SAME


@pytest.mark.parametrize("cut", JOINTS[:3])
def test_the_cut_joint(plain, cut):
    """The same equations: equal first accelerations; each cut has its own error of order h^2, and one limit."""
    other = motion(crank_rocker(cut=cut), H, T_END)
    for name, values in plain.items():
        np.testing.assert_allclose(other[name][0], values[0], atol=1e-11, err_msg=name)
    assert apart(plain, other) > SAME, "not the same at a finite step"
    limits = (limit(lambda each=each: crank_rocker(cut=each), 5e-4, 0.2, VELOCITIES) for each in ("knee", cut))
    assert apart(*limits) < SAME


@pytest.mark.parametrize("sprung", JOINTS)
def test_a_spring_on_any_joint_whichever_is_cut(sprung):
    """A cut joint that carries a spring keeps its coordinate: an auxiliary body does it, held by all six equations."""
    spring = {sprung: TorsionSpring(4.0, damping=0.1, angle=0.3)}

    def write(cut):
        return crank_rocker(cut=cut, springs=spring)

    reference = limit(lambda: write("knee" if sprung != "knee" else "pin"), 5e-4, 0.2, VELOCITIES)
    found = limit(lambda: write(sprung), 5e-4, 0.2, VELOCITIES)
    assert apart(reference, found) < SAME
    sim = Simulation(write(sprung).compile(), H)
    assert (sim.equations.n, sim.equations.m) == (4, 6)
    assert sim.start_report.degrees_of_freedom == 1


@pytest.mark.parametrize("sprung", JOINTS)
def test_a_spring_on_an_auxiliary_body_keeps_the_energy(sprung):
    model = crank_rocker(cut=sprung, springs={sprung: TorsionSpring(4.0, angle=0.3)})
    result = Simulation(model.compile(), 1e-3).run(0.5)
    energy = result["energy.total"]
    assert result["energy.elastic"][0] == pytest.approx(0.5 * 4.0 * 0.3**2, rel=1e-12)
    assert result[f"{sprung}_spring.torque"][0] == pytest.approx(4.0 * 0.3, rel=1e-12)
    assert np.ptp(result["energy.elastic"]) > 0.1
    assert np.max(np.abs(energy - energy[0])) < 1e-3


def test_channels_are_all_compared(plain):
    assert len(plain) == 3 * len(CHANNELS)
