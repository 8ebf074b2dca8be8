"""First motions that cannot be: drivers that contradict each other, poses that lock; and those that only look so."""

import re
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rtmbs
from rtmbs import Simulation
from rtmbs.errors import StartError
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.start.prepare import consistent_rates, prepare
from tests.semirecursive.start.cases import MODELS, bar, closed_pose, fourbar, parallelogram, system_of

X = rtmbs.Revolute(axis=(1, 0, 0))


def power(size, order):
    """Return a profile that starts at zero with the given rate (order 1) or acceleration (order 2)."""
    if order == 1:
        return rtmbs.ConstantRate(size)
    return rtmbs.Function(lambda t: 0.5 * size * t**2, lambda t: size * t, lambda t: size)


@pytest.mark.parametrize("joint", ["D", "C"], ids=["in the tree", "in the cut"])
@pytest.mark.parametrize(("order", "what"), [(1, "velocity"), (2, "acceleration")])
def test_drivers_that_contradict_each_other_are_both_named(order, what, joint):
    model = fourbar()
    model.add_driver("crank drive", power(1.0, order), joint="A")
    model.add_driver("other drive", power(-0.7, order), joint=joint)
    bystander = model.add_body("bystander", mass=1.0, center_of_mass=(0, 1, 0), inertia=(1, 1, 1), position=(5, 0, 0))
    model.add_joint("elsewhere", X, "ground", bystander, point=(5, 0, 0))
    model.add_driver("innocent", power(3.0, order), joint="elsewhere")
    with pytest.raises(StartError, match=f"contradict each other in {what} at the start") as refusal:
        Simulation(model.compile())
    assert "'crank drive'" in str(refusal.value)
    assert "'other drive'" in str(refusal.value)
    assert "innocent" not in str(refusal.value)


@pytest.mark.parametrize("off", [2.0, 0.02, 1e-3])
@pytest.mark.parametrize("rate", [0.0, 0.1])
@pytest.mark.parametrize("closure", [None, rtmbs.Spherical()])
def test_a_contradiction_in_acceleration_shows_under_weight(off, rate, closure):
    """A parallelogram, both sides driven: nothing that the search for accelerations blows up hides what is left."""
    model = parallelogram(closure)
    model.add_driver("left drive", rtmbs.ConstantRate(rate), joint="A")
    other = rtmbs.Function(lambda t: rate * t + 0.5 * off * t**2, lambda t: rate + off * t, lambda t: off)
    model.add_driver("right drive", other, joint="D")
    with pytest.raises(
        StartError, match="'left drive', 'right drive' contradict each other in acceleration"
    ) as refusal:
        Simulation(model.compile())
    left = float(re.search(r"start: ([\d.e-]+) m/s2", str(refusal.value)).group(1))
    assert 0.0 < left < 0.3 * off, "no more than the sides differ by"


@pytest.mark.parametrize("order", [1, 2])
def test_drivers_that_agree_are_taken(order):
    """The rocker follows at the rate, or the acceleration, that the crank gives it; a millionth off is refused."""
    free = fourbar()
    free.add_driver("crank drive", power(1.0, order), joint="A")
    state, names = (sim := Simulation(free.compile())).state, sim.system.coordinate_names
    follows = float((state.zd if order == 1 else state.zdd)[names.index("D.angle")])
    for off, taken in ((0.0, True), (1e-3, False)):
        model = fourbar()
        model.add_driver("crank drive", power(1.0, order), joint="A")
        profile = power(follows * (1.0 + off), order)
        if order == 1:  # with the acceleration that goes with it
            bend = float(state.zdd[names.index("D.angle")])
            rate = follows * (1.0 + off)
            profile = rtmbs.Function(
                lambda t, v=rate, a=bend: v * t + 0.5 * a * t**2,
                lambda t, v=rate, a=bend: v + a * t,
                lambda t, a=bend: a,
            )
        model.add_driver("rocker drive", profile, joint="D")
        if taken:
            assert Simulation(model.compile()).start_report.degrees_of_freedom == 0
        else:
            with pytest.raises(StartError, match="contradict each other"):
                Simulation(model.compile())


def test_a_driver_and_a_pin_that_contradict_each_other():
    model = fourbar()
    model.add_driver("crank drive", rtmbs.ConstantRate(1.0), joint="A")
    model.set_initial("D", rate=-1.0)
    with pytest.raises(StartError, match="initial rates cannot all hold") as refusal:
        Simulation(model.compile())
    assert "pinned rates: D.angle; drivers: crank drive" in str(refusal.value)


