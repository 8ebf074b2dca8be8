"""Warnings of recorded runs: ringing, and momenta that drift.

Warnings of runs whose energy changes though nothing takes or gives any.
"""

import re
import warnings

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import rtmbs
from bench.campaigns import momentum
from bench.campaigns.dead_centres import linkage as dead_centre_linkage
from bench.campaigns.momentum import mechanism
from bench.campaigns.variational_energy import TOLD, ring
from rtmbs import METHODS, At, Every, Model, PenaltyTrapezoidal, Simulation, VariationalMidpoint, library
from rtmbs.library.linkages import add_bar
from rtmbs.results.run_warnings import (
    BLOCK,
    NUMERIC,
    SCATTER,
    abrupt_change,
    blocks,
    components,
    energies_of,
    energy_correction,
    lost,
    momentum_drift,
    spread_of_means,
)
from rtmbs.results.samples import Evaluation, Samples
from rtmbs.simulation.observers.recorder import LOOKED, Recorder, with_some
from rtmbs.system.tables import GRAVITY_SLOT
from tests.contracts.machines import LIBRARY, closed_model, library_simulation, library_system


def slider(damping, stiffness=0.0):
    model = rtmbs.Model("slider", gravity=(0.0, 0.0, 0.0))
    model.add_body("block", mass=1.0, inertia=(1.0, 1.0, 1.0))
    model.add_joint("rail", rtmbs.Prismatic((1, 0, 0)), "ground", "block")
    model.set_initial("rail", position=0.0, rate=1.0)
    model.add_force("damper", rtmbs.TorsionSpring(stiffness, damping), joint="rail")
    return model.compile()


@pytest.mark.parametrize("h", [5e-3, 1e-3])
def test_a_stiff_damper_rings_and_says_so(h):
    """c h / m = 500 and 100: the rate changes its sign at every step and loses 1 or 4 % of its size."""
    result = Simulation(slider(1e5), h=h).run(40 * h)
    assert result["rail.rate"][1] < -0.9
    sentence, rings = result.warnings
    assert sentence.startswith(
        f"rail.displacement: its acceleration stops or reverses all motion within a step of h = {h:g} s"
    )
    assert (rings, result.warnings[rings]) == ("rings: rail.displacement", 39)
    assert result.outcomes == {"CONVERGED": 40}


@pytest.mark.parametrize("damping", [0.0, 10.0, 300.0])
def test_a_damper_that_the_step_resolves_does_not(damping):
    assert Simulation(slider(damping, 400.0), h=1e-3).run(0.5).warnings == {}


@pytest.mark.parametrize("name", LIBRARY)
def test_no_mechanism_of_the_library_rings(name):
    sim = library_simulation(name)
    assert sim.run(sim.h * 200).warnings == {}


def braked_elbow():
    """Return a double pendulum, the elbow of which a damper may brake."""
    model, hinge, moment = rtmbs.Model("brake"), rtmbs.Revolute(axis=(0, -1, 0)), 0.25 / 12
    for name, x in (("upper", 0.0), ("lower", 0.5)):
        inertia = (1e-3, moment, moment)
        model.add_body(name, mass=1.0, center_of_mass=(0.25, 0, 0), inertia=inertia, position=(x, 0, 0))
    model.add_joint("s", hinge, model.ground, "upper", point=(0, 0, 0))
    model.add_joint("e", hinge, "upper", "lower", point=(0.5, 0, 0))
    model.set_initial("e", position=0.5)
    model.add_force("lock", rtmbs.TorsionSpring(stiffness=0.0, damping=0.0), joint="e")
    return model.compile()


@pytest.mark.parametrize("damping", [1e3, 1e7])
def test_a_brake_that_locks_at_once_is_never_silent(damping):
    """1e7 N m s/rad: steps are taken in two parts, so that the rate keeps its sign while the angle stands."""
    sim = Simulation(braked_elbow(), h=1e-3)
    sim.run(0.4)
    sim.inputs["lock.damping"] = damping
    result = sim.run(0.5)
    assert abs(result["e.rate"][1]) > 10.0
    assert abs(result["e.angle"][-1] - result["e.angle"][0]) < 1e-2
    assert result.warnings["rings: e.angle"] > 20


