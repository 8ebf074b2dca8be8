"""Compiled loop equations: of closures, of wheels and knife edges, and of the user. Phi, Phid, Phidd, wrenches, Phi_z.

Rows of closures are those of METHODS 1.25, with points and axes carried by dof ``a``: a common rigid motion changes no
row. G = dPhi/dX_b is the wrench of a row on dof b, and -G that on dof a. So Phi_z[j] = sign_j S_j . G on the branch of
the connector and zero elsewhere. A nonholonomic row (METHODS 1.41) is a component of the velocity of dof b relative to
dof a at the contact point c: Phid = t . (v_b - v_a)(c) and G = [t; c x t], with t fixed in a (rolling) or in b (a knife
edge). Only HEIGHT has a Phi. A constraint of the user between frames has the directions dr, a shift of b's marker, and
dR = d x R, both in axes of a, and the time. With the slope g_r and n, the sum over columns of R_c x g_R_c, it has
G = [A g_r; A n + x_b x A g_r] (METHODS 1.31). A bend is the change of slope j along direction k. That of turns is not
symmetric, for turns do not commute.
"""

from numpy import sqrt
from numpy import uint64 as at

from rtmbs.ad.program import evaluate
from rtmbs.forces.frames import combined, components, marker_axes, marker_point
from rtmbs.jit.compiled import coarse_kernel, inlined_kernel, inner_kernel, kernel, lazy_kernel
from rtmbs.numerics.spatial import (
    add3,
    add6,
    angular,
    cross3,
    cross_force,
    dot3,
    dot6,
    join,
    load3,
    load6,
    place,
    point_velocity,
    rotate,
    scale3,
    scale6,
    store6,
    sub3,
    sub6,
)
from rtmbs.semirecursive.closure_jacobian import apply_Phi_z, fill_branch
from rtmbs.semirecursive.force_kernels import add_connector_column
from rtmbs.system.tables import DOT, EDGE, HEIGHT, POSE_INPUTS, TRANSLATION


@inner_kernel
def wheel_frame(tables, l, ws):
    """Return normal k, axle n, the vector w = k - (k . n) n, its length, and the centre of contact closure ``l``."""
    closures, contacts, connectors = tables.closures, tables.contacts, tables.connectors
    connector, row = closures.connector[l], closures.row_pointer[l]
    a, b = connectors.a[connector], connectors.b[connector]
    k = rotate(ws.A, a, load3(contacts.normal, l - contacts.first[0]))
    n = rotate(ws.A, b, load3(closures.axis_b, row))
    w = sub3(k, scale3(dot3(k, n), n))
    return k, n, w, sqrt(dot3(w, w)), place(ws.A, ws.r, b, load3(closures.point_b, l))


@inner_kernel
def contact_point(tables, l, ws):
    """Return the point c of contact ``l``: C - R w / |w| - crown k of a wheel, the point itself of a knife edge."""
    contacts = tables.contacts
    q = l - contacts.first[0]
    k, _, w, size, c = wheel_frame(tables, l, ws)
    if contacts.radius[q] > 0.0:
        c = sub3(c, scale3(contacts.radius[q] / size, w))
    return sub3(c, scale3(contacts.crown[q], k))


@inner_kernel
def contact_shift(tables, l, Xa, Xb, ws):
    """Return the change of the point c of contact ``l`` when dof a moves by the twist Xa and dof b by Xb."""
    contacts = tables.contacts
    q = l - contacts.first[0]
    k, n, w, size, c = wheel_frame(tables, l, ws)
    dk, dn = cross3(angular(Xa), k), cross3(angular(Xb), n)
    dc = point_velocity(Xb, c)
    if contacts.radius[q] > 0.0:
        u = scale3(1.0 / size, w)
        dw = sub3(dk, add3(scale3(dot3(dk, n) + dot3(k, dn), n), scale3(dot3(k, n), dn)))
        dc = sub3(dc, scale3(contacts.radius[q] / size, sub3(dw, scale3(dot3(u, dw), u))))
    return sub3(dc, scale3(contacts.crown[q], dk))


