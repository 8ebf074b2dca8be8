"""Nonholonomic constraints in the page form: wheels that roll on planes, and knife edges (METHODS 1.41).

The rules of ``page.py`` hold here. A wheel has centre C, axle n and radius R + crown, its plane the normal k. With w =
k - (k . n) n the contact point is c = C - R w / |w| - crown k. A knife edge touches at its own point.
"""

# Arrays of five namespaces pass through here: there is no type to write down.
# mypy: allow-untyped-defs, allow-untyped-calls

import numpy as np

from rtmbs.forces.algebra import on_ground, points
from rtmbs.numerics.rotations.plain import cross, dot, turn
from rtmbs.system.tables import EDGE, HEIGHT


def contact_rows(tables):
    """Return the slice of the rows of contacts, and the closure of each (k,)."""
    closures, closed = tables.closures, slice(int(tables.contacts.first[0]), int(tables.conditions.first[0]))
    counts = np.diff(closures.row_pointer)[closed]
    first = int(closures.row_pointer[closed.start])
    return slice(first, first + int(counts.sum())), np.repeat(np.arange(closed.start, closed.stop), counts)


def with_contacts(xp, tables, rows, own):
    """Return ``rows`` (B, mc, ...) with those of contacts in their place."""
    at, _ = contact_rows(tables)
    return xp.concatenate((rows[:, : at.start], own, rows[:, at.stop :]), axis=1)


def contact_geometry(xp, tables, A, r, V):
    """Return the direction t of every row, its rate, the point c and its rate, all (B, k, 3)."""
    at, closure = contact_rows(tables)
    closures, contacts, q = tables.closures, tables.contacts, closure - int(tables.contacts.first[0])
    connector = closures.connector[closure]
    a, b = tables.connectors.a[connector], tables.connectors.b[connector]
    A_a, A_b = (on_ground(xp, A, np.eye(3), side) for side in (a, b))
    w_a, w_b = (on_ground(xp, V, np.zeros(6), side)[..., 3:] for side in (a, b))
    axis_a, axis_b, edge = closures.axis_a[at], closures.axis_b[at], closures.kind[at] == EDGE
    R, crown, turns = contacts.radius[q][:, None], contacts.crown[q][:, None], contacts.radius[q] > 0.0
    C, Cd = points(xp, A, r, V, b, closures.point_b[closure])
    k, n = turn(xp, A_a, contacts.normal[q]), turn(xp, A_b, turns[:, None] * axis_b)
    kd, nd = cross(xp, w_a, k), cross(xp, w_b, n)
    k_n = dot(xp, k, n)[..., None]
    still = np.where(turns, 0.0, 1.0)[:, None] * np.array([1.0, 0.0, 0.0])  # any vector, where R = 0
    w = k - k_n * n
    wd = kd - (dot(xp, kd, n) + dot(xp, k, nd))[..., None] * n - k_n * nd
    w, wd = turns[:, None] * w + still, turns[:, None] * wd
    size = xp.sqrt(dot(xp, w, w))[..., None]
    u = w / size
    ud = (wd - u * dot(xp, u, wd)[..., None]) / size
    t = turn(xp, A_a, axis_a * ~edge[:, None]) + turn(xp, A_b, axis_b * edge[:, None])
    td = cross(xp, w_a, t) * ~edge[:, None] + cross(xp, w_b, t) * edge[:, None]
    return t, td, C - R * u - crown * k, Cd - R * ud - crown * kd


def contact_heights(xp, tables, A, r):
    """Return Phi of the contacts (B, k): k . (c - P) of HEIGHT, P the point of the plane; zero of rows of rates."""
    at, closure = contact_rows(tables)
    still = np.zeros((A.shape[0], A.shape[1], 6))
    t, _, c, _ = contact_geometry(xp, tables, A, r, still)
    a = tables.connectors.a[tables.closures.connector[closure]]
    P, _ = points(xp, A, r, still, a, tables.closures.point_a[closure])
    return (tables.closures.kind[at] == HEIGHT) * dot(xp, t, c - P)


def contact_wrenches(xp, tables, A, r, V):
    """Return G = [t; c x t] of the contacts and its rate (B, k, 6)."""
    t, td, c, cd = contact_geometry(xp, tables, A, r, V)
    G = xp.concatenate((t, cross(xp, c, t)), axis=-1)
    return G, xp.concatenate((td, cross(xp, cd, t) + cross(xp, c, td)), axis=-1)
