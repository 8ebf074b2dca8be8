"""Compiled constraints of the user: values, and first and second derivatives by the coordinates of a closure.

Between frames the directions are a shift dr of b's marker and a turn dR = d x R, both in axes of a, and the time. With
g_r and n = sum over columns of R_c x g_R_c the slope, G = [A g_r; A n + x_b x A g_r] (METHODS 1.31). A bend is the
change of slope j along direction k; that of turns is not symmetric, for turns do not commute.
"""

from rtmbs.ad.program import evaluate
from rtmbs.forces.frames import combined, components, marker_axes, marker_point
from rtmbs.jit.compiled import inlined_kernel, inner_kernel, lazy_kernel
from rtmbs.numerics.spatial import (
    add3,
    add6,
    angular,
    cross3,
    cross_force,
    dot6,
    join,
    load6,
    point_velocity,
    scale6,
    store6,
    sub3,
    sub6,
)
from rtmbs.semirecursive.closure_jacobian import fill_branch
from rtmbs.semirecursive.force_kernels import add_connector_column
from rtmbs.system.tables import POSE_INPUTS

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
