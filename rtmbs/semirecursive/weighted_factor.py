"""The factor of the start: M + Phi_z^T weight Phi_z, in static order, or dense where that order loses all digits."""

from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import StartError
from rtmbs.integrators.base import NotFinite, SingularTangent
from rtmbs.semirecursive.evaluation import assemble_mass_metric

if TYPE_CHECKING:
    from rtmbs.semirecursive.equations import SemiRecursiveEquations

Array = NDArray[np.float64]

INERTIA = 1e-8  # of the largest square root of a diagonal entry: a coordinate that moves bodies with inertia
ONE_MOTION = 1e-12  # eigenvalue of the mass matrix with a unit diagonal: coordinates that move the same
PART = 0.1  # of the largest part in that motion
DENSE_LIMIT = 6000  # coordinates: a dense factor of more takes gigabytes


def factor_weights(equations: "SemiRecursiveEquations", weights: list[Array]) -> None:
    """Factor M + Phi_z^T weight Phi_z with the first of the weights (m,) that allows it; ``equations.solve`` solves.

    Static order first, for every weight; a long straight chain needs the exchanges of a dense factor.
    Raises StartError naming the coordinate when nothing gives it inertia.
    """
    for solver in equations.solvers if equations.n <= DENSE_LIMIT else equations.solvers[:1]:
        equations.solver = solver
        for weight in weights:
            assemble_mass_metric(equations.tables, 1.0, weight, equations.ws, equations.matrix.values)
            try:
                with suppress(SingularTangent):
                    return equations.factor_matrix()
            except NotFinite:
                raise StartError(
                    "a number that is not finite appeared: a force, an input, a rate or an angle is too large"
                ) from None
    raise StartError(reason(equations))


def reason(equations: "SemiRecursiveEquations") -> str:
    """Return why no factor was found, with the name of the coordinate."""
    name = equations.system.coordinate_names[equations.weakest]
    if equations.n > DENSE_LIMIT:
        return (
            f"coordinate {name!r} has no inertia, or one that rounding hides among {equations.n} coordinates (above"
            f" {DENSE_LIMIT} no dense factor is tried); give what it moves mass and inertia, or bend a long straight"
            " chain at the start"
        )
    if together := moving_together(equations):
        return (
            f"the motions of {' and '.join(map(repr, together))} are one and the same at this pose, as when the axes of"
            " two hinges coincide (gimbal lock): nothing tells their accelerations apart; start from another pose, or"
            " give the bodies between them inertia"
        )
    return (
        f"coordinate {name!r} has no inertia: the bodies it moves are massless (or turn about their own mass points)"
        " and no loop holds them; give them mass or inertia, or close them"
    )


def moving_together(equations: "SemiRecursiveEquations") -> tuple[str, ...]:
    """Return the coordinates that move bodies with inertia, and of which a combination moves none."""
    M = np.asarray(equations.matrix)
    size = np.sqrt(np.abs(np.diag(M)))
    moving = size > INERTIA * size.max(initial=0.0)
    if not np.any(moving) or not np.all(np.isfinite(M)):
        return ()
    scaled = M[np.ix_(moving, moving)] / np.outer(size[moving], size[moving])
    values, vectors = np.linalg.eigh(0.5 * (scaled + scaled.T))
    if values[0] > ONE_MOTION:
        return ()
    taking_part = np.flatnonzero(moving)[np.abs(vectors[:, 0]) > PART * np.abs(vectors[:, 0]).max()]
    names = [equations.system.coordinate_names[i] for i in taking_part]
    return tuple(names) if len(names) > 1 else ()