@inlined_kernel
def direction(closures, row, a, b, ws):
    """Direction t of a row, world axes."""
    if closures.kind[row] == EDGE:
        return rotate(ws.A, b, load3(closures.axis_b, row))
    return rotate(ws.A, a, load3(closures.axis_a, row))


@inlined_kernel
def contact_variation(kind, t, c, dc, Xa, Xb):
    """Change of G = [t; c x t] of one row when dof a moves by the twist Xa, dof b by Xb and c by dc."""
    w = angular(Xb) if kind == EDGE else angular(Xa)
    dt = cross3(w, t)
    return join(dt, add3(cross3(dc, t), cross3(c, dt)))


@lazy_kernel
def evaluate_contacts(tables, ws):
    """Phi, G and Phi_z of the contacts at the evaluated positions; Phi of rows that bind rates alone is zero."""
    closures, connectors = tables.closures, tables.connectors
    for l in range(tables.contacts.first[0], tables.conditions.first[0]):
        connector = closures.connector[l]
        a, b = connectors.a[connector], connectors.b[connector]
        c = contact_point(tables, l, ws)
        for row in range(closures.row_pointer[l], closures.row_pointer[l + 1]):
            t = direction(closures, row, a, b, ws)
            store6(ws.G, row, join(t, cross3(c, t)))
            ws.Phi[row] = 0.0 * c[0]
            if closures.kind[row] == HEIGHT:
                above = sub3(c, place(ws.A, ws.r, a, load3(closures.point_a, l)))
                ws.Phi[row] = dot3(t, above) - closures.assembly_offset[row]
        fill_branch(closures, connectors, l, ws)


@lazy_kernel
def contact_accelerations(tables, ws):
    """Phidd = G . (acc_b - acc_a) + Gdot . (V_b - V_a) of the contacts."""
    closures, connectors = tables.closures, tables.connectors
    for l in range(tables.contacts.first[0], tables.conditions.first[0]):
        connector = closures.connector[l]
        a, b = connectors.a[connector], connectors.b[connector]
        Va, Vb = load6(ws.V, a), load6(ws.V, b)
        acceleration, relative = sub6(load6(ws.acc, b), load6(ws.acc, a)), sub6(Vb, Va)
        c, dc = contact_point(tables, l, ws), contact_shift(tables, l, Va, Vb, ws)
        for row in range(closures.row_pointer[l], closures.row_pointer[l + 1]):
            Gd = contact_variation(closures.kind[row], direction(closures, row, a, b, ws), c, dc, Va, Vb)
            ws.Phidd[row] = dot6(load6(ws.G, row), acceleration) + dot6(Gd, relative)


@lazy_kernel
def add_contact_tangent(tables, lam, position, ws, values):
    """values += position (Phi_z^T lam)_z of the contacts."""
    closures, connectors = tables.closures, tables.connectors
    for l in range(tables.contacts.first[0], tables.conditions.first[0]):
        connector = closures.connector[l]
        a, b = connectors.a[connector], connectors.b[connector]
        c = contact_point(tables, l, ws)
        zero = scale6(0.0, load6(ws.G, closures.row_pointer[l]))
        F = zero
        for row in range(closures.row_pointer[l], closures.row_pointer[l + 1]):
            F = add6(F, scale6(-lam[row], load6(ws.G, row)))
        for column in range(connectors.pointer[connector], connectors.pointer[connector + 1]):
            X = scale6(position, load6(ws.S, connectors.dof[column]))
            Xa, Xb = (X, zero) if connectors.sign[column] < 0.0 else (zero, X)
            dc, dF = contact_shift(tables, l, Xa, Xb, ws), zero
            for row in range(closures.row_pointer[l], closures.row_pointer[l + 1]):
                t = direction(closures, row, a, b, ws)
                dF = add6(dF, scale6(-lam[row], contact_variation(closures.kind[row], t, c, dc, Xa, Xb)))
            add_connector_column(tables.dofs, connectors, connector, column, dF, cross_force(X, F), ws, values)