def test_a_swing_that_is_looked_at_once_a_period_does_not_ring():
    """Samples a period apart have equal rates and equal positions: they say nothing of what lies in between."""
    sim = Simulation(slider(0.0, (2.0 * np.pi * 10.0) ** 2), h=1e-3)
    result = sim.run(1.0, record=rtmbs.Every(0.1))
    assert np.ptp(result["rail.displacement"]) < 1e-2 * np.abs(result["rail.rate"]).max()
    assert result.warnings == {}


@pytest.mark.parametrize("method", [PenaltyTrapezoidal, VariationalMidpoint])
def test_a_motion_that_alternates_between_samples_does_not_ring(method):
    """A ring at 20 steps a sample: between every two samples the finer record has accelerations of both signs."""
    system, h = ring(4).compile(), 5e-3
    coarse = Simulation(system, h, method()).run(20.0, record=Every(20 * h))
    a = coarse["pin3.acceleration"]
    alike = (a[2:] * a[1:-1] < 0.0) & (a[1:-1] * a[:-2] < 0.0) & (np.abs(np.abs(a[2:] / a[1:-1]) - 1.0) < 0.25)
    assert np.any(alike)
    fine = Simulation(system, h, method()).run(20.0)
    for result in (coarse, fine):
        assert not [words for words in result.warnings if words.startswith("rings")]


def test_a_stiff_damper_is_told_though_no_sample_is_a_step_from_the_next():
    for method in (PenaltyTrapezoidal(), VariationalMidpoint()):
        (words,) = Simulation(slider(1e5), h=5e-3, method=method).run(1.0, record=Every(0.1)).warnings
        assert "its acceleration stops or reverses all motion within a step" in words


def test_samples_of_a_method_that_chooses_its_steps_do_not_ring():
    """Closed form: a vibration of w h = 3.1 between samples, right to 1e-6."""
    w, h = 2.0 * np.pi * 10.0, 0.0497
    result = Simulation(slider(0.0, w**2), h=h, method=METHODS["solve-ivp"]()).run(40 * h)
    assert np.abs(result["rail.rate"] - np.cos(w * result["t"])).max() < 1e-6
    assert not [words for words in result.warnings if words.startswith("rings")]


def test_blocks_overlap_by_what_a_sign_needs():
    """Every three successive samples stand together in one block, and only in one."""
    values = np.arange(3 * BLOCK + 7)
    triples = [tuple(block[k : k + 3]) for block in blocks(values) for k in range(len(block) - 2)]
    assert triples == [(k, k + 1, k + 2) for k in range(len(values) - 2)]


def test_the_file_of_a_result_keeps_its_warnings(tmp_path):
    result = Simulation(slider(1e5), h=5e-3).run(0.1)
    result.save(tmp_path / "ring.npz")
    assert rtmbs.load_result(tmp_path / "ring.npz").warnings == result.warnings != {}


def test_short_records_say_nothing():
    sim = Simulation(library.build("pendulum").compile(), h=1e-3)
    assert sim.run(1e-3).warnings == {}


# ---- warnings of runs that lose a momentum which a symmetry of the mechanism conserve -------------------------------


CONSERVED = {"floats": (3, 3), "rail": (1, 0), "table": (2, 1), "post": (0, 1), "pole": (1, 1)}
X = (1.0, 0.0, 0.0)


