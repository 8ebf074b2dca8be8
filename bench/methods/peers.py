"""Peers of the DAE family without rtmbs: SciPy and CVODE on reduced equations, IDA and scipy_dae on those of GGL.

The equations of Gear, Gupta and Leimkuhler are made of the functions of a system. A peer that is not installed is left
out.
"""

import numpy as np
from scipy.integrate import solve_ivp

from rtmbs.formulations.contract import holonomic_rows, with_rate_rows


def stabilised(case):
    """Return the equations of Gear, Gupta and Leimkuhler: n, unknowns and their rates at the start, and F(t, y, y')."""
    system, q, v = case[:3]
    system = with_rate_rows(system)
    n, m, held = system.n, system.m, holonomic_rows(system)

    def parts(y, multipliers):
        return y[:n], y[n : 2 * n], multipliers[:m], multipliers[m:]

    def residual(t, y, yp, multipliers):
        q, v, lam, mu = parts(y, multipliers)
        P = system.constraint_jacobian(q, t)
        balance = system.mass(q, t) @ yp[n : 2 * n] + P.T @ lam - system.force(q, v, t)
        rows = P @ v + system.constraint_rate_terms(q, v, t)[0], system.constraints(q, t)[:held]
        return np.concatenate((yp[:n] - v + P[:held].T @ mu, balance, *rows))

    P, M = system.constraint_jacobian(q, 0.0), system.mass(q, 0.0)
    saddle = np.block([[M, P.T], [P, np.zeros((m, m))]])
    right = np.concatenate((system.force(q, v, 0.0), system.constraint_rate_terms(q, v, 0.0)[1]))
    found = np.linalg.lstsq(saddle, right, rcond=1e-13)[0]
    return n, m, held, np.concatenate((q, v)), np.concatenate((v, found[:n])), found[n:], residual


def peers(case):
    """Return the peers that are installed, each a function of the tolerance."""
    t_end, reduced = case.t_end, case.reduced
    found = {}
    if reduced is not None:
        rates, y0, place = reduced
        for solver in ("DOP853", "LSODA", "Radau"):
            found[f"scipy {solver}, reduced"] = lambda tol, solver=solver: place(
                solve_ivp(rates, (0.0, t_end), y0, solver, rtol=max(tol, 1e-13), atol=tol).y[:, -1]
            )
    n, m, held, y, yp, lam, residual = stabilised(case)
    try:
        from sksundae.cvode import CVODE as RawCVODE
        from sksundae.ida import IDA as RawIDA

        if reduced is not None:
            found["sundials CVODE, reduced"] = lambda tol: raw_cvode(RawCVODE, reduced, t_end, tol)
        found["sundials IDA, GGL"] = lambda tol: raw_ida(RawIDA, (n, m, held, y, yp, lam, residual), t_end, tol)
    except ImportError:
        pass
    try:
        from scipy_dae.integrate import solve_dae

        z0, zp0 = np.concatenate((y, np.zeros(m + held))), np.concatenate((yp, lam, np.zeros(held)))

        def equations(t, z, zp):  # multipliers are rates of further unknowns
            return residual(t, z[: 2 * n], zp[: 2 * n], zp[2 * n :])

        for solver in ("Radau", "BDF"):
            found[f"scipy_dae {solver}, GGL"] = lambda tol, solver=solver: solve_dae(
                equations, (0.0, t_end), z0, zp0, method=solver, rtol=tol, atol=tol
            ).y[:n, -1]
    except ImportError:
        pass
    return found


def raw_cvode(kind, reduced, t_end, tol):
    """Return q at the end by CVODE, Adams formulas, on reduced coordinates."""
    rates, y0, place = reduced

    def rhs(t, y, out):
        out[:] = rates(t, y)

    solver = kind(rhs, method="Adams", rtol=tol, atol=tol, max_num_steps=10**6)
    solver.init_step(0.0, y0)
    return place(np.ravel(solver.step(t_end).y))


def raw_ida(kind, equations, t_end, tol):
    """Return q at the end by IDA."""
    n, m, held, y, yp, lam, residual = equations

    def left(t, z, zp, out):
        out[:] = residual(t, z[: 2 * n], zp[: 2 * n], z[2 * n :])

    atol = np.concatenate((np.full(2 * n, tol), np.full(m + held, 1e12)))
    algebraic = list(range(2 * n, 2 * n + m + held))
    solver = kind(left, rtol=tol, atol=atol, algebraic_idx=algebraic, max_num_steps=10**6)
    solver.init_step(0.0, np.concatenate((y, lam, np.zeros(held))), np.concatenate((yp, np.zeros(m + held))))
    found = solver.step(t_end)
    return np.ravel(found.y)[:n] if found.success else None