@lazy_kernel
def add_rate_gaps(tables, Phi_z, factor, x, out):
    """out += factor A x in the rows that bind rates alone, A their part of ``Phi_z`` (entries,)."""
    closures, connectors = tables.closures, tables.connectors
    for l in range(tables.contacts.first[0], tables.conditions.first[0]):
        connector, entry = closures.connector[l], closures.entry_pointer[l]
        first, last = connectors.pointer[connector], connectors.pointer[connector + 1]
        for row in range(closures.row_pointer[l], closures.row_pointer[l + 1]):
            total = 0.0 * x[0]
            for k in range(last - first):
                total += Phi_z[entry + k] * x[connectors.dof[first + k]]
            if closures.kind[row] != HEIGHT:
                out[row] += factor * total
            entry += last - first


@kernel
def slip_between(tables, first, last, y, out):
    """out = (A_0 + A_1) y in the rows that bind rates alone, of the two Phi_z ``first`` and ``last``; 0 elsewhere."""
    for row in range(len(out)):
        out[row] = 0.0
    add_rate_gaps(tables, first, 1.0, y, out)
    add_rate_gaps(tables, last, 1.0, y, out)


TIME, WIDTH = 6, 7  # direction of time between frames, and how many there are


@lazy_kernel
def evaluate_conditions(tables, z, u, ws):
    """Phi, G and Phi_z of the constraints of the user at the evaluated positions."""
    closures, conditions, connectors = tables.closures, tables.conditions, tables.connectors
    take_inputs(tables, z, u, ws)
    evaluate(conditions.program, ws.pose_memory, ws.pose_number, ws.pose_parameter, ws.pose_output)
    take_slopes(conditions, ws)
    first, on_joints = conditions.first[0], conditions.first[1]
    q = 0
    for l in range(first, on_joints):
        connector = tables.closures.connector[l]
        axes = marker_axes(ws.A, connectors.a[connector], conditions.frame_a, l - first)
        xb = marker_point(ws, connectors.b[connector], conditions.frame_b, l - first)
        for row in range(closures.row_pointer[l], closures.row_pointer[l + 1]):
            ws.Phi[row] = ws.pose_value[q] - closures.assembly_offset[row]
            f, n = world_slope(conditions, q, axes, ws)
            store6(ws.G, row, join(f, add3(n, cross3(xb, f))))
            q += 1
        fill_branch(closures, connectors, l, ws)
    for l in range(on_joints, tables.couplers.first[0]):
        connector = tables.closures.connector[l]
        entry, width = (
            closures.entry_pointer[l],
            connectors.pointer[connector + 1] - connectors.pointer[connector],
        )
        for row in range(closures.row_pointer[l], closures.row_pointer[l + 1]):
            ws.Phi[row] = ws.pose_value[q] - closures.assembly_offset[row]
            for k in range(width):
                ws.Phi_z[entry + k] = ws.pose_slope[conditions.place[q] + k]
            entry += width
            q += 1


@inner_kernel
def take_inputs(tables, z, u, ws):
    """Write r, R and t of every pair of frames, then coordinates and t; numbers are their real parts."""
    conditions, connectors = tables.conditions, tables.connectors
    inputs, t = 0, u[conditions.clock[0]]
    for k in range(len(conditions.frame_a)):
        l = conditions.first[0] + k
        connector = tables.closures.connector[l]
        axes = marker_axes(ws.A, connectors.a[connector], conditions.frame_a, k)
        other = marker_axes(ws.A, connectors.b[connector], conditions.frame_b, k)
        apart = sub3(
            marker_point(ws, connectors.b[connector], conditions.frame_b, k),
            marker_point(ws, connectors.a[connector], conditions.frame_a, k),
        )
        r = components(axes, apart)
        R = components(axes, other[0]), components(axes, other[1]), components(axes, other[2])
        for c in range(3):
            ws.pose_input[inputs + c] = r[c]
            for j in range(3):
                ws.pose_input[inputs + 3 + 3 * c + j] = R[j][c]
        ws.pose_input[inputs + 12] = t
        inputs += POSE_INPUTS
    for k in range(len(conditions.dof)):
        ws.pose_input[inputs + k] = t if conditions.dof[k] < 0 else z[conditions.dof[k]]
    for k in range(len(ws.pose_input)):
        ws.pose_number[k] = ws.pose_input[k].real
    for k in range(len(conditions.slot)):
        ws.pose_parameter[k] = u[conditions.slot[k]].real