def linkage(joint, gravity=(0.0, 0.0, -9.81)):
    """Return a four-bar on a carriage that ``joint`` carries."""
    model = Model("carriage", gravity=gravity)
    model.add_body("carriage", mass=5.0, inertia=(1.0, 1.0, 1.0))
    model.add_joint("base", joint, "ground", "carriage")
    corners = np.array(((0.0, 0.0, 0.0), (0.0, 0.0, 0.3), (0.0, 1.0, 0.8), (0.0, 1.0, 0.0)))
    for k, mass in enumerate((0.6, 1.2, 0.9)):
        way = corners[k + 1] - corners[k]
        inertia = mass * way @ way / 12.0 + 1e-3
        model.add_body(f"r{k}", mass=mass, center_of_mass=way / 2, inertia=(inertia,) * 3, position=corners[k])
    ends = (("a", "carriage", "r0"), ("b", "r0", "r1"), ("c", "r1", "r2"), ("d", "r2", "carriage"))
    for k, (name, a, b) in enumerate(ends):
        model.add_joint(name, rtmbs.Revolute(X), a, b, point=corners[k], cut=k == 3)
    model.set_initial("a", position=0.0, rate=9.0)
    return model


def drifts(result):
    return [words for words in result.warnings if "drifts by" in words]


def test_a_carriage_that_loses_its_momentum_is_told_with_the_direction():
    """7 % are lost in 50 s by the trapezoidal rule with projections, nothing by the variational rule."""
    model = linkage(rtmbs.Prismatic((0, 1, 0)))
    model.set_initial("base", position=0.0, rate=0.2)
    system = model.compile()
    (words,) = drifts(Simulation(system, 5e-3, PenaltyTrapezoidal()).run(50.0, record=Every(1.0)))
    assert words.startswith("the momentum drifts by 7.0% of its size")
    assert "acts along (0, 1, 0)" in words.replace("-", "")
    assert not drifts(Simulation(system, 5e-3, VariationalMidpoint()).run(50.0, record=Every(1.0)))


def floating(rate=(0.0, 0.1, 0.05, 0.5, 0.0, 0.0)):
    model = linkage(rtmbs.Floating(), (0, 0, 0))
    model.initials.pop("a")
    model.set_initial("base", position=(0, 0, 0, 1, 0, 0, 0), rate=rate)
    model.set_initial("a", position=0.0, rate=6.0)
    return model.compile()


@pytest.mark.parametrize("start", [(0.0, 0.1, 0.05, 0.5, 0.0, 0.0), (0.0, 40.0, 20.0, 0.5, 0.0, 0.0)])
def test_a_floating_linkage_is_told_of_a_lost_angular_momentum(start):
    """0.7 and 15 % in 50 s at 5 ms. The way that the whole travels hides nothing: parts count about its centre."""
    result = Simulation(floating(start), 5e-3, PenaltyTrapezoidal()).run(50.0, record=Every(1.0))
    (words,) = drifts(result)
    assert re.match(r"the angular momentum drifts by \d+\.\d%", words)
    assert "acts about (1, 0, 0)" in words.replace("-", "")
    angular = result["momentum.angular_about_origin"][:, 0]
    assert np.ptp(angular) > 1e-3 * abs(angular[0])
    assert not drifts(Simulation(floating(start), 5e-3, VariationalMidpoint()).run(50.0, record=Every(1.0)))


@pytest.mark.parametrize("file", [None, "run.h5"])
def test_a_record_of_chosen_channels_is_told_as_well(file, tmp_path):
    """In memory and in the blocks of a file, which is the record of long runs."""
    model = linkage(rtmbs.Prismatic((0, 1, 0)))
    model.set_initial("base", position=0.0, rate=0.2)
    given = {"file": tmp_path / file} if file else {}
    result = Simulation(model.compile(), 5e-3, PenaltyTrapezoidal()).run(50.0, channels=["base.displacement"], **given)
    (words,) = drifts(result)
    assert words.startswith("the momentum drifts by 7.0% of its size")


