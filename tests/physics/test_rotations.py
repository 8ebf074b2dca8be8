"""Fast spins: the error is that of the trapezoidal rule on the rotation group, and no invariant drifts away."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import rtmbs
from bench.campaigns import rotations as campaign
from rtmbs import PenaltyTrapezoidal, Simulation
from tests.cases import spread

J = np.array([0.4, 0.7, 1.0])
SPINS = ((50.0, 3.0, -20.0), (1.0, 100.0, 2.0), (3.0, 2.0, 150.0))


def free_body(kind, rate, center=(0.0, 0.0, 0.0), axes=None):
    """Return a body that nothing pulls at; ``axes`` turns its principal axes in it."""
    turn = np.eye(3) if axes is None else axes
    model = rtmbs.Model("free", gravity=(0.0, 0.0, 0.0))
    model.add_body("b", mass=1.0, inertia=turn @ np.diag(J) @ turn.T, center_of_mass=center)
    model.add_joint("f", kind, model.ground, "b")
    rate = turn @ np.array(rate)
    model.set_initial("f", rate=rate if isinstance(kind, rtmbs.Spherical) else (0.0, 0.0, 0.0, *rate))
    return model.compile()


def gain(w):
    return np.cross(J * w, w) / J


def exact(rate, t):
    """Return the orientation after t by Euler's equations."""

    def flow(_, y):
        q, w = y[:4], y[4:]
        turn = 0.5 * np.concatenate((q[3] * w + np.cross(q[:3], w), [-w @ q[:3]]))
        return np.concatenate((turn, gain(w)))

    start = np.concatenate(([0.0, 0.0, 0.0, 1.0], rate))
    return Rotation.from_quat(solve_ivp(flow, (0.0, t), start, "DOP853", rtol=1e-12, atol=1e-13).y[:4, -1])


def by_hand(rate, t, h):
    """Return the orientation by the trapezoidal rule: R exp(h/2 (w_n + w_{n+1})), its iteration to rounding."""
    R, w = Rotation.identity(), np.array(rate)
    for _ in range(round(t / h)):
        new = w + h * gain(w)
        for _ in range(60):
            new = w + 0.5 * h * (gain(w) + gain(new))
        R, w = R * Rotation.from_rotvec(0.5 * h * (w + new)), new
    return R


def orientations(result):
    return Rotation.from_quat(np.roll(result["b.orientation"], -1, axis=1))


@pytest.mark.parametrize("h", [0.004, pytest.param(0.002, marks=pytest.mark.slow)])
@pytest.mark.parametrize("rate", SPINS)
@pytest.mark.parametrize("kind", [rtmbs.Spherical(), rtmbs.Floating()], ids=["ball", "floating"])
def test_the_error_is_that_of_the_rule_on_the_group(kind, rate, h):
    """Also of a body whose principal axes are not its own."""
    axes = Rotation.from_rotvec((0.5, -1.0, 0.7)).as_matrix()
    found = orientations(Simulation(free_body(kind, rate, axes=axes), h=h).run(0.4))[-1]
    turn = Rotation.from_matrix(axes)
    truth = exact(rate, 0.4)
    group = (by_hand(rate, 0.4, h).inv() * truth).magnitude()
    assert ((turn.inv() * found * turn).inv() * truth).magnitude() < 1.02 * group


@pytest.mark.parametrize("rate", SPINS)
def test_angular_momentum_and_energy_swing_but_do_not_drift(rate):
    result = Simulation(free_body(rtmbs.Spherical(), rate), h=0.002).run(40.0)
    R, w = orientations(result), result["b.angular_velocity"].copy()
    L, tenth = R.apply(J * R.inv().apply(w)), len(w) // 10
    size = np.linalg.norm(L[0])
    away = np.linalg.norm(L - L[0], axis=1) / size
    assert away[-tenth:].max() < 1.05 * away[:tenth].max()
    assert np.linalg.norm(L[-tenth:].mean(0) - L[:tenth].mean(0)) < 2e-4 * size
    energy = result["energy.total"]
    assert abs(energy[-tenth:].mean() - energy[:tenth].mean()) < 1e-5 * energy[0]
    assert np.abs(R.as_matrix() @ np.swapaxes(R.as_matrix(), 1, 2) - np.eye(3)).max() < 1e-14


@pytest.mark.parametrize("rate", [(60.0, 60.0, 50.0), (100.0, 1.0, 2.0), (1.0, 100.0, 2.0)])
def test_a_radian_a_step_converges(rate):
    """h |w| = 1, 200 steps."""
    good = Simulation(free_body(rtmbs.Floating(), rate), h=0.01).run(2.0).outcomes
    assert good == {"CONVERGED": 200}


def thin_rods(radius):
    """Return a plate that hangs on three light rods, each between two balls: free to spin about itself."""
    model = rtmbs.Model("thin rods")
    model.add_body("plate", mass=0.5, center_of_mass=(0.0, 0.0, -0.6), inertia=(1e-3, 1e-3, 2e-3))
    for k in range(3):
        a = 2.0 * np.pi * k / 3.0 + 0.3
        top = np.array([0.25 * np.cos(a), 0.25 * np.sin(a), 0.0])
        low = np.array([0.06 * np.cos(a + 0.2), 0.06 * np.sin(a + 0.2), -0.6])
        length = np.linalg.norm(low - top)
        u = (low - top) / length
        across, along = np.eye(3) - np.outer(u, u), np.outer(u, u)
        inertia = 0.05 * ((length**2 / 12.0 + radius**2 / 4.0) * across + radius**2 / 2.0 * along)
        model.add_body(f"rod {k}", mass=0.05, center_of_mass=tuple((top + low) / 2.0), inertia=inertia)
        model.add_joint(f"top {k}", rtmbs.Spherical(), model.ground, f"rod {k}", point=top)
        model.add_joint(f"low {k}", rtmbs.Spherical(), f"rod {k}", "plate", point=low)
    model.set_initial("top 0", rate=(1.0, 0.5, 20.0), pin=False)
    return model.compile()


@pytest.mark.parametrize("radius", [0.002, 0.004, 0.01])
@pytest.mark.parametrize("terms", ["inertia", "lagged"])
def test_thin_rods_between_balls_run(radius, terms):
    result = Simulation(thin_rods(radius), h=1e-3, method=PenaltyTrapezoidal(tangent_terms=terms)).run(0.3)
    assert result.outcomes == {"CONVERGED": 300}


@pytest.mark.parametrize("seed", spread([0, 24, 4, 7, 26], 3))
def test_spinning_trees_and_loops_against_newton_and_euler(seed):
    """A few of the campaign: order two in orientation, rate and acceleration."""
    model = campaign.random_mechanism(seed)
    system = model.compile()
    _, h = campaign.step_of(seed, system)
    found = campaign.differences(model, system, h)
    orders = np.log2(found[1] / found[2])
    assert np.all(np.abs(orders - 2.0) < 0.2), (orders, found)