@inner_kernel
def take_slopes(conditions, ws):
    """Read values, slopes and bends from the program; imaginary parts of inputs follow by the derivatives it gives."""
    count, slopes = len(conditions.scale), len(conditions.slope)
    framed = POSE_INPUTS * len(conditions.frame_a)
    for q in range(count):
        ws.pose_value[q] = conditions.scale[q] * ws.pose_output[q]
    for k in range(len(ws.pose_slope)):
        ws.pose_slope[k] = 0.0
    for k in range(len(ws.pose_bend)):
        ws.pose_bend[k] = 0.0
    for e in range(len(conditions.bend)):
        q, i, j = conditions.bend[e, 0], conditions.bend[e, 1], conditions.bend[e, 2]
        add_bend(conditions, q, i, j, conditions.scale[q] * ws.pose_output[count + slopes + e], framed, ws)
    for e in range(slopes):
        q, i = conditions.slope[e, 0], conditions.slope[e, 1]
        add_slope(conditions, q, i, conditions.scale[q] * ws.pose_output[count + e], framed, ws)


@inner_kernel
def turned(x, first, i):
    """Return the two directions by which input ``i`` of a pair of frames changes, and how fast: dR = d x R."""
    if i < 3:
        return i, 1.0 + 0.0 * x[first], 0, 0.0 * x[first]
    if i == 12:
        return TIME, 1.0 + 0.0 * x[first], 0, 0.0 * x[first]
    row, column = (i - 3) // 3, (i - 3) % 3
    after, before = (row + 1) % 3, (row + 2) % 3
    return 3 + after, x[first + 3 + 3 * before + column], 3 + before, -x[first + 3 + 3 * after + column]


@inner_kernel
def add_slope(conditions, q, i, slope, framed, ws):
    """Add a derivative by input ``i`` to those by directions, and what it does to the bends of turns."""
    first, place, square = conditions.input[q], conditions.place[q], conditions.square[q]
    x = ws.pose_input
    if first >= framed:
        ws.pose_slope[place + i] += slope
        ws.pose_value[q] += slope * (x[first + i] - ws.pose_number[first + i])
        return
    ws.pose_value[q] += slope * (x[first + i] - ws.pose_number[first + i])
    one, c, other, d = turned(x, first, i)
    ws.pose_slope[place + one] += slope * c
    ws.pose_slope[place + other] += slope * d
    if 3 <= i < 12:
        row, column = (i - 3) // 3, (i - 3) % 3
        after, before = (row + 1) % 3, (row + 2) % 3
        here = slope * x[first + 3 + 3 * row + column]
        ws.pose_bend[square + WIDTH * (3 + after) + 3 + after] -= here
        ws.pose_bend[square + WIDTH * (3 + before) + 3 + before] -= here
        ws.pose_bend[square + WIDTH * (3 + after) + 3 + row] += slope * x[first + 3 + 3 * after + column]
        ws.pose_bend[square + WIDTH * (3 + before) + 3 + row] += slope * x[first + 3 + 3 * before + column]


@inner_kernel
def add_bend(conditions, q, i, j, bend, framed, ws):
    """Add a second derivative, by inputs ``i`` and ``j``, to those by directions."""
    first, place, square = conditions.input[q], conditions.place[q], conditions.square[q]
    x = ws.pose_input
    imaginary = x[first + j] - ws.pose_number[first + j]
    if first >= framed:
        ws.pose_slope[place + i] += bend * imaginary
        ws.pose_bend[square + (conditions.place[q + 1] - place) * i + j] += bend
        return
    one, c, other, d = turned(x, first, i)
    two, e, last, f = turned(x, first, j)
    ws.pose_slope[place + one] += bend * imaginary * c
    ws.pose_slope[place + other] += bend * imaginary * d
    ws.pose_bend[square + WIDTH * one + two] += bend * c * e
    ws.pose_bend[square + WIDTH * one + last] += bend * c * f
    ws.pose_bend[square + WIDTH * other + two] += bend * d * e
    ws.pose_bend[square + WIDTH * other + last] += bend * d * f