@pytest.mark.parametrize(("width", "most"), [(2, LOOKED[1]), (1000, LOOKED[0])])
def test_samples_of_blocks_are_few_and_evenly_spaced(width, most):
    """However long a record is: samples that crowd at its end told of a drift where swings were slow."""
    looked, t = None, np.arange(30_000.0)
    for first in range(0, len(t), 30):
        part = t[max(first - 1, 0) : first + 30]
        block = Samples(part, *(np.zeros((len(part), width)) for _ in range(7)), np.zeros(len(part)))
        looked = with_some(looked, block, first, 30)
        found = looked.samples.t
        assert len(found) <= most
        np.testing.assert_array_equal(found, looked.numbers)
        assert (found[0], found[-1]) == (0.0, part[-1])
        gaps = np.diff(found)
        assert np.all(gaps[:-1] == looked.spacing)
        assert 0.0 < gaps[-1] <= looked.spacing
    assert len(found) >= most // 2


def test_a_small_momentum_is_compared_with_the_sum_of_its_parts():
    """Two bodies that go apart have none; one of a whole that turns is compared with itself."""
    along = np.array([[1.0, 0.0, 0.0, 0.0, 0.0, 0.0]])
    momenta = np.zeros((2, 2, 6))
    momenta[0, :, 0], momenta[1, :, 0] = (5.0, -5.0), (5.0, -4.98)
    share, axis, of = lost(momenta, np.zeros((2, 6)), along)
    assert (share, of) == (pytest.approx(0.02 / 10.0), "the sum of its parts")
    np.testing.assert_allclose(axis, (1, 0, 0))
    momenta[:, 1, 0] = (2.0, 2.1)
    assert lost(momenta, np.zeros((2, 6)), along)[::2] == (pytest.approx(0.1 / 7.0), "its size")
    turn = np.array([[0.0, 0.0, 0.0, 0.0, 0.0, 2.0]])
    spins, whole = np.zeros((2, 2, 6)), np.zeros((2, 6))
    spins[:, :, 5], whole[:, 5] = (3.0, 4.0), (1.0, 1.4)
    assert lost(spins, whole, turn)[0] == pytest.approx(0.4 / 8.0)


@pytest.mark.parametrize("seed", range(10))
def test_symmetries_of_random_mechanisms(seed):
    """Floating, sliding and turning bases, whose symmetry the campaign knows by its construction."""
    model, kind, axis = momentum.mechanism(seed)
    system = model.compile()
    (found,) = components(system, system.tables, np.array([model.gravity]))
    assert (len(found.translations), len(found.rotations)) == CONSERVED[kind]
    if kind in ("rail", "pole"):
        np.testing.assert_allclose(np.abs(found.translations[0, :3] @ axis), 1.0, atol=1e-12)
    if kind in ("post", "pole", "table"):
        turn = found.rotations[0, 3:] / np.linalg.norm(found.rotations[0, 3:])
        np.testing.assert_allclose(np.abs(turn @ axis), 1.0, atol=1e-12)


def conserved(system):
    return components(system, system.tables, system.u0[None, GRAVITY_SLOT : GRAVITY_SLOT + 3])


@pytest.mark.parametrize("name", [name for name in LIBRARY if name != "single_joint"])
def test_library_mechanisms_that_stand_on_ground_have_no_momentum_to_keep(name):
    """But for a top and a governor, which turn about an upright axis."""
    turning = {"top": 1, "governor": 1}
    found = conserved(library_system(name))
    assert sum(len(one.rotations) for one in found) == turning.get(name, 0)
    assert not any(len(one.translations) for one in found)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda model: model.add_driver("slide", rtmbs.ConstantRate(0.2), joint="base"),
        lambda model: model.add_force("push", rtmbs.Motor(1.0), joint="base"),
        lambda model: model.add_force("pull", rtmbs.Wrench((0.0, 1.0, 0.0)), body="r1"),
        lambda model: model.add_force("to ground", rtmbs.SpringDamper(5.0), between=ends(model)),
    ],
)
def test_what_acts_from_ground_leaves_nothing_conserved(spoil):
    model = linkage(rtmbs.Prismatic((0, 1, 0)))
    spoil(model)
    system = model.compile()
    assert components(system, system.tables, np.array([model.gravity])) == []


