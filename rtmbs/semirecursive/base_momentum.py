"""Momentum of a base with several dofs, kept to rounding whatever Newton's iteration leaves (METHODS 6.5)."""

from rtmbs.jit.compiled import inlined_kernel, inner_kernel
from rtmbs.numerics.spatial import add6, dot6, load6, scale6, store6
from rtmbs.semirecursive.momenta import half_turn_back, undo_half_turn_back

BASE = 6  # dofs of a base at most
ALONG = 1e-8  # of its square: a column of a base that lies nearer to those before it carries nothing of its own


@inlined_kernel
def last_of_base(dofs, i, ws):
    """Return the last dof of the base that begins with the root ``i``: behind the others there is no inertia."""
    last = i
    for j in range(i, min(i + BASE, len(dofs.parent)) - 1):
        inertia = 0.0
        for k in range(10):
            inertia += abs(ws.inertia[j, k])
        if inertia > 0.0 or dofs.parent[j + 1] != j:
            break
        last = j + 1
    return last


@inlined_kernel
def remember_base(dofs, ws, own):
    """own.base = columns S of bases with several dofs, where the step begins."""
    own.bases[0] = 0.0
    for i in range(len(dofs.parent)):
        own.left_over[i] = 0.0
        if dofs.parent[i] < 0:
            last = last_of_base(dofs, i, ws)
            own.bases[0] += 1.0 if last > i else 0.0
            for j in range(i, last + 1 if last > i else i):
                store6(own.base, j, load6(ws.S, j))


@inner_kernel
def set_left_over(dofs, h, ws, own):
    """own.left_over = W^-1 (T^-1 p_m - h/2 f) - start of bases with several dofs, and own.carried; 0 of other dofs.

    own.p is T^-1 p_m, and ws.tau is -f.
    """
    for i in range(len(own.p)):
        ws.predicted[i] = own.start[i]
    half_turn_back(dofs, own.y, ws.predicted)
    for i in range(len(own.p)):
        ws.predicted[i] = own.p[i] + 0.5 * h * ws.tau[i] - ws.predicted[i]
    undo_half_turn_back(dofs, own.y, ws.predicted)
    for i in range(len(dofs.parent)):
        if dofs.parent[i] < 0:
            last = last_of_base(dofs, i, ws)
            if last > i:
                carry(i, last, own.base, ws.predicted, own.left_over, own.carried)


@inner_kernel
def carry(first, last, base, given, left_over, carried):
    """carried = six numbers w with S_j . w = given_j for the columns S_j in ``base`` that are independent.

    ``left_over`` is S_j . w. The columns are overwritten by orthogonal ones.
    """
    w = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for j in range(first, last + 1):
        S = load6(base, j)
        v = S
        for k in range(first, j):
            before = load6(base, k)
            size = dot6(before, before)
            if size > 0.0:
                v = add6(v, scale6(-dot6(before, v) / size, before))
        left_over[j] = dot6(S, w)
        size = dot6(v, v)
        if size > ALONG * dot6(S, S):
            w = add6(w, scale6((given[j] - left_over[j]) / size, v))
            left_over[j] = given[j]
        else:
            v = scale6(0.0, v)
        store6(base, j, v)
    store6(carried, first, w)


@inner_kernel
def take_left_over(dofs, ws, own):
    """own.p1 without the momentum left over, which stayed in space while its base moved on."""
    for i in range(len(dofs.parent)):
        if dofs.parent[i] < 0:
            last = last_of_base(dofs, i, ws)
            for j in range(i, last + 1 if last > i else i):
                own.p1[j] -= dot6(load6(ws.S, j), load6(own.carried, i))
