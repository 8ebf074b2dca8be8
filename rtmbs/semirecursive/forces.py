"""Compiled force elements: their share of Q, and their local stiffness and damping in the tangent.

A link carries a wrench F on step b and -F on step a, so Q_j = sign_j S_j . F on its branch. The derivative of Q_j by
z_i has two parts: S_j turns with step i when i lies above j, or in its element (S_j . (S_i x* F) with a minus sign),
and F itself changes. F changes with the displacement twist S_i of its end and, through the velocities, with
S_i x V_end + psid_i (METHODS 1.26). Both parts stay on the branch, because every element is invariant under a common
rigid motion or hangs on ground.
"""

import numpy as np

from rtmbs.jit.compiled import inner_kernel, kernel, merged_kernel
from rtmbs.semirecursive.laws import evaluate_laws, law_variation, law_wrench
from rtmbs.spatial import (
    add3,
    add6,
    angular,
    combine6,
    cross3,
    cross_force,
    cross_motion,
    dot3,
    dot6,
    force_at,
    join,
    load3,
    load6,
    place,
    point_velocity,
    rotate,
    scale3,
    scale6,
    sub3,
)
from rtmbs.system.tables import ROTATION


@merged_kernel
def apply_forces(tables, z, zd, u, ws):
    """tau -= Q of every force element, at the swept positions and velocities."""
    joint_forces, springs, wrenches = tables.joint_forces, tables.springs, tables.wrenches
    for k in range(len(joint_forces.step)):
        i, slot = joint_forces.step[k], joint_forces.slot[k]
        ws.tau[i] += u[slot] * (z[i] - u[slot + 2]) + u[slot + 1] * zd[i] - u[slot + 3]
    link = len(tables.closures.point_a)
    for k in range(len(springs.slot)):
        apply_wrench(tables.links, link, spring_wrench(springs, k, tables.links, link, u, ws), ws)
        link += 1
    for k in range(len(wrenches.slot)):
        apply_wrench(tables.links, link, given_wrench(wrenches, k, tables.links.b[link], u, ws), ws)
        link += 1
    evaluate_laws(tables, z, zd, u, ws)
    laws = tables.laws
    for k in range(len(laws.frame_a)):
        apply_wrench(tables.links, link, law_wrench(laws, k, tables.links, link, ws), ws)
        link += 1
    for o in range(len(laws.row)):
        ws.tau[laws.row[o]] -= ws.law_force[o]


@inner_kernel
def apply_wrench(links, l, F, ws):
    """tau_j -= sign_j S_j . F along the branch of link ``l``."""
    for k in range(links.pointer[l], links.pointer[l + 1]):
        j = links.step[k]
        ws.tau[j] -= links.sign[k] * dot6(load6(ws.S, j), F)


@inner_kernel
def spring_state(springs, k, links, l, ws):
    """Return x_a, x_b, unit vector a to b, length, relative velocity of the points."""
    a, b = links.a[l], links.b[l]
    xa, xb = place(ws.A, ws.r, a, load3(springs.point_a, k)), place(ws.A, ws.r, b, load3(springs.point_b, k))
    d = sub3(xb, xa)
    length = np.sqrt(dot3(d, d))
    velocity = sub3(point_velocity(load6(ws.V, b), xb), point_velocity(load6(ws.V, a), xa))
    return xa, xb, scale3(1.0 / length, d), length, velocity


@inner_kernel
def spring_pull(slot, u, length, rate):
    """Return k (l - length) + c ld + tension [N]; positive pulls the points together."""
    return u[slot] * (length - u[slot + 2]) + u[slot + 1] * rate + u[slot + 3]


@inner_kernel
def spring_wrench(springs, k, links, l, u, ws):
    """Wrench of spring ``k`` on step b."""
    _, xb, e, length, velocity = spring_state(springs, k, links, l, ws)
    return force_at(xb, scale3(-spring_pull(springs.slot[k], u, length, dot3(e, velocity)), e))


@inner_kernel
def spring_variation(springs, k, links, l, u, side, X, dV, ws):
    """Change of the wrench on b when the end ``side`` (-1: a, +1: b) moves by the twist X and its velocity by dV.

    The velocity of the moved point changes by omega x dx as well, for the twist is kept while the point moves.
    """
    xa, xb, e, length, velocity = spring_state(springs, k, links, l, ws)
    end, x = (links.a[l], xa) if side < 0.0 else (links.b[l], xb)
    dx = point_velocity(X, x)
    dv = add3(point_velocity(dV, x), cross3(angular(load6(ws.V, end)), dx))
    along = dot3(e, dx)
    de = scale3(side / length, sub3(dx, scale3(along, e)))
    slot = springs.slot[k]
    pull = spring_pull(slot, u, length, dot3(e, velocity))
    dpull = u[slot] * side * along + u[slot + 1] * (dot3(de, velocity) + side * dot3(e, dv))
    force = add3(scale3(-dpull, e), scale3(-pull, de))
    if side < 0.0:
        return force_at(xb, force)
    return add6(force_at(xb, force), join(scale3(0.0, e), cross3(dx, scale3(-pull, e))))


@inner_kernel
def given_wrench(wrenches, k, b, u, ws):
    """Wrench ``k`` on step b about the global origin."""
    slot = wrenches.slot[k]
    f, n = (u[slot], u[slot + 1], u[slot + 2]), (u[slot + 3], u[slot + 4], u[slot + 5])
    x = place(ws.A, ws.r, b, load3(wrenches.point, k))
    if wrenches.follows[k] == 1:
        fw, nw = rotate(ws.A, b, rotate(wrenches.axes, k, f)), rotate(ws.A, b, rotate(wrenches.axes, k, n))
        return join(fw, add3(cross3(x, fw), nw))
    return join(add3(f, scale3(0.0, x)), add3(cross3(x, f), n))


