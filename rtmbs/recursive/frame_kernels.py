"""Kernels of moving frames: poses relative to the root of a segment, told to all ranks, and the frames placed by them.

A post has 18 numbers: its rotation (9), its origin (3), the velocity of its origin (3) and its angular velocity (3).
"""

from typing import Any, NamedTuple

from rtmbs.jit.compiled import inlined_kernel, kernel
from rtmbs.jit.struct import struct
from rtmbs.semirecursive.passes import forward_positions, forward_velocities

Array = Any

POST = 18  # numbers of a post


@struct
class FrameLayout(NamedTuple):
    """Places of posts and frames on a rank, in the order of the posts."""

    owner: Array  # (p,) int64: rank that tells it
    above: Array  # (p,) int64: post of the root of the segment that it is in, or -1
    own: Array  # (p,) int64: own dof, or -1
    frame: Array  # (p,) int64: first dof of the frame that is placed there, or -1
    reference: Array  # (p,) int64: its reference rotation


@kernel
def tell_posts(tables, frames, R0, ws, message):
    """Write the own posts relative to the roots of their segments, which stand still at the global origin."""
    mine = 0
    for p in range(len(frames.own)):
        mine += 1 if frames.own[p] >= 0 else 0
        i = frames.frame[p]
        if i >= 0:
            for k in range(6):
                ws.z[i + k] = ws.zd[i + k] = 0.0
            for k in range(3):
                for l in range(3):
                    R0[frames.reference[p], k, l] = 1.0 if k == l else 0.0
    if mine == 0:
        return
    forward_positions(tables, R0, ws.z, ws)
    forward_velocities(tables.dofs, ws.zd, ws)
    for p in range(len(frames.own)):
        i, k = frames.own[p], POST * p
        if i >= 0:
            r, v, w = ws.r[i], ws.V[i, :3], ws.V[i, 3:]
            for c in range(3):
                for l in range(3):
                    message[k + 3 * c + l] = ws.A[i, c, l]
                message[k + 9 + c], message[k + 15 + c] = r[c], w[c]
            message[k + 12] = v[0] + w[1] * r[2] - w[2] * r[1]
            message[k + 13] = v[1] + w[2] * r[0] - w[0] * r[2]
            message[k + 14] = v[2] + w[0] * r[1] - w[1] * r[0]


@kernel
def place_frames(frames, messages, posts, R0, ws):
    """Compose the posts of all ranks, root by root, and give the rank's frames their poses and velocities."""
    for p in range(len(frames.own)):
        if frames.above[p] >= 0:
            carry(posts, p, frames.above[p], messages, frames.owner[p])
        else:
            for c in range(POST):
                posts[p, c] = messages[frames.owner[p], POST * p + c]
        i = frames.frame[p]
        if i >= 0:
            for c in range(3):
                ws.z[i + c], ws.zd[i + c], ws.z[i + 3 + c] = posts[p, 9 + c], posts[p, 12 + c], 0.0
                turn = 0.0
                for l in range(3):
                    R0[frames.reference[p], c, l] = posts[p, 3 * c + l]
                    turn += posts[p, 3 * l + c] * posts[p, 15 + l]
                ws.zd[i + 3 + c] = turn


@inlined_kernel
def carry(posts, p, root, messages, owner):
    """Turn a post that ``owner`` told relative to a root into one relative to ground; the root's post is already."""
    first = POST * p
    for c in range(3):
        for l in range(3):
            total = 0.0
            for k in range(3):
                total += posts[root, 3 * c + k] * messages[owner, first + 3 * k + l]
            posts[p, 3 * c + l] = total
    for c in range(3):
        arm, v, w = 0.0, 0.0, 0.0
        for k in range(3):
            share = posts[root, 3 * c + k]
            arm += share * messages[owner, first + 9 + k]
            v += share * messages[owner, first + 12 + k]
            w += share * messages[owner, first + 15 + k]
        posts[p, 9 + c], posts[p, 12 + c], posts[p, 15 + c] = arm, v, w + posts[root, 15 + c]
    x, y, z = posts[p, 9], posts[p, 10], posts[p, 11]
    a, b, c = posts[root, 15], posts[root, 16], posts[root, 17]
    posts[p, 12] += posts[root, 12] + b * z - c * y
    posts[p, 13] += posts[root, 13] + c * x - a * z
    posts[p, 14] += posts[root, 14] + a * y - b * x
    for k in range(3):
        posts[p, 9 + k] += posts[root, 9 + k]
