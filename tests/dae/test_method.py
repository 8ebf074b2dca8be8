"""Reports of steps that methods of time take in joint coordinates."""

import numpy as np

from rtmbs import Simulation, methods
from rtmbs.formulations import Baumgarte
from tests.contracts.machines import closed_model


def test_a_report_tells_rows_of_places_from_rows_of_turns():
    """What Baumgarte leaves of Phi, Phid and Phidd, largest of both kinds of rows."""
    sim = Simulation(closed_model(2).compile(), 2e-3, methods.RungeKutta(formulation=Baumgarte(20.0, 20.0)))
    report = [sim.step() for _ in range(5)][-1]
    equations, state, turns = sim.equations, sim.state, np.array(sim.system.row_is_rotation)
    Phi = equations.close(state.z, state.R0)
    Phid = equations.closure_velocities(state.zd)
    Phidd = equations.closure_accelerations(state.zd, state.zdd)
    for name, left in (("position", Phi), ("velocity", Phid), ("acceleration", Phidd)):
        found = getattr(report, f"{name}_violation"), getattr(report, f"{name}_violation_rotation")
        wanted = np.abs(left[~turns]).max(), np.abs(left[turns]).max()
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-14)
    assert abs(report.acceleration_violation - report.acceleration_violation_rotation) > 1e-12