@inner_kernel
def world_slope(conditions, q, axes, ws):
    """Return force and torque of the slope of a condition between frames, at b's marker, world axes."""
    g, k = ws.pose_slope, conditions.place[q]
    return combined(axes, (g[k], g[k + 1], g[k + 2])), combined(axes, (g[k + 3], g[k + 4], g[k + 5]))


@inner_kernel
def bent(conditions, q, j, d, ws):
    """Return the change of slope ``j`` between frames along a shift and turn d (6,) in axes of a."""
    k = conditions.square[q] + WIDTH * j
    B = ws.pose_bend
    shift = B[k] * d[0] + B[k + 1] * d[1] + B[k + 2] * d[2]
    return shift + B[k + 3] * d[3] + B[k + 4] * d[4] + B[k + 5] * d[5]


@inner_kernel
def seen_motion(axes, Xa, Xb, xb):
    """Return the shift of b's marker and the turn of b (6,) as a sees them, when the dofs move by twists."""
    relative = sub6(Xb, Xa)
    return join(components(axes, point_velocity(relative, xb)), components(axes, angular(relative)))


@inner_kernel
def slope_variation(conditions, q, axes, xb, Xa, Xb, ws):
    """Change of G of one condition when dof a moves by the twist Xa and dof b by Xb."""
    d = seen_motion(axes, Xa, Xb, xb)
    f, n = world_slope(conditions, q, axes, ws)
    w = angular(Xa)
    df = add3(
        combined(axes, (bent(conditions, q, 0, d, ws), bent(conditions, q, 1, d, ws), bent(conditions, q, 2, d, ws))),
        cross3(w, f),
    )
    dn = add3(
        combined(axes, (bent(conditions, q, 3, d, ws), bent(conditions, q, 4, d, ws), bent(conditions, q, 5, d, ws))),
        cross3(w, n),
    )
    return join(df, add3(dn, add3(cross3(point_velocity(Xb, xb), f), cross3(xb, df))))


@inlined_kernel
def condition_rates(tables, ws):
    """Add what the time does to Phid = Phi_z zd."""
    conditions = tables.conditions
    first = tables.closures.row_pointer[conditions.first[0]]
    for q in range(len(conditions.scale)):
        ws.Phid[first + q] += ws.pose_slope[conditions.place[q + 1] - 1]


@lazy_kernel
def condition_accelerations(tables, zd, zdd, ws):
    """Phidd = slope . accelerations + rates . bend . rates, the time being one of the directions."""
    closures, conditions, connectors = tables.closures, tables.conditions, tables.connectors
    q, first = 0, conditions.first[0]
    for l in range(first, conditions.first[1]):
        connector = tables.closures.connector[l]
        Va, Vb = load6(ws.V, connectors.a[connector]), load6(ws.V, connectors.b[connector])
        acceleration = sub6(load6(ws.acc, connectors.b[connector]), load6(ws.acc, connectors.a[connector]))
        axes = marker_axes(ws.A, connectors.a[connector], conditions.frame_a, l - first)
        xb = marker_point(ws, connectors.b[connector], conditions.frame_b, l - first)
        d = seen_motion(axes, Va, Vb, xb)
        for row in range(closures.row_pointer[l], closures.row_pointer[l + 1]):
            Gd = slope_variation(conditions, q, axes, xb, Va, Vb, ws)
            total = dot6(load6(ws.G, row), acceleration) + dot6(Gd, sub6(Vb, Va))
            last = conditions.square[q] + WIDTH * TIME
            ws.Phidd[row] = total + 2.0 * bent(conditions, q, TIME, d, ws) + ws.pose_bend[last + TIME]
            q += 1
    for l in range(conditions.first[1], tables.couplers.first[0]):
        connector = tables.closures.connector[l]
        width, begin = (
            connectors.pointer[connector + 1] - connectors.pointer[connector],
            connectors.pointer[connector],
        )
        for row in range(closures.row_pointer[l], closures.row_pointer[l + 1]):
            place, square = conditions.place[q], conditions.square[q]
            total = ws.pose_bend[square + (width + 1) * width + width]
            for k in range(width):
                i = connectors.dof[begin + k]
                total += ws.pose_slope[place + k] * zdd[i]
                total += 2.0 * ws.pose_bend[square + (width + 1) * k + width] * zd[i]
                for j in range(width):
                    total += ws.pose_bend[square + (width + 1) * k + j] * zd[i] * zd[connectors.dof[begin + j]]
            ws.Phidd[row] = total
            q += 1


