"""Warnings of runs whose energy changes though nothing takes or gives any."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import rtmbs
from bench.campaigns.dead_centres import linkage
from bench.campaigns.momentum import mechanism
from bench.campaigns.variational_energy import ring
from rtmbs import At, Every, Simulation, VariationalMidpoint
from rtmbs.library.linkages import add_bar
from rtmbs.results.conserved_energy import (
    NUMERIC,
    SCATTER,
    abrupt_change,
    energies_of,
    energy_correction,
    spread_of_means,
)
from rtmbs.results.evaluation import Evaluation
from rtmbs.simulation.observers.recorder import Recorder


def changes(result):
    return [words for words in result.warnings if words.startswith("the energy changes by")]


def test_a_ring_whose_dead_centres_are_not_resolved_is_told():
    """Ring 0 loses a third of its energy at 5 ms (measurements 6); at 1 ms it swings by a thousandth."""
    system = ring(0).compile()
    coarse = Simulation(system, 5e-3, VariationalMidpoint()).run(100.0, record=Every(1.0))
    energy = coarse["energy.total"]
    assert np.ptp(energy) > 0.02 * coarse["energy.kinetic"].max()
    (words,) = changes(coarse)
    assert "steps of h = 0.005 s do not resolve the motion" in words
    assert not changes(Simulation(system, 1e-3, VariationalMidpoint()).run(10.0, record=Every(0.1)))


def test_forces_drivers_and_inputs_may_change_the_energy():
    model = rtmbs.library.build("pendulum")
    model.add_force("brake", rtmbs.TorsionSpring(stiffness=0.0, damping=0.5), joint="pivot")
    result = Simulation(model.compile(), 1e-3).run(2.0, record=At([0.5, 1.0, 2.0]))
    assert np.ptp(result["energy.total"]) > 0.0
    assert not changes(result)


@pytest.mark.parametrize(
    ("seed", "t", "words"),
    [
        (53, 5.0, "the energy changes by"),
        (141, 80.0, "the mean energy moves by"),
        (404, 80.0, ""),
    ],
)
def test_springs_take_no_energy_for_good(seed, t, words):
    """Loops in space with a spring: 53 and 141 change it, 404 swings slower than its record (measurements 6)."""
    system = mechanism(seed, conservative=True)[0].compile()
    result = Simulation(system, 2e-3, VariationalMidpoint()).run(t, channels=["energy.total"])
    told = [one for one in result.warnings if one.startswith(("the energy changes by", "the mean energy moves by"))]
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


def test_a_mean_energy_that_wanders_by_small_jumps_is_told():
    """Ring 19 at 5 ms: passages of three steps add up to 4e-3 of the kinetic energy; none at 1 ms."""
    system = ring(19).compile()

    def told(h, **record):
        result = Simulation(system, h, VariationalMidpoint()).run(1e5 * h, **record)
        assert not changes(result)
        return [words for words in result.warnings if words.startswith("the mean energy moves by")]

    (words,) = told(5e-3, channels=["energy.total"])
    assert "steps of h = 0.005 s do not resolve the fastest passages" in words
    assert told(5e-3, record=Every(0.25))
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
    result = Simulation(linkage(35).compile(), 1e-3).run(4.0, channels=["energy.total", "energy.kinetic"])
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
    """Two pendulums in a beat: the means of the energy move as the closed form has it along the exact motion."""
    system, h, t, own = pendulums(BEATING, 0.3), 1e-2, 40.0, OwnPendulums(BEATING)
    samples, energy = recorded(system, h, t)
    size = Evaluation(system, system.tables, samples).energies[0].max()
    raw = spread_of_means(energy)
    assert raw.moved > NUMERIC * size
    assert raw.deviation > SCATTER * raw.by_chance
    begin = np.array((0.3, 0.0, 0.0, 0.0))
    exact = solve_ivp(
        lambda t, x: own.field(x), (0.0, t), begin, method="DOP853", rtol=1e-7, atol=1e-7, t_eval=samples.t[::8]
    )
    expected = spread_of_means(-own.corrections(exact.y.T, h))
    assert abs(expected.deviation / spread_of_means(energy[::8]).deviation - 1.0) < 0.05
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
