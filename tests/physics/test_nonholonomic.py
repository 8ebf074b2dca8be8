"""Wheels that roll and knife edges in a Simulation, against closed forms and equations of their own (METHODS 1.41)."""

import numpy as np
import pytest

import rtmbs
from rtmbs.errors import InputError, ModelError, RtmbsError
from rtmbs.methods import METHODS, Capability, capabilities_of
from tests.cases import spread
from tests.dae.motions import skip_without
from tests.nonholonomic import ACROSS, GRAVITY, MOTIONS, cart, errors, sleigh, sphere_on_turntable, steady_disc

ORDERS = {"penalty-trapezoidal": 2, "variational-midpoint": 2, "trbdf2": 2, "runge-kutta": 4}
NO_ERROR = 1e-11


def takes_loops(name):
    return Capability.LOOPS in capabilities_of(METHODS[name]())


@pytest.mark.parametrize("motion", MOTIONS)
@pytest.mark.parametrize("name", ORDERS)
def test_all_channels_have_the_order_of_the_method(name, motion):
    one, order = MOTIONS[motion](), ORDERS[name]
    coarse, fine = (errors(one, METHODS[name](), one.end / steps) for steps in (100, 200))
    for channel, error in fine.items():
        assert error < 2e-3, channel
        if error > NO_ERROR:
            assert abs(np.log2(coarse[channel] / error) - order) < 0.2, channel


@pytest.mark.parametrize("name", spread([name for name in METHODS if name not in ORDERS and takes_loops(name)], 2))
def test_every_other_method_rolls_too(name):
    """A thin disc on its circle; the bound is what the worst method of order two leaves in 15 steps."""
    if name in ("cvode", "ida"):
        skip_without(name)
    found = errors(steady_disc(end=0.15), METHODS[name](), 0.01)
    assert max(found.values()) < 2e-3


@pytest.mark.parametrize("name", ["generalised-alpha", "half-explicit", "tangent-space"])
def test_redundant_rows_of_rates_are_shared(name):
    """Both wheels of the cart hold its height and its side slip."""
    assert max(errors(cart(end=0.15), METHODS[name](), 5e-3).values()) < 2e-4


@pytest.mark.parametrize("make", [steady_disc, sphere_on_turntable, sleigh, cart])
@pytest.mark.parametrize("method", [rtmbs.PenaltyTrapezoidal, rtmbs.VariationalMidpoint, rtmbs.TRBDF2])
def test_both_forms_of_a_step_agree(method, make):
    system = make().model.compile()
    fused, readable = (rtmbs.Simulation(system, h=5e-3, method=method(fused=form)) for form in (True, False))
    for sim in (fused, readable):
        sim.run(0.1)
    for part in ("z", "zd", "zdd"):
        np.testing.assert_allclose(getattr(fused.state, part), getattr(readable.state, part), rtol=1e-9, atol=1e-10)


def rolling_body(crown, center):
    """Return a body of three inertias that rolls and wobbles on its tread."""
    model = rtmbs.Model("body", gravity=(0, 0, -GRAVITY))
    place = (0.0, 0.0, 0.1)
    body = model.add_body("body", mass=0.3, inertia=(1e-3, 1.5e-3, 1.2e-3), center_of_mass=center, position=place)
    model.add_joint("free", rtmbs.Floating(), "ground", body, point=place)
    wheel = model.add_marker("axle", body, place, axes=ACROSS)
    model.add_rolling("contact", wheel, model.add_marker("floor", "ground"), 0.1, crown=crown)
    model.set_initial("free", rate=(0.3, 0, 0, 0.4, 3.0, 0.5), pin=False)
    return model.compile()


def test_energy_stays_over_a_minute():
    """A ball whose mass centre lies beside its own: 60 s in 12,000 steps."""
    sim = rtmbs.Simulation(rolling_body(0.1, (0.01, 0.005, -0.003)), h=5e-3, method=rtmbs.VariationalMidpoint())
    result = sim.run(60.0)
    energy = result["energy.total"]
    assert np.ptp(energy) < 2e-6 * energy[0]
    assert abs(energy[:2000].mean() - energy[-2000:].mean()) < 2e-7 * energy[0]
    assert not result.warnings


def test_a_wheel_that_falls_flat_says_so():
    """Its contact point runs around the rim ever faster, and steps lose energy with it."""
    result = rtmbs.Simulation(rolling_body(0.06, (0.01, 0, 0)), h=5e-3).run(20.0)
    assert any("the contact point of contact goes round its wheel" in text for text in result.warnings)


@pytest.mark.slow
def test_a_run_with_a_tolerance_keeps_it():
    motion = steady_disc()
    sim = rtmbs.Simulation(motion.model.compile(), h=1e-3, method=rtmbs.VariationalMidpoint())
    result = sim.run(motion.end, tolerance=1e-6)
    for channel in ("disc.position", "disc.velocity"):
        np.testing.assert_allclose(result[channel][-1], motion.wanted[channel], atol=5e-6)


def test_freedom_of_rates_and_of_positions():
    report = rtmbs.Simulation(steady_disc().model.compile(), h=1e-3).start_report
    assert (report.degrees_of_freedom, report.freedom_of_positions) == (3, 5)
    assert "3 of rates, 5 of positions" in str(report)


