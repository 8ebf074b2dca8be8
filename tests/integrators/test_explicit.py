"""Steps that no accelerations satisfy are told, never called CONVERGED, by methods that solve for them at the end."""

import numpy as np
import pytest

import rtmbs
from rtmbs import METHODS, Outcome, Simulation, library
from tests.cases import spread
from tests.semirecursive.start.cases import parallelogram

SOLVING = ["variational-midpoint", "runge-kutta", "adams-bashforth"]  # the others judge steps of their own
EXPLICIT = [name for name in SOLVING if name != "variational-midpoint"]  # that one brings rates back to their loops
PART = 0.05  # [s] where two profiles part


def parting(rate, acceleration):
    """Return a profile of constant rate that goes on with an acceleration behind PART."""
    return rtmbs.Function(
        lambda t: rate * t + 0.5 * acceleration * max(t - PART, 0.0) ** 2,
        lambda t: rate + acceleration * max(t - PART, 0.0),
        lambda t: acceleration if t > PART else 0.0,
    )


@pytest.mark.parametrize("name", SOLVING)
def test_drivers_that_part_on_the_way(name):
    """Both cranks of a parallelogram are driven alike at first; behind PART no acceleration follows both."""
    model = parallelogram()
    model.add_driver("left drive", rtmbs.ConstantRate(1.0), joint="A")
    model.add_driver("right drive", parting(1.0, 0.5), joint="D")
    sim = Simulation(model.compile(), 1e-3, METHODS[name]())
    told = [sim.step() for _ in range(65)]
    assert {report.outcome for report in told[:49]} == {Outcome.CONVERGED}
    lost = {Outcome.NEAR_SINGULAR} if name == "variational-midpoint" else {Outcome.UNPROJECTED}
    assert {report.outcome for report in told[51:]} == lost
    assert max(report.acceleration_violation for report in told[51:]) > 0.05
    assert sim.run(0.067).outcomes == {one.name: 2 for one in lost}


@pytest.mark.parametrize("name", EXPLICIT)
def test_rates_that_drift_off_the_loops(name):
    """A crank-rocker whose rates are turned off its loop by hand."""
    sim = Simulation(library.build("crank_rocker").compile(), 1e-3, METHODS[name]())
    assert sim.step().outcome is Outcome.CONVERGED
    sim.state.zd[:] *= 1.0 + 0.02 * np.arange(sim.system.n)
    assert sim.step().outcome is Outcome.UNPROJECTED


@pytest.mark.parametrize("name", SOLVING)
@pytest.mark.parametrize(
    "machine", spread(["crank_rocker", "bricard", "top", "governor", "slider_crank", "driven_fourbar"], 2)
)
def test_ordinary_motion_is_not_doubted(name, machine):
    h = 2e-5 if machine == "governor" else 1e-3  # its springs are stiff
    sim = Simulation(library.build(machine).compile(), h, METHODS[name]())
    assert sim.run(200 * h).outcomes == {"CONVERGED": 200}
