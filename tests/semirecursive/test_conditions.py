"""Constraints of the user in the page form: rates and accelerations are the time derivatives of what they return."""

import numpy as np
import pytest

from rtmbs.semirecursive import page
from tests.mechanisms import committed, mechanism_of, random_model, random_motion

TINY = 1e-30


def error(found, expected):
    return np.abs(found - expected).max() / np.abs(expected).max()


@pytest.fixture(params=[1, 2], ids=["9 bodies", "14 bodies"])
def case(request):
    """A compiled model with constraints between frames and on coordinates, at a step boundary."""
    system = random_model(request.param, (9, 14)[request.param - 1]).compile()
    mechanism = mechanism_of(request.param, system)
    mechanism, motion = committed(mechanism, random_motion(request.param, mechanism.tables))
    first = int(mechanism.tables.closures.row_pointer[mechanism.tables.conditions.first[0]])
    rows = slice(first, first + len(mechanism.tables.conditions.scale))
    assert rows.stop - rows.start >= 5
    return mechanism, [x[None] for x in motion[:3]], rows


def later(mechanism, t):
    """Return the mechanism with the clock of its constraints moved on by ``t``."""
    u = mechanism.u.astype(type(t))
    u[mechanism.tables.conditions.clock[0]] += t
    return mechanism._replace(u=u)


def test_slopes_are_derivatives_of_the_function(case):
    mechanism, (z, _, _), rows = case
    n = z.shape[1]
    steps = z + 1j * TINY * np.eye(n)
    expected = page.closures(np, *mechanism, steps)[:, rows].imag.T / TINY
    assert error(page.closure_jacobian(np, *mechanism, z)[0, rows], expected) < 1e-13


def test_rates_and_accelerations_are_time_derivatives(case):
    mechanism, (z, zd, zdd), rows = case
    t = 1j * TINY
    Phid = page.closures(np, *later(mechanism, t), z + t * zd)[:, rows].imag / TINY
    Phidd = page.closure_velocities(np, *later(mechanism, t), z + t * zd, zd + t * zdd)[:, rows].imag / TINY
    assert error(page.closure_velocities(np, *mechanism, z, zd)[:, rows], Phid) < 1e-13
    assert error(page.closure_accelerations(np, *mechanism, z, zd, zdd)[:, rows], Phidd) < 1e-12
