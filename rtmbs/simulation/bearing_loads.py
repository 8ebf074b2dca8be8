"""Loads of bearings that follow the reactions of their joints inside every step (METHODS 8.6).

A friction F(N) moves the reactions N that it depends on. The load at the end of a step is the fixed point of

    take the step with load N_k at its end,    N_{k+1} = load of the reaction at the new state

found by Aitken's relaxation. Loads at both ends of a step agree with their reactions, so the order of the method stays.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rtmbs.contact.bearing import CONTACT, LOAD
from rtmbs.integrators.report import Outcome, StepReport
from rtmbs.results.motion_channels import body_motion
from rtmbs.results.reactions import reaction_values
from rtmbs.results.samples import Evaluation, one_sample
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.state import State
from rtmbs.system.system import System

Array = NDArray[np.float64]

AGREES = 1e-9  # of the largest load: what the load of a step and its reaction may differ by
MOST = 30  # tries of a step: without friction that jams, four do
LEAST, LARGEST = 0.05, 2.0  # relaxation: shares of the change that are taken


class BearingLoads:
    """Loads of all frictions of a System that follow their joints, and their places among the inputs."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.bearings = list(system.bearings.values())
        starts = system.tables.closures.row_pointer
        self.rows = {  # of the gaps of rigid contacts: their multipliers are the normal forces
            bearing.joint: int(starts[system.closure_names.index(bearing.joint)])
            for bearing in self.bearings
            if bearing.kind == CONTACT
        }
        self.slots = np.array([system.inputs[f"{name}.{LOAD}"].start for name in system.bearings], np.int64)

    def of(self, equations: SemiRecursiveEquations, state: State) -> Array:
        """Return the loads (k,) that belong to the reactions at a state, whose accelerations balance its forces."""
        found, seen = np.empty(len(self.bearings)), None
        for k, bearing in enumerate(self.bearings):
            if (row := self.rows.get(bearing.joint)) is not None:
                found[k] = abs(state.lam[row])
                continue
            seen = Evaluation(self.system, equations.tables, one_sample(state)) if seen is None else seen
            wrench = reaction_values(seen, self.system, bearing.joint)[0]
            found[k] = bearing.load(wrench, self.turn_of(seen, bearing.joint))
        return found

    def turn_of(self, seen: Evaluation, joint: str) -> Array:
        """Return the orientation (3, 3) of the second body of a joint."""
        info = self.system.joints.get(joint)
        if info is None or (body := self.system.bodies[info.b]).dof < 0:
            return np.eye(3)
        return np.asarray(body_motion(seen, body).orientation[0])

    def settle(self, u: Array, loads: Callable[[], Array | None]) -> bool:
        """Let the loads in ``u`` (nu,) be those that ``loads`` answers for them; False where they do not agree.

        ``loads`` returns None where there is no answer.
        """
        given, share, before = u[self.slots].copy(), 1.0, None
        for _ in range(MOST):
            u[self.slots] = given
            found = loads()
            if found is None:
                return True
            missed = found - given
            if np.max(np.abs(missed)) <= AGREES * np.max(np.abs(found)):
                return True
            if before is not None and (turned := missed - before) @ turned > 0.0:
                share = float(np.clip(-share * (before @ turned) / (turned @ turned), LEAST, LARGEST))
            given, before = given + share * missed, missed
        return False


def unsettled(report: StepReport, loads: BearingLoads) -> StepReport:
    """Return the report of a step in which friction and reactions do not come to agree."""
    names = tuple(loads.system.bearings)
    why = "the loads of bearings and the friction that they cause do not agree, as where friction jams a slide"
    return report._replace(outcome=Outcome.NOT_CONVERGED, worst=names, reason=why)