def ends(model):
    return tuple(model.add_marker(f"end {body}", body, (0.1, 0.0, 3.0)) for body in ("ground", "r1"))


def test_gravity_along_the_rail_leaves_nothing_conserved():
    system = linkage(rtmbs.Prismatic((0, 1, 0)), gravity=(0.0, 1.0, -9.0)).compile()
    assert components(system, system.tables, np.array([(0.0, 1.0, -9.0)])) == []


@pytest.mark.parametrize("seed", range(6))
def test_no_false_alarm_on_mechanisms_that_ground_acts_on(seed):
    result = Simulation(closed_model(seed, driven=False).compile(), 1e-3).run(0.02)
    assert not drifts(result)


def test_a_record_of_one_sample_tells_nothing():
    sim = Simulation(linkage(rtmbs.Floating()).compile(), 5e-3)
    recorder = rtmbs.simulation.observers.Recorder()
    recorder.begin(sim)
    assert momentum_drift(sim.system, sim.equations.tables, recorder.samples) == {}


def test_warnings_of_a_run_are_python_warnings_once():
    with warnings.catch_warnings(record=True) as first:
        warnings.simplefilter("always")
        result = Simulation(slider(1e5), 1e-2).run(0.5)
        repr(result)
        repr(result)
        result.between(0.1, 0.3).warnings  # noqa: B018 - a part of a record warns no more
    words = [str(one.message) for one in first if one.category is rtmbs.RtmbsWarning and "rings" in str(one.message)]
    assert len(words) == 1
    assert words[0].startswith("rings: rail.displacement (")
    assert "rings: rail.displacement" in repr(result)


def changes(result):
    return [words for words in result.warnings if words.startswith("the energy changes by")]


def test_a_ring_whose_dead_centres_are_not_resolved_is_told():
    """Ring 44 takes 7 J for good in 2 s at 5 ms; at 1 ms it swings by a ten-thousandth of the kinetic energy.

    Rings are chaotic, and later on the last bits decide what they lose. Here starts that are 1e-10 apart agree to 1e-4.
    """
    system = ring(44).compile()
    coarse = Simulation(system, 5e-3, VariationalMidpoint()).run(2.0, record=Every(0.02))
    energy = coarse["energy.total"]
    assert abs(energy[-1] - energy[0]) > 0.05 * coarse["energy.kinetic"].max()
    (words,) = changes(coarse)
    assert "steps of h = 0.005 s do not resolve the motion" in words
    fine = Simulation(system, 1e-3, VariationalMidpoint()).run(2.0, record=Every(0.02))
    assert np.ptp(fine["energy.total"]) < 1e-3 * fine["energy.kinetic"].max()
    assert not changes(fine)


def test_forces_drivers_and_inputs_may_change_the_energy():
    model = rtmbs.library.build("pendulum")
    model.add_force("brake", rtmbs.TorsionSpring(stiffness=0.0, damping=0.5), joint="pivot")
    result = Simulation(model.compile(), 1e-3).run(2.0, record=At([0.5, 1.0, 2.0]))
    assert np.ptp(result["energy.total"]) > 0.0
    assert not changes(result)


@pytest.mark.parametrize(("seed", "t", "words"), [(53, 5.0, "the energy changes by"), (404, 80.0, "")])
def test_springs_take_no_energy_for_good(seed, t, words):
    """Loops in space with a spring: 53 changes it, 404 swings slower than its record (measurements 6)."""
    system = mechanism(seed, conservative=True)[0].compile()
    result = Simulation(system, 2e-3, VariationalMidpoint()).run(t, channels=["energy.total"])
    told = [one for one in result.warnings if one.startswith(TOLD)]
    assert [one.startswith(words) for one in told] == [True] * bool(words)


