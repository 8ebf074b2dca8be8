"""Several equilibria from several starts."""

import numpy as np
from numpy.typing import NDArray

from rtmbs.analysis.equilibrium import Equilibrium, at_rest, equilibrium
from rtmbs.analysis.neighbourhood import closed, null_basis
from rtmbs.analysis.static import NoEquilibrium, pose_after
from rtmbs.errors import InputError, StartError
from rtmbs.integrators.checks import whole
from rtmbs.results.motion import body_motion
from rtmbs.results.resampled import Resampled
from rtmbs.results.samples import one_sample
from rtmbs.simulation.simulation import Simulation, store_of
from rtmbs.system.system import System
from rtmbs.system.tables import PRISMATIC

Array = NDArray[np.float64]

SAME = 1e-6  # of the length, or rad: poses nearer to each other are one
SHIFT = 1.0  # lengths: how far prismatic coordinates start from the pose


def equilibria(of: System | Simulation, starts: int = 20, *, stable: bool = False, seed: int = 0) -> list[Equilibrium]:
    """Return the different equilibria that searches from ``starts`` poses end at, stable ones first.

    The first start is the present pose. The others turn and shift its independent coordinates at random: angles by up
    to half a turn, displacements by up to the length of the mechanism. Poses that do not close are left out. With
    ``stable`` searches go downhill and leave saddles. That there are no others is not proven.
    Raises InputError, and NoEquilibrium when no search ends at one.

        for one in rtmbs.equilibria(model.compile(), starts=50):
            print(one.stable, one.state.z)
    """
    whole("starts", starts, 1, 1_000_000)
    whole("seed", seed, 0, 2**63 - 1)
    first, rng = at_rest(of), np.random.default_rng(seed)
    found: list[tuple[Equilibrium, Array]] = []
    refused: Exception | None = None
    for k in range(starts):
        start = first.independent() if k == 0 else elsewhere(first, rng)
        if start is None:
            continue
        try:
            one = equilibrium(start, stable=stable)
        except (NoEquilibrium, InputError, StartError) as error:
            refused = refused or error
            continue
        pose = pose_of(one.simulation)
        if not any(same(pose, other, first.system.length) for _, other in found):
            found.append((one, pose))
    if not found:
        raise NoEquilibrium(f"none of {starts} starts leads to an equilibrium; the first ends so: {refused}")
    return sorted((one for one, _ in found), key=lambda one: not one.stable)


def elsewhere(sim: Simulation, rng: np.random.Generator) -> Simulation | None:
    """Return a Simulation at rest in a random pose; None where the loops do not close."""
    own = sim.independent()
    try:
        basis = null_basis(own, closed(own)[0])
    except InputError:  # a dead centre: any coordinate may be turned
        return None
    shifts = own.system.tables.dofs.kind[basis.independent] == PRISMATIC
    reach = np.where(shifts, SHIFT * own.system.length, np.pi)
    state = pose_after(own, basis.N, basis.independent, reach * rng.uniform(-1.0, 1.0, len(reach)))
    if state is None:
        return None
    try:
        store_of(own).go_on_from(state, own.t)
    except StartError:
        return None
    return own


def pose_of(sim: Simulation) -> Array:
    """Return places of mass centres and orientations (bodies, 12) in the world."""
    system = sim.system
    resampled = Resampled(system, sim.equations.tables, one_sample(sim.state))
    rows = []
    for name in system.topology.bodies[1:]:
        info = system.bodies[name]
        body = body_motion(resampled, info)
        rows.append(np.concatenate((body.in_world(body.point(info.center_of_mass))[0], body.orientation[0].ravel())))
    return np.array(rows).reshape(-1, 12)


def same(a: Array, b: Array, length: float) -> bool:
    """True for poses with every body at one place."""
    apart = np.abs(a - b)
    return bool(apart[:, :3].max(initial=0.0) <= SAME * length and apart[:, 3:].max(initial=0.0) <= SAME)
