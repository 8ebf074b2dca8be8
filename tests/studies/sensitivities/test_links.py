"""Steps whose second derivatives are links: those of entries, of the complex step, of differences."""

import numpy as np
import pytest

import rtmbs
from bench.measures.complex_steps import CASES, errors
from rtmbs.ad import derivative_tapes
from rtmbs.studies.sensitivities.sensitivity import RECORDED
from tests.studies.sensitivities.cases import differences, error, sprung_rocker


@pytest.fixture
def always(monkeypatch):
    """Take links wherever they go."""
    monkeypatch.setattr(derivative_tapes, "SAVED", -(10**9))


@pytest.mark.parametrize("method", ["direct", "adjoint"])
def test_links_are_entries(method, monkeypatch):
    by = ["spring.stiffness", "A.rate", "gravity"]
    found = []
    for saved in (10**9, -(10**9)):
        monkeypatch.setattr(derivative_tapes, "SAVED", saved)
        sim = rtmbs.Simulation(sprung_rocker().compile(), h=2e-3)
        found.append(rtmbs.sensitivity(sim, 0.05, of=["tip.position", "C.reaction"], by=by, method=method).jacobian)
    assert error(found[1], found[0]) < 1e-10


def test_links_are_the_complex_step(always):
    h, by = CASES["slider_crank"]
    found = errors(rtmbs.library.build("slider_crank"), by[:2], h, 3)
    assert max(found.values()) < 1e-8


def test_a_large_mechanism_is_linked():
    model = rtmbs.library.build("fourbar", ny=1, nz=5)
    model.add_force("push", rtmbs.Motor(rtmbs.Input(0.0)), joint=next(iter(model.joints)))
    system = model.compile()
    sim = rtmbs.Simulation(system, h=5e-3, method=rtmbs.PenaltyTrapezoidal(tol=1e-12, projection_tol=1e-13))
    run = rtmbs.differentiable(sim, 0.1, of=[system.coordinate_names[0]], by=["push.torque"])
    _, pull_back = run.vjp(np.array([0.3]))
    slope = pull_back(np.ones(1))[0][0]
    (tape,) = (kept for kinds in RECORDED.get(sim.system, {}).values() for kept in kinds[1:])
    (blocks,) = tape.kept_blocks.values()
    assert len(blocks.iterates) > tape.iterates.size  # vertices of links
    assert slope == pytest.approx(differences(lambda value: run(np.array([value]))[0], 0.3, 0.5), rel=1e-8)
