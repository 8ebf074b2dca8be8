"""Energy of bounces without dissipation: its error is that of the kinks at both ends of a contact, as derived."""

import numpy as np
import pytest

import rtmbs
from rtmbs import contact

GAMMA = 2.0 - np.sqrt(2.0)
NODES = (0.0, GAMMA, 1.0)  # of TR-BDF2 in a step
WEIGHTS = (1.0 / np.sqrt(8.0), 1.0 / np.sqrt(8.0), 0.5 * GAMMA)
STIFFNESS, START = 1e4, 0.123  # [N/m], [m] of a ball of 1 kg and 0.1 m


def ball(dissipation=0.0, start=START):
    m = rtmbs.Model("ball", gravity=(0, 0, 0))
    m.add_body("ball", mass=1.0, inertia=(1e-3, 1e-3, 1e-3), position=(0, 0, start))
    m.add_joint("slide", rtmbs.Prismatic(axis=(0, 0, 1)), m.ground, "ball")
    m.set_initial("slide", rate=-1.0)
    sides = (m.ground, contact.Plane()), ("ball", rtmbs.Sphere(0.1))
    m.add_contact("floor", *sides, stiffness=STIFFNESS, exponent=1.0, dissipation=dissipation)
    return m.compile()


def missed(touch, release):
    """Return what the rule makes of the impulses of both kinks beyond the exact ones, over k v h^2."""
    of_touch = sum(w * max(x - touch, 0.0) for w, x in zip(WEIGHTS, NODES, strict=True)) - 0.5 * (1.0 - touch) ** 2
    of_release = sum(w * max(release - x, 0.0) for w, x in zip(WEIGHTS, NODES, strict=True)) - 0.5 * release**2
    return of_release - of_touch


def test_a_bounce_changes_its_energy_as_its_kinks_say():
    """The change is 2 (w h)^2 (e of the release - e of the touch) of the energy, and the damping of the rule."""
    found = []
    for k in range(6):
        h = 4e-4 * (1.0 + 0.013 * k)
        sim = rtmbs.Simulation(ball(), h=h, method=rtmbs.TRBDF2())
        result = sim.run(round(0.08 / h) * h)
        gap, rate = np.asarray(result["ball.position"])[:, 2] - 0.1, np.asarray(result["ball.velocity"])[:, 2]
        touch, release = np.flatnonzero((gap[1:] < 0.0) != (gap[:-1] < 0.0))
        shares = (gap[i] / (gap[i] - gap[i + 1]) for i in (touch, release))
        change, derived = rate[-1] ** 2 - 1.0, 2.0 * STIFFNESS * h**2 * missed(*shares)
        found.append(change)
        assert abs(change - derived) < 0.04 * (STIFFNESS**0.5 * h) ** 3
    assert np.ptp(found) > 1e-4


@pytest.mark.parametrize(("h", "dissipation", "told"), [(2e-3, 0.0, True), (5e-4, 0.0, False), (2e-3, 0.2, False)])
def test_a_bounce_within_few_steps_is_told(h, dissipation, told):
    result = rtmbs.Simulation(ball(dissipation), h=h, method=rtmbs.TRBDF2()).run(0.08)
    if not told:
        assert not result.warnings
        return
    with pytest.warns(rtmbs.RtmbsWarning, match="floor bounces within 35 steps without dissipation"):
        assert list(result.warnings.values()) == [1]


def test_a_coarse_record_tells_no_bounces():
    """Samples farther apart than a step say nothing of how long a contact lasts."""
    result = rtmbs.Simulation(ball(), h=2e-3, method=rtmbs.TRBDF2()).run(0.08, record=rtmbs.Every(4e-3))
    assert not result.warnings