def test_a_start_moves_rates_and_no_position_of_a_blade():
    """A blade that is told to slip: its rate changes, and its place stays."""
    model = sleigh().model
    del model.initials["plane"]
    model.set_initial("plane", position=(1.0, 2.0, 0.7), rate=(0.3, 0.4, 0.0), pin=False)
    sim = rtmbs.Simulation(model.compile(), h=1e-3)
    assert sim.start_report.moved_position == 0.0
    assert sim.start_report.moved_rate > 0.05
    x, y, turn = sim.state.zd
    assert abs(-np.sin(0.7) * x + np.cos(0.7) * y) < 1e-12
    assert turn == pytest.approx(0.0, abs=0.5)


def test_a_pinned_rate_that_slips_is_refused():
    model = sleigh().model
    del model.initials["plane"]
    model.set_initial("plane", rate=(0.3, 0.4, 0.0))
    with pytest.raises(RtmbsError, match="edge"):
        rtmbs.Simulation(model.compile(), h=1e-3)


def test_a_wheel_finds_its_rest_without_slip():
    """A wheel pulled by a spring: the equilibrium is reached by rolling, where the spring is upright."""
    model = rtmbs.Model("wheel", gravity=(0, 0, -GRAVITY))
    place = (0.3, 0.0, 0.5)
    wheel = model.add_body("wheel", mass=1.0, inertia=(0.06, 0.12, 0.06), position=place)
    model.add_joint("plane", rtmbs.Planar(normal=(0, 1, 0)), "ground", wheel, point=place)
    model.add_rolling(
        "contact", model.add_marker("axle", wheel, place, axes=ACROSS), model.add_marker("floor", "ground"), 0.5
    )
    ends = model.add_marker("hook", "ground", point=(0, 0, 2.0)), model.add_marker("eye", wheel, place)
    model.add_force("spring", rtmbs.SpringDamper(20.0, 0.0, length=0.5), between=ends)
    found = rtmbs.equilibrium(rtmbs.Simulation(model.compile(), h=1e-3))
    x, z, angle = found.state.z[:3]
    assert abs(abs(x) - 0.3) < 1e-9
    assert abs(z) < 1e-12
    assert abs(abs(angle) - 0.3 / 0.5) < 1e-3


ANALYSES = {
    "linearise": rtmbs.linearise,
    "modes": rtmbs.modes,
    "sensitivity": lambda sim: rtmbs.sensitivity(sim, 0.1, ["plane.angle"], ["gravity[2]"]),
}


@pytest.mark.parametrize("name", ANALYSES)
def test_analyses_of_positions_refuse_rate_rows(name):
    sim = rtmbs.Simulation(sleigh().model.compile(), h=1e-3)
    with pytest.raises(InputError, match="no nonholonomic constraint such as 'edge'"):
        ANALYSES[name](sim)


def test_a_kinematic_analysis_refuses_rate_rows():
    with pytest.raises(ModelError, match="nonholonomic constraint 'edge' binds rates"):
        rtmbs.kinematics.Analysis(sleigh().model)
    with pytest.raises(ModelError, match="nonholonomic constraint 'edge' binds rates"):
        rtmbs.formulations.ReferencePointCoordinates(sleigh().model)


def test_two_parts_on_two_threads():
    """Two mechanisms that share nothing step in groups: each as it does alone."""
    alone = [steady_disc().model, sleigh().model]
    both = rtmbs.Model("both", gravity=(0, 0, -GRAVITY))
    for k, one in enumerate(alone):
        for body in list(one.bodies.values())[1:]:
            both.bodies[body.name] = body
        for part in ("joints", "markers", "contacts", "initials"):
            getattr(both, part).update(getattr(one, part))
        alone[k] = rtmbs.Simulation(one.compile(), h=5e-3)
    sim = rtmbs.Simulation(both.compile(), h=5e-3, threads=2)
    sim.run(0.2)
    for one in alone:
        one.run(0.2)
    np.testing.assert_allclose(sim.state.z, np.concatenate([one.state.z for one in alone]), atol=1e-8)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"radius": 0.0}, "radius is 0; it must be above zero"),
        ({"crown": 0.7}, "crown is 0.7; it must be from 0"),
        ({"plane": "axle"}, "both on body 'disc'"),
        ({"plane": "wall"}, "the wheel lies flat"),
    ],
)
def test_a_contact_that_cannot_be_is_refused(change, message):
    model = steady_disc().model
    model.add_marker("wall", "ground", axes=model.bodies["disc"].orientation @ np.array(ACROSS).T)
    given = {"wheel": "axle", "plane": "floor", "radius": 0.5, **change}
    with pytest.raises(ModelError, match=message):
        model.add_rolling("other", **given)


def test_a_knife_edge_that_cannot_be_is_refused():
    model = sleigh().model
    with pytest.raises(ModelError, match="direction is zero"):
        model.add_knife_edge("other", "blade", direction=(0, 0, 0))
    with pytest.raises(ModelError, match="is on body 'sleigh' itself"):
        model.add_knife_edge("other", "blade", "sleigh")
    with pytest.raises(ModelError, match="there is already a knifeedge"):
        model.add_joint("edge", rtmbs.Revolute(axis=(0, 0, 1)), "ground", "sleigh")