@lazy_kernel
def add_condition_tangent(tables, lam, position, ws, values):
    """values += position (Phi_z^T lam)_z of the constraints of the user."""
    closures, conditions, connectors = tables.closures, tables.conditions, tables.connectors
    first = conditions.first[0]
    start = closures.row_pointer[first]
    for l in range(first, conditions.first[1]):
        connector = tables.closures.connector[l]
        axes = marker_axes(ws.A, connectors.a[connector], conditions.frame_a, l - first)
        xb = marker_point(ws, connectors.b[connector], conditions.frame_b, l - first)
        zero = scale6(0.0, load6(ws.G, closures.row_pointer[l]))
        F = zero
        for row in range(closures.row_pointer[l], closures.row_pointer[l + 1]):
            F = add6(F, scale6(-lam[row], load6(ws.G, row)))
        for c in range(connectors.pointer[connector], connectors.pointer[connector + 1]):
            X = scale6(position, load6(ws.S, connectors.dof[c]))
            dF = zero
            for row in range(closures.row_pointer[l], closures.row_pointer[l + 1]):
                if connectors.sign[c] < 0.0:
                    dG = slope_variation(conditions, row - start, axes, xb, X, zero, ws)
                else:
                    dG = slope_variation(conditions, row - start, axes, xb, zero, X, ws)
                dF = add6(dF, scale6(-lam[row], dG))
            add_connector_column(tables.dofs, connectors, l, c, dF, cross_force(X, F), ws, values)
    for l in range(conditions.first[1], tables.couplers.first[0]):
        connector = tables.closures.connector[l]
        width = connectors.pointer[connector + 1] - connectors.pointer[connector]
        for row in range(closures.row_pointer[l], closures.row_pointer[l + 1]):
            block, square = connectors.block_pointer[l], conditions.square[row - start]
            for k in range(width):
                for j in range(width):
                    bend = ws.pose_bend[square + (width + 1) * k + j]
                    values[connectors.entry[block + width * k + j]] += position * lam[row] * bend


# ---- couplers -------------------------------------------------------------------------------------------------------


@lazy_kernel
def evaluate_couplers(tables, z, u, ws):
    """Phi and Phi_z of the couplers."""
    closures, connectors, ratio = tables.closures, tables.connectors, tables.couplers.ratio
    entry = len(ws.Phi_z) - len(ratio)
    start = entry
    for l in range(tables.couplers.first[0], len(closures.point_a)):
        row = closures.row_pointer[l]
        total = 0.0 * z[0] - closures.assembly_offset[row]
        for k in range(connectors.pointer[l], connectors.pointer[l + 1]):
            ws.Phi_z[at(entry)] = ratio[at(entry - start)]
            total += ratio[at(entry - start)] * z[connectors.dof[k]]
            entry += 1
        ws.Phi[row] = total - (closures.length[row] if closures.slot[row] < 0 else u[closures.slot[row]])


@inlined_kernel
def coupler_rates(tables, u, ws):
    """Subtract the rate of what couplers follow from Phid = Phi_z zd."""
    closures = tables.closures
    for row in range(closures.row_pointer[tables.couplers.first[0]], len(closures.kind)):
        if closures.slot[row] >= 0:
            ws.Phid[row] -= u[closures.slot[row] + 1]


@inlined_kernel
def coupler_accelerations(tables, zdd, u, ws):
    """Phidd = Phi_z zdd less the acceleration of what couplers follow."""
    closures, connectors, ratio = tables.closures, tables.connectors, tables.couplers.ratio
    entry = 0
    for l in range(tables.couplers.first[0], len(closures.point_a)):
        row = closures.row_pointer[l]
        total = 0.0 * zdd[0]
        for k in range(connectors.pointer[l], connectors.pointer[l + 1]):
            total += ratio[entry] * zdd[connectors.dof[k]]
            entry += 1
        ws.Phidd[row] = total if closures.slot[row] < 0 else total - u[closures.slot[row] + 2]


