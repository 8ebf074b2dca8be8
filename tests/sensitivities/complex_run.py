"""A run in complex numbers: the equations of every step solved anew, in NumPy, from a state with an imaginary part."""

import numpy as np

from rtmbs.sensitivities.elimination import Elimination
from rtmbs.sensitivities.step_tape import Case

TINY = 1e-30  # the imaginary part
ITERATIONS = 6  # of Newton's iteration with the real matrix; the imaginary part follows linearly


def complex_states(steps, first):
    """Return the derivatives (K, nx + m) of states and multipliers of recorded steps, ``first`` (nx,) the first one.

    By a complex step: ``steps`` has one parameter, which changes by the imaginary part as well.
    """
    tape, rate, found = steps.tape, first, []
    for k in range(steps.recorded.steps):
        chunk = steps.chunk(k, 1)
        point, known, made, _ = steps.points(k, 1)
        held = steps.recorded.kept[k : k + 1] != 0.0
        G, J = np.zeros((1, tape.y.size)), np.zeros((1, tape.y.size * tape.inputs.size))
        steps.settle_balances(point, known, made, held, *evaluated(steps, point, known, made, held, G, J))
        case = Case(int(made[0]), tuple(bool(one) for one in held[0]))
        y = solved(tape, case, point[0].astype(complex), rate, known[0], Elimination(tape, chunk, steps.alpha))
        rate = behind(tape, y, rate)
        parts = tape.y.split(y)
        found.append(np.concatenate((rate, parts["push"] + parts["nu"])))
    return np.array(found)


def evaluated(steps, point, known, made, held, G, J):
    """Evaluate the equations of one step."""
    steps.evaluate(point, known, made, held, np.arange(1), G, J)
    return G, J


def solved(tape, case, q, rate, known, elimination):
    """Return the imaginary part over TINY of the unknowns y with which the complex equations hold."""
    y, x, p = tape.inputs["y"], tape.inputs["x"], tape.inputs["p"]
    q[x] += 1j * TINY * rate
    q[p] += 1j * TINY
    real = tape.equations(case, q.real + 0j, known).real
    for _ in range(ITERATIONS):
        left = tape.equations(case, q, known) - real  # what tolerances of the run left is no part of the derivative
        q[y] -= 1j * elimination.solve(left.imag[None, :, None])[0, :, 0]
    return q[y].imag / TINY


def behind(tape, y, rate):
    """Return the derivative (nx,) of the state behind a step."""
    parts = tape.y.split(y)
    z = parts["inc"] + tape.plain * rate[: tape.n]
    for e, i in enumerate(tape.first):
        z[i : i + 3] = parts["turn"][3 * e : 3 * e + 3]
    return np.concatenate((z, parts["zd"], parts["zdd"], parts["kept"]))
