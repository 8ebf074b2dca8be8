"""Mass matrix and forces of a Model at given joint coordinates, by the equations of its System."""

import numpy as np

from rtmbs.semirecursive.equations import SemiRecursiveEquations


def at_state(model, q, v, a):
    """Return M (n, n), M a - Q (n,) and the place of each joint's coordinate, at coordinates by joint."""
    system = model.compile()
    equations = SemiRecursiveEquations(system)
    place = {name: system.joints[name].dofs[0] for name in q}
    z, zd, zdd = (np.zeros(system.n) for _ in range(3))
    for given, out in ((q, z), (v, zd), (a, zdd)):
        for name, value in given.items():
            out[place[name]] = value
    equations.residual(z, zd, zdd, system.R0)
    return equations.mass_matrix(), equations.ws.tau.copy(), place
