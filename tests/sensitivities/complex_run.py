"""A run in complex numbers: the equations of every step solved anew, in NumPy, from a state with an imaginary part."""

import numpy as np

from rtmbs.sensitivities.elimination import solve_steps

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
        assert chunk.made == made
        y = solved(tape, steps.cases[chunk.case[0]], point[0].astype(complex), rate, known[0], solve_with(steps, chunk))
        rate = behind(tape, y, rate)
        parts = tape.y.split(y)
        found.append(np.concatenate((rate, parts["push"] + parts["nu"])))
    return np.array(found)


def solve_with(steps, chunk):
    """Return what solves with the real matrix of one step."""

    def solve(right):
        found = right.reshape(1, -1, 1).copy()
        solve_steps(steps.blocks(1), chunk.values, chunk.case, chunk.made, found)
        return found[0, :, 0]

    return solve


def solved(tape, case, q, rate, known, solve):
    """Return the imaginary part over TINY of the unknowns y with which the complex equations hold."""
    y, x, p = tape.inputs["y"], tape.inputs["x"], tape.inputs["p"]
    q[x] += 1j * TINY * rate
    q[p] += 1j * TINY
    real = tape.equations(case, q.real + 0j, known).real
    for _ in range(ITERATIONS):
        left = tape.equations(case, q, known) - real  # what tolerances of the run left is no part of the derivative
        q[y] -= 1j * solve(left.imag)
    return q[y].imag / TINY


def behind(tape, y, rate):
    """Return the derivative (nx,) of the state behind a step."""
    parts = tape.y.split(y)
    z = parts["inc"] + tape.plain * rate[: tape.n]
    for e, i in enumerate(tape.first):
        z[i : i + 3] = parts["turn"][3 * e : 3 * e + 3]
    return np.concatenate((z, parts["zd"], parts["zdd"], parts["kept"]))