def truss(height):
    """Two bars of 1 kg over a span of 2 m, their pin ``height`` above the straight line; it carries a bar's weight."""
    model = rtmbs.Model("truss")
    bar(model, "left", (0, 0, 0), (0, 1, height))
    bar(model, "right", (0, 2, 0), (0, 1, height))
    model.add_joint("A", X, "ground", "left", point=(0, 0, 0))
    model.add_joint("B", X, "ground", "right", point=(0, 2, 0))
    model.add_joint("C", X, "left", "right", point=(0, 1, height), cut=True)
    return model


@pytest.mark.parametrize("height", [1.0, 1e-2, 1e-4, 1e-6, 1e-8])
def test_a_truss_near_its_dead_centre(height):
    """The thrust is half a bar's weight over the height, however flat: nothing moves, and the report says so."""
    sim = Simulation(truss(height).compile())
    assert np.abs(sim.state.zdd).max() < 1e-9
    thrust = sim.state.lam[sim.system.row_names.index("C.y")]
    assert abs(thrust) == pytest.approx(0.5 * 9.81 / height, rel=1e-7)
    assert any("no degree of freedom is left in what C join" in text for text in sim.start_report.warnings)


def test_a_flat_truss_falls_singular():
    report = (sim := Simulation(truss(0.0).compile())).start_report
    assert (report.degrees_of_freedom, report.degrees_of_freedom_nearby) == (1, 0)
    assert np.abs(sim.state.zdd).max() == pytest.approx(1.5 * 9.81, rel=1e-9)


@pytest.mark.parametrize("angle", [1e-1, 1e-3, 1e-5])
def test_a_slider_crank_near_its_dead_centre(angle):
    """Crank 1, rod 3, slider under a force F: virtual work gives the first acceleration, the slider at rest.

    At the dead centre F has no lever, and the slider no speed: I zdd = F dx/dphi, I that of the crank and the rod.
    """
    model = rtmbs.Model("slider crank", gravity=(0, 0, 0))
    pin = np.array([0.0, np.cos(angle), np.sin(angle)])
    wrist = np.array([0.0, np.cos(angle) + np.sqrt(9.0 - np.sin(angle) ** 2), 0.0])
    bar(model, "crank", (0, 0, 0), pin)
    bar(model, "rod", pin, wrist, mass=0.0)
    model.add_body("slider", mass=1.0, inertia=(0.1, 0.1, 0.1), position=wrist)
    model.add_joint("A", X, "ground", "crank", point=(0, 0, 0))
    model.add_joint("B", X, "crank", "rod", point=pin)
    model.add_joint("S", rtmbs.Prismatic((0, 1, 0)), "ground", "slider", point=wrist)
    model.add_joint("C", X, "rod", "slider", point=wrist, cut=True)
    model.add_force("push", rtmbs.Wrench(force=(0, -5.0, 0)), body="slider")
    sim = Simulation(model.compile())
    crank = sim.state.zdd[sim.system.coordinate_names.index("A.angle")]
    lever = -np.sin(angle) * (1.0 + np.cos(angle) / np.sqrt(9.0 - np.sin(angle) ** 2))
    inertia = 1.0 / 12.0 + 0.25 + lever**2  # of the crank about its end, and the slider
    assert crank == pytest.approx(-5.0 * lever / inertia, rel=1e-8)


@pytest.mark.slow
def test_a_straight_chain_of_three_thousand_bodies_starts():
    """Pivots of a static order fall below any bound there; exchanges find them. M zdd = Q holds."""
    model = rtmbs.Model("chain")
    for k in range(3000):
        bar(model, f"b{k}", (0, k, 0), (0, k + 1, 0))
        model.add_joint(f"j{k}", X, f"b{k - 1}" if k else "ground", f"b{k}", point=(0, k, 0))
    equations = SemiRecursiveEquations(model.compile())
    # A Simulation would take warm-up steps, each with a dense factor.
    start = prepare(equations, 5e-3, rtmbs.PenaltyTrapezoidal(), assembly_offset=False).arrays
    equations.residual(start.z, start.zd, start.zdd, start.R0)
    assert np.abs(equations.ws.tau).max() < 1e-9 * 9.81 * 3000**2 / 2


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