@coarse_kernel
def evaluate_closures(tables, z, u, ws):
    """Phi, G and Phi_z at the evaluated positions."""
    evaluate_gaps(tables, z, u, ws)
    fill_branches(tables, ws)


@coarse_kernel
def evaluate_gaps(tables, z, u, ws):
    """Phi and G at the evaluated positions; Phi_z but for the branches of cut joints, see ``fill_branches``."""
    closures, connectors, drivers = tables.closures, tables.connectors, tables.drivers
    for l in range(tables.contacts.first[0]):
        connector = closures.connector[l]
        a, b = connectors.a[connector], connectors.b[connector]
        xa, xb = place(ws.A, ws.r, a, load3(closures.point_a, l)), place(ws.A, ws.r, b, load3(closures.point_b, l))
        for row in range(closures.row_pointer[l], closures.row_pointer[l + 1]):
            evaluate_row(closures, row, a, b, xa, xb, u, ws)
    if len(tables.contacts.normal):
        evaluate_contacts(tables, ws)
    if len(tables.conditions.scale):
        evaluate_conditions(tables, z, u, ws)
    if len(tables.couplers.ratio):
        evaluate_couplers(tables, z, u, ws)
    first = len(closures.kind)
    for k in range(len(drivers.dof)):
        ws.Phi[first + k] = z[drivers.dof[k]] - u[drivers.slot[k]]


@coarse_kernel
def fill_branches(tables, ws):
    """Phi_z of cut joints, from G and the columns S last evaluated."""
    for l in range(tables.contacts.first[0]):
        fill_branch(tables.closures, tables.connectors, l, ws)


@inlined_kernel
def evaluate_row(closures, row, a, b, xa, xb, u, ws):
    """Phi and G = dPhi/dX_b of one row."""
    kind = closures.kind[row]
    if kind == TRANSLATION:
        axis = rotate(ws.A, a, load3(closures.axis_a, row))
        ws.Phi[row] = dot3(axis, sub3(xa, xb)) - closures.assembly_offset[row]
        store6(ws.G, row, scale6(-1.0, join(axis, cross3(xb, axis))))
    elif kind == DOT:
        axis_a, axis_b = rotate(ws.A, a, load3(closures.axis_a, row)), rotate(ws.A, b, load3(closures.axis_b, row))
        ws.Phi[row] = dot3(axis_a, axis_b) - closures.assembly_offset[row]
        store6(ws.G, row, join(scale3(0.0, axis_a), cross3(axis_b, axis_a)))
    else:
        d, length = sub3(xb, xa), closures.length[row]
        target = length if closures.slot[row] < 0 else u[closures.slot[row]]
        ws.Phi[row] = (dot3(d, d) - target * target) / (2.0 * length) - closures.assembly_offset[row]
        store6(ws.G, row, scale6(1.0 / length, join(d, cross3(xa, xb))))


@kernel
def closure_velocities(tables, zd, u, ws):
    """Phid = Phi_z zd + Phi_t; linear in zd, so it needs no pass."""
    apply_Phi_z(tables, ws, zd, ws.Phid)
    closures, drivers = tables.closures, tables.drivers
    for row in range(closures.row_pointer[tables.contacts.first[0]]):
        slot = closures.slot[row]
        if slot >= 0:
            ws.Phid[row] -= u[slot] * u[slot + 1] / closures.length[row]
    if len(tables.conditions.scale):
        condition_rates(tables, ws)
    if len(tables.couplers.ratio):
        coupler_rates(tables, u, ws)
    for k in range(len(drivers.dof)):
        ws.Phid[len(closures.kind) + k] -= u[drivers.slot[k] + 1]