def test_a_damper_and_an_input_that_changes_do_work_that_is_not_judged():
    model = mechanism(53)[0]
    assert not changes(Simulation(model.compile(), 2e-3, VariationalMidpoint()).run(5.0, channels=["energy.total"]))
    model = rtmbs.library.build("pendulum")
    model.add_force("motor", rtmbs.Motor(rtmbs.Input(0.0)), joint="pivot")
    sim = Simulation(model.compile(), 1e-3)
    recorder = Recorder()
    sim.run(0.5, observers=[recorder])
    sim.inputs["motor.torque"] = 3.0
    sim.run(0.5, observers=[recorder])
    assert not changes(recorder.result())


def test_a_constant_load_has_a_potential():
    """A motor turns a bar by twenty times its weight's moment: its energy grows, and the work of the motor with it."""
    model = rtmbs.Model("driven", gravity=(0.0, 0.0, -9.81))
    add_bar(model, "bar", (0.0, 0.0, 0.0), (0.0, 0.0, -1.0), 1.0, axial=1e-3)
    model.add_joint("pin", rtmbs.Revolute((0, 1, 0)), "ground", "bar", point=(0.0, 0.0, 0.0))
    model.add_force("motor", rtmbs.Motor(100.0), joint="pin")
    result = Simulation(model.compile(), 1e-3, VariationalMidpoint()).run(1.0)
    assert np.ptp(result["energy.total"]) > 100.0
    assert not changes(result)


def test_an_energy_that_wanders_by_jumps_is_told():
    """Ring 19 at 5 ms: passages of three steps change its energy for good; none at 1 ms.

    The motion is chaotic: the last bits decide whether small jumps add up, or a large one comes first.
    """
    system = ring(19).compile()

    def told(h, **record):
        result = Simulation(system, h, VariationalMidpoint()).run(1e5 * h, **record)
        return [words for words in result.warnings if words.startswith(TOLD)]

    for record in ({"channels": ["energy.total"]}, {"record": Every(0.25)}):
        (words,) = told(5e-3, **record)
        assert "steps of h = 0.005 s do not resolve the" in words
    assert not told(1e-3, channels=["energy.total"])


def test_means_of_noise_scatter_as_chance_has_it_and_jumps_stand_out():
    """Against the closed form: a jump by d in the middle spreads the means by d, and their deviation is d / 2."""
    rng = np.random.default_rng(7)
    noise = rng.normal(size=1024)
    still, jumped = spread_of_means(noise), spread_of_means(noise + 3.0 * (np.arange(1024) >= 512))
    assert still.deviation < 2.0 * still.by_chance
    assert abs(jumped.moved - 3.0) < 1.0
    assert abs(jumped.deviation / jumped.by_chance / (1.5 * np.sqrt(1024 / 16)) - 1.0) < 0.2
    assert jumped.deviation > SCATTER * jumped.by_chance
    assert spread_of_means(np.linspace(0.0, 1.0, 1024)) == (0.0, 0.0, 0.0)  # half a swing tells of nothing


def test_a_passage_that_changes_the_energy_for_good_is_told_with_the_trapezoidal_rule_too():
    """Less than 1 % of the kinetic energy at a dead centre; what comes back, or goes evenly, is no such change."""
    result = Simulation(dead_centre_linkage(35).compile(), 1e-3).run(4.0, channels=["energy.total", "energy.kinetic"])
    (words,) = changes(result)
    lost = abs(result["energy.total"][-1] - result["energy.total"][0]) / result["energy.kinetic"].max()
    assert 1e-3 < lost < 1e-2
    assert abs(float(words.split()[4].rstrip("%")) - 100.0 * lost) < 0.2
    t = np.linspace(0.0, 1.0, 64)
    assert abs(abrupt_change(2.0 * (t > 0.4)) - 2.0) < 1e-12
    assert abrupt_change(2.0 * ((t > 0.4) & (t < 0.7))) == 0.0
    assert abrupt_change(2.0 * t) == 0.0
    assert abrupt_change(2.0 * (t > 0.4) + np.sin(1e3 * t)) == 0.0


