"""Runs in segments: the same steps, the same derivatives, and less memory."""

import tracemalloc

import numpy as np
import pytest

import rtmbs
from rtmbs.errors import InputError
from rtmbs.results.samples import OF_STATE
from rtmbs.studies.sensitivities.channels import CheckpointedRun
from rtmbs.studies.sensitivities.sensitivity import private_simulation
from tests.studies.sensitivities.cases import error, sprung_rocker

STEPS, H = 36, 2e-3


def values(result):
    """Ends, sums over the run, an angle that a cut joint measures, and orientations, whose sign goes on."""
    r = result
    ends = [r["tip.position"][-1], r["coupler.orientation"][-1]]
    sums = [np.sum(r["C.angle"] ** 2), np.sum(r["spring.pull"]), np.sum(r["rocker.orientation"][:, 2] * r["t"])]
    return np.concatenate([*ends, np.stack(sums)])


@pytest.fixture(scope="module")
def simulation():
    model = sprung_rocker(rate=40.0)  # the cut joint goes round
    return model, rtmbs.Simulation(model.compile(), h=H)


@pytest.mark.parametrize("segments", [2, 7, 31])
def test_the_steps_between_are_the_same(simulation, segments):
    _, sim = simulation
    whole = next(CheckpointedRun(private_simulation(sim), STEPS).first())[1]
    run = CheckpointedRun(private_simulation(sim), STEPS, segments)
    forwards = list(run.first())
    assert len(forwards) == segments
    for backwards in (False, True):
        for first, recorded in run.again(backwards):
            part = slice(first, first + recorded.steps + 1)
            for name in ("t", *OF_STATE):
                wanted = getattr(whole.samples, name)[part]
                assert getattr(recorded.samples, name).tobytes() == wanted.tobytes()
            assert recorded.kept.tobytes() == whole.kept[part].tobytes()
            assert np.array_equal(recorded.jacobians, whole.jacobians[part.start : part.stop - 1])


@pytest.mark.parametrize("method", [pytest.param("direct", marks=pytest.mark.slow), "adjoint"])
def test_derivatives_are_those_without_checkpoints(simulation, method):
    _, sim = simulation
    by = ["spring.stiffness", "gravity", "A.rate"]
    base = rtmbs.sensitivity(sim, STEPS * H, values, by, method=method)
    for count in (1, 5, STEPS, 10 * STEPS):
        found = rtmbs.sensitivity(sim, STEPS * H, values, by, method=method, checkpoints=count)
        assert found.value.tobytes() == base.value.tobytes()
        assert error(found.jacobian, base.jacobian) < 1e-13
        assert found.missed == pytest.approx(base.missed, rel=1e-6)
    names = ["t", "tip.position", "coupler.orientation", "C.angle", "spring.pull", "rocker.orientation"]
    assert sorted(found.result.names()) == sorted(names)
    assert np.array_equal(found.result["C.angle"], base.result["C.angle"])
    assert found.result.channel("C.angle").unit == "rad"


def test_numbers_of_the_model(simulation):
    model, sim = simulation
    of = [lambda r: np.sum(r["tip.position"] ** 2, axis=0), ["coupler.mass", "tip.point"]]
    base, found = (
        rtmbs.sensitivity(sim, 0.1, *of, model=model, method="adjoint", checkpoints=count) for count in (None, 6)
    )
    assert error(found.jacobian, base.jacobian) < 1e-13


def peak(sim, t_end, checkpoints):
    """Return the largest memory that a sensitivity takes at once [bytes]."""
    tracemalloc.start()
    try:
        rtmbs.sensitivity(sim, t_end, "tip.position", ["gravity"], method="adjoint", checkpoints=checkpoints)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_a_long_run_takes_less_memory(simulation):
    _, sim = simulation
    rtmbs.sensitivity(sim, 20 * H, "tip.position", ["gravity"], method="adjoint")  # programs are recorded once
    whole, parts = peak(sim, 3000 * H, None), peak(sim, 3000 * H, 50)
    assert parts < 0.5 * whole


@pytest.mark.parametrize("count", [0, -1, 2.5, True, "many"])
def test_a_number_of_checkpoints_is_whole_and_positive(simulation, count):
    _, sim = simulation
    with pytest.raises(InputError, match=r"checkpoints is .*; it must be a whole number from 1"):
        rtmbs.sensitivity(sim, 0.1, "tip.position", ["gravity"], checkpoints=count)