@inner_kernel
def given_wrench_variation(wrenches, k, b, u, X, ws):
    """Change of wrench ``k`` when step b moves by the twist X."""
    F = given_wrench(wrenches, k, b, u, ws)
    if wrenches.follows[k] == 1:
        return cross_force(X, F)
    slot = wrenches.slot[k]
    x = place(ws.A, ws.r, b, load3(wrenches.point, k))
    dx = point_velocity(X, x)
    return join(scale3(0.0, x), cross3(dx, (u[slot], u[slot + 1], u[slot + 2])))


@merged_kernel
def add_force_tangent(tables, u, velocity, position, ws, values):
    """values += velocity C + position K of the force elements; ``psid`` as the rigid-body tangent left it."""
    joint_forces, springs, wrenches, links = tables.joint_forces, tables.springs, tables.wrenches, tables.links
    for k in range(len(joint_forces.step)):
        slot = joint_forces.slot[k]
        values[joint_forces.position[k]] += position * u[slot] + velocity * u[slot + 1]
    link = len(tables.closures.point_a)
    for k in range(len(springs.slot)):
        F = spring_wrench(springs, k, links, link, u, ws)
        for c in range(links.pointer[link], links.pointer[link + 1]):
            S, side = load6(ws.S, links.step[c]), links.sign[c]
            X, dV = end_motion(tables.steps, links, link, c, velocity, position, ws)
            dF = spring_variation(springs, k, links, link, u, side, X, dV, ws)
            add_link_column(tables.steps, links, link, c, dF, scale6(position, cross_force(S, F)), ws, values)
        link += 1
    for k in range(len(wrenches.slot)):
        b = links.b[link]
        F = given_wrench(wrenches, k, b, u, ws)
        for c in range(links.pointer[link], links.pointer[link + 1]):
            X = scale6(position, load6(ws.S, links.step[c]))
            dF = given_wrench_variation(wrenches, k, b, u, X, ws)
            add_link_column(tables.steps, links, link, c, dF, cross_force(X, F), ws, values)
        link += 1
    add_law_tangent(tables, link, velocity, position, ws, values)


@merged_kernel
def add_law_tangent(tables, link, velocity, position, ws, values):
    """values += velocity C + position K of the force laws, those between frames from ``link`` on."""
    laws, links = tables.laws, tables.links
    for k in range(len(laws.frame_a)):
        F = law_wrench(laws, k, links, link, ws)
        for c in range(links.pointer[link], links.pointer[link + 1]):
            S, side = load6(ws.S, links.step[c]), links.sign[c]
            X, dV = end_motion(tables.steps, links, link, c, velocity, position, ws)
            dF = law_variation(laws, k, links, link, side, X, dV, ws)
            add_link_column(tables.steps, links, link, c, dF, scale6(position, cross_force(S, F)), ws, values)
        link += 1
    for e in range(len(laws.force_entry)):
        factor = velocity if laws.force_entry[e, 2] == 1 else position
        values[laws.force_entry[e, 3]] -= factor * ws.law_entry[e]


@inner_kernel
def end_motion(steps, links, l, c, velocity, position, ws):
    """Twist and velocity change of the end that branch entry ``c`` moves.

    Twist position S, velocity change position (S x V_end + psid) + velocity S, of rotation steps velocity S T^-1.
    """
    i = links.step[c]
    end = links.a[l] if links.sign[c] < 0.0 else links.b[l]
    S = load6(ws.S, i)
    swept = add6(cross_motion(S, load6(ws.V, end)), load6(ws.psid, i))
    rate = load6(ws.rate, i) if steps.kind[i] == ROTATION else S
    return scale6(position, S), combine6(position, swept, velocity, rate)


@inner_kernel
def add_link_column(steps, links, l, c, dF, turned, ws, values):
    """Column of branch entry ``c``: -sign_j S_j . dF in every row j, + sign_j S_j . turned where step c turns j.

    It turns what lies below it, itself, and all of its element.
    """
    first, last, i = links.pointer[l], links.pointer[l + 1], links.step[c]
    width = last - first
    place_in_values = links.block_pointer[l] + c - first
    below = scale6(-1.0, dF)
    with_turn = add6(below, turned)
    for k in range(first, last):
        j = links.step[k]
        W = with_turn if steps.tip[j] >= i and links.sign[k] == links.sign[c] else below
        values[links.position[place_in_values]] += links.sign[k] * dot6(load6(ws.S, j), W)
        place_in_values += width


@kernel
def spring_energy(tables, z, u, ws):
    """Elastic energy of springs and torsional springs [J]."""
    total = 0.0 * ws.V[0, 0]
    for k in range(len(tables.joint_forces.step)):
        i, slot = tables.joint_forces.step[k], tables.joint_forces.slot[k]
        total += 0.5 * u[slot] * (z[i] - u[slot + 2]) ** 2
    first = len(tables.closures.point_a)
    for k in range(len(tables.springs.slot)):
        slot = tables.springs.slot[k]
        _, _, _, length, _ = spring_state(tables.springs, k, tables.links, first + k, ws)
        total += 0.5 * u[slot] * (length - u[slot + 2]) ** 2
    return total