def pendulums(bars, angle):
    """Return bars of masses and lengths that hang on each other, the first one turned by an angle."""
    model, top = rtmbs.Model("pendulums"), 0.0
    for k, (mass, length) in enumerate(bars):
        add_bar(model, f"bar{k}", (0.0, 0.0, top), (0.0, 0.0, top - length), mass, axial=1e-3)
        before = f"bar{k - 1}" if k else "ground"
        model.add_joint(f"pin{k}", rtmbs.Revolute((0, 1, 0)), before, f"bar{k}", point=(0.0, 0.0, top))
        top -= length
    model.set_initial("pin0", position=angle)
    return model.compile()


def recorded(system, h, t):
    """Return the samples of a run, and their energies (S,)."""
    recorder = Recorder()
    Simulation(system, h, VariationalMidpoint()).run(t, observers=[recorder])
    return recorder.samples, Evaluation(system, system.tables, recorder.samples).energies.sum(axis=0)


class OwnPendulums:
    """Hanging bars in angles from bar to bar: a Hamiltonian of their own, its field by differences."""

    def __init__(self, bars):
        self.bars = bars

    def mass_and_potential(self, q):
        absolute, M, V = np.cumsum(q), np.zeros((len(q), len(q))), 0.0
        above, height = np.zeros((2, len(q))), 0.0  # how each angle moves the upper end of a bar, and its depth
        for k, (m, length) in enumerate(self.bars):
            turns = (np.arange(len(q)) <= k).astype(float)
            across = np.outer((np.cos(absolute[k]), -np.sin(absolute[k])), turns)
            middle = above + 0.5 * length * across
            M += m * middle.T @ middle + m * length**2 / 12.0 * np.outer(turns, turns)
            V -= m * 9.81 * (height + 0.5 * length * np.cos(absolute[k]))
            above, height = above + length * across, height + length * np.cos(absolute[k])
        return M, V

    def hamiltonian(self, x):
        M, V = self.mass_and_potential(x[: len(x) // 2])
        return 0.5 * x[len(x) // 2 :] @ np.linalg.solve(M, x[len(x) // 2 :]) + V

    def field(self, x):
        n, H = len(x) // 2, self.hamiltonian
        slope = np.array([(H(x + d) - H(x - d)) / 2e-5 for d in 1e-5 * np.eye(len(x))])
        return np.concatenate((slope[n:], -slope[:n]))

    def corrections(self, states, h):
        """Return -h^2/24 H_zz(f, f) (S,): of the modified energy of the implicit midpoint rule (HLW, IX.1)."""
        H, found = self.hamiltonian, []
        for x in states:
            f = 1e-4 * self.field(x)
            found.append((H(x + f) + H(x - f) - 2.0 * H(x)) / 1e-8)
        return -(h**2) / 24.0 * np.array(found)


BEATING = ((5.0, 1.0), (0.1, 0.9))


def test_the_correction_of_pendulums_is_that_of_the_implicit_midpoint_rule():
    """The rule is the implicit midpoint rule in z and p there: Hairer, Lubich and Wanner have its modified energy."""
    system, h, own = pendulums(BEATING, 0.3), 1e-2, OwnPendulums(BEATING)
    samples, _ = recorded(system, h, 2.0)
    states = [np.append(z, own.mass_and_potential(z)[0] @ zd) for z, zd in zip(samples.z, samples.zd, strict=True)]
    wanted = own.corrections(states, h)
    found = energy_correction(system, system.tables, samples, h)
    assert np.abs(found - wanted).max() < 1e-3 * np.abs(wanted).max()


def test_slow_swings_are_no_drift():
    """Two pendulums in a beat: the means of the energy move as the closed form has it along the exact motion.

    From 0.3 rad the light one turns over, and the motion is chaotic: within 40 s two solvers are 16 rad apart.
    """
    angle, h, t, own = 0.24, 1e-2, 40.0, OwnPendulums(BEATING)
    system = pendulums(BEATING, angle)
    samples, energy = recorded(system, h, t)
    size = Evaluation(system, system.tables, samples).energies[0].max()
    raw = spread_of_means(energy)
    assert raw.moved > NUMERIC * size
    assert raw.deviation > SCATTER * raw.by_chance
    begin = np.array((angle, 0.0, 0.0, 0.0))
    exact = solve_ivp(
        lambda t, x: own.field(x), (0.0, t), begin, method="DOP853", rtol=1e-7, atol=1e-7, t_eval=samples.t[::8]
    )
    assert np.abs(samples.z[::8] - exact.y[:2].T).max() < 0.1
    expected = spread_of_means(-own.corrections(exact.y.T, h))
    assert abs(expected.deviation / spread_of_means(energy[::8]).deviation - 1.0) < 0.01
    assert not Simulation(system, h, VariationalMidpoint()).run(t).warnings


@pytest.mark.parametrize("make", [lambda: ring(1).compile(), lambda: spinning().compile(), lambda: sprung().compile()])
def test_the_modified_energy_is_kept_to_the_fourth_power_of_h(make):
    """Loops, balls, forces: half the step divides the swing of the energy by 4, what the correction leaves by 16."""
    system, swings = make(), []
    for h in (4e-3, 2e-3):
        samples, _ = recorded(system, h, 4.0)
        energy = np.sum(energies_of(system, system.tables, samples), axis=0)
        kept = energy + energy_correction(system, system.tables, samples, h)
        swings.append((np.ptp(energy), np.ptp(kept)))
    order = np.log2(np.array(swings[0]) / np.array(swings[1]))
    assert abs(order[0] - 2.0) < 0.1
    assert abs(order[1] - 4.0) < 0.3
    assert swings[1][1] < 0.05 * swings[1][0]


def spinning():
    """Return two uneven bodies on balls, the first on ground."""
    model = rtmbs.Model("spinning")
    model.add_body("a", mass=1.3, center_of_mass=(0.2, 0.1, -0.3), inertia=(0.03, 0.05, 0.04))
    model.add_body(
        "b", mass=0.7, center_of_mass=(-0.1, 0.2, -0.1), inertia=(0.02, 0.05, 0.04), position=(0.3, 0.1, 0.0)
    )
    model.add_joint("ball", rtmbs.Spherical(), "ground", "a", point=(0.0, 0.0, 0.0))
    model.add_joint("knee", rtmbs.Spherical(), "a", "b", point=(0.3, 0.1, 0.0))
    model.set_initial("ball", position=(1.0, 0.0, 0.0, 0.0), rate=(1.0, -2.0, 1.5))
    return model


def sprung():
    """Return three uneven bodies in a row with a spring, a bushing, a torsion spring and a constant torque."""
    model = spinning()
    model.add_body("c", mass=0.5, center_of_mass=(0.5, 0.1, 0.2), inertia=(0.02, 0.03, 0.04))
    model.add_joint("pin", rtmbs.Revolute((0, 1, 0)), "b", "c", point=(0.4, 0.1, 0.1))
    model.add_force("coil", rtmbs.TorsionSpring(stiffness=3.0), joint="pin")
    model.add_force("motor", rtmbs.Motor(0.4), joint="pin")
    ends = [model.add_marker(f"end {name}", name, (0.5, 0.2, 0.1)) for name in ("ground", "c")]
    post = model.add_marker("post", "ground", (1.5, -0.2, 0.4))
    model.add_force("spring", rtmbs.SpringDamper(30.0), between=(post, ends[1]))
    stiffness = np.diag((20.0, 30.0, 25.0, 2.0, 1.0, 3.0))
    model.add_force("bushing", rtmbs.Bushing(stiffness=stiffness), between=tuple(ends))
    return model
