"""What a start must not be: not finite, open, assembled the wrong way round, a spring without a direction."""

import numpy as np

from rtmbs.errors import StartError, StateError
from rtmbs.integrators.settings import Settings, StateArrays
from rtmbs.limits.bounds import BEYOND
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.state import State

COINCIDENT = 1e-12  # distance of the markers of a spring, in characteristic lengths, that is none


def check_finite(equations: SemiRecursiveEquations, arrays: StateArrays) -> None:
    """Refuse a start that is not finite, or beyond all range: a state never is."""
    system = equations.system
    for name, values in (("position", arrays.z), ("rate", arrays.zd), ("acceleration", arrays.zdd)):
        if len(bad := np.flatnonzero(~(np.abs(values) <= BEYOND))):
            raise StartError(
                f"the first {name} of {system.coordinate_names[bad[0]]!r} is not finite; look for numbers far"
                " too large in gravity, forces, inputs and initial values"
            )
    if len(bad := np.flatnonzero(~(np.abs(arrays.lam) <= BEYOND))):
        raise StartError(
            f"the first multiplier of {system.row_names[bad[0]]!r} is not finite; look for numbers far too large"
            " in forces and penalties"
        )


def check_closed(equations: SemiRecursiveEquations, state: State, settings: Settings, what: str) -> None:
    """Refuse a state whose loops are further open than a step leaves them; raises StateError naming ``what``."""
    equations.u = state.u  # driven coordinates are compared with functions of time that stand there
    gap = np.abs(equations.close(state.z, state.R0)) / settings.scale
    if not np.max(gap, initial=0.0) <= settings.loop_tolerance:
        raise StateError(
            f"{what}: {equations.system.row_names[int(np.argmax(gap))]!r} is open by {np.max(gap):.3g} of its size; "
            f"a step leaves {settings.loop_tolerance:g} at most, so z, R0 or u is not what a step left"
        )


def check_facing(equations: SemiRecursiveEquations) -> None:
    """Refuse an assembly in which the axes of a cut joint point against each other (METHODS 1.25)."""
    ws, links = equations.ws, equations.tables.links
    for closure, record in enumerate(equations.system.closures):
        A_a, A_b = ws.A[links.a[closure]], ws.A[links.b[closure]]
        for axis_a, axis_b in zip(record.aligned_a, record.aligned_b, strict=True):
            if (A_a @ axis_a) @ (A_b @ axis_b) <= 0.0:
                raise StartError(
                    f"cut joint {record.name!r} assembled the wrong way round: its axes point against each other;"
                    " give an initial value on the wanted side"
                )


def check_springs(equations: SemiRecursiveEquations) -> None:
    """Refuse a spring whose markers coincide at the start: its direction is not defined."""
    ws, links, springs = equations.ws, equations.tables.links, equations.tables.springs
    names = {force.row: force.name for force in equations.system.forces.values() if force.kind == "spring"}
    first = len(equations.tables.closures.point_a)
    for k in range(len(springs.slot)):
        a, b = links.a[first + k], links.b[first + k]
        gap = ws.r[b] + ws.A[b] @ springs.point_b[k] - ws.r[a] - ws.A[a] @ springs.point_a[k]
        if np.linalg.norm(gap) <= COINCIDENT * equations.system.length:
            raise StartError(
                f"force {names[k]!r}: its two markers coincide at the start, so it has no direction;"
                " move one of them, or give other initial values"
            )