@kernel
def closure_accelerations(tables, zd, zdd, u, ws):
    """Phidd = G . (acc_b - acc_a) + Gdot . (V_b - V_a) + time terms, from the evaluated V and acc."""
    closures, connectors, drivers = tables.closures, tables.connectors, tables.drivers
    for l in range(tables.contacts.first[0]):
        connector = closures.connector[l]
        a, b = connectors.a[connector], connectors.b[connector]
        Va, Vb = load6(ws.V, a), load6(ws.V, b)
        relative, acceleration = sub6(Vb, Va), sub6(load6(ws.acc, b), load6(ws.acc, a))
        xb = place(ws.A, ws.r, b, load3(closures.point_b, l))
        e = seen_acceleration(relative, acceleration, Va, Vb, xb)
        for row in range(closures.row_pointer[l], closures.row_pointer[l + 1]):
            if closures.kind[row] == TRANSLATION:
                ws.Phidd[row] = ws.G[row, 0] * e[0] + ws.G[row, 1] * e[1] + ws.G[row, 2] * e[2]
            else:
                xa = place(ws.A, ws.r, a, load3(closures.point_a, l))
                Gd = row_variation(closures, row, a, b, xa, xb, Va, Vb, ws)
                ws.Phidd[row] = dot6(load6(ws.G, row), acceleration) + dot6(Gd, relative)
            slot = closures.slot[row]
            if slot >= 0:
                ws.Phidd[row] -= (u[slot + 1] * u[slot + 1] + u[slot] * u[slot + 2]) / closures.length[row]
    if len(tables.contacts.normal):
        contact_accelerations(tables, ws)
    if len(tables.conditions.scale):
        condition_accelerations(tables, zd, zdd, ws)
    if len(tables.couplers.ratio):
        coupler_accelerations(tables, zdd, u, ws)
    for k in range(len(drivers.dof)):
        ws.Phidd[len(closures.kind) + k] = zdd[drivers.dof[k]] - u[drivers.slot[k] + 2]


@inlined_kernel
def seen_acceleration(relative, acceleration, Va, Vb, xb):
    """Return e with Phidd = -axis . e for every TRANSLATION row of a closure: the point xb as dof a sees it move.

    G = -[axis; xb x axis] and Gdot = -[turned; dxb x axis + xb x turned], turned = omega_a x axis. With [y, w] the
    relative motion shifted to xb, G . acc + Gdot . V = -axis . (acc at xb) - turned . y - axis . (w x dxb), and
    turned . y = axis . (y x omega_a).
    """
    w, y = angular(relative), point_velocity(relative, xb)
    return add3(add3(point_velocity(acceleration, xb), cross3(y, angular(Va))), cross3(w, point_velocity(Vb, xb)))


@inlined_kernel
def row_variation(closures, row, a, b, xa, xb, Xa, Xb, ws):
    """Change of G of one row when dof a moves by the twist Xa and dof b by Xb: Gdot for velocities, and Phi_zz.

    ``xa`` and ``xb`` are the points of the closure on both dofs, world axes.
    """
    kind = closures.kind[row]
    dxb = point_velocity(Xb, xb)
    if kind == TRANSLATION:
        axis = rotate(ws.A, a, load3(closures.axis_a, row))
        turned = cross3(angular(Xa), axis)
        return scale6(-1.0, join(turned, add3(cross3(dxb, axis), cross3(xb, turned))))
    if kind == DOT:
        axis_a, axis_b = rotate(ws.A, a, load3(closures.axis_a, row)), rotate(ws.A, b, load3(closures.axis_b, row))
        turned_a, turned_b = cross3(angular(Xa), axis_a), cross3(angular(Xb), axis_b)
        return join(scale3(0.0, dxb), add3(cross3(turned_b, axis_a), cross3(axis_b, turned_a)))
    dxa = point_velocity(Xa, xa)
    moment = add3(cross3(dxa, xb), cross3(xa, dxb))
    return scale6(1.0 / closures.length[row], join(sub3(dxb, dxa), moment))


@inner_kernel
def closure_wrench(closures, l, lam, ws):
    """Wrench -sum lam G of closure ``l`` on its dof b."""
    F = scale6(0.0, load6(ws.V, 0))
    for row in range(closures.row_pointer[l], closures.row_pointer[l + 1]):
        F = add6(F, scale6(-lam[row], load6(ws.G, row)))
    return F
