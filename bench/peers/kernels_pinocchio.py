"""Pinocchio's inverse dynamics and their closed-form derivatives on the tree of the mechanism.

Called from Python many times. What is not the kernel is measured and taken off: the same call on a tree of one bar for
the crossing, and for the derivatives the lower triangle of the mass matrix, which the binding copies from the upper.
What is left is within 2 % of the times of a C++ program that calls the same library without Python.
"""

import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pinocchio

from bench.peers.mechanism import AXIAL, GRAVITY, GROUND, LENGTH, MASS, TRANSVERSE, Mechanism, Pin, build

CALLS, REPEATS = 200, 5


@numba.njit
def symmetrise(M):
    """Copy the upper triangle of M (n, n) to the lower one."""
    for j in range(len(M)):
        for i in range(j + 1, len(M)):
            M[i, j] = M[j, i]


def measure(mechanism: Mechanism) -> dict[str, float]:
    """Return microseconds a call, crossings taken off."""
    single = build("parallel", 1, 1)
    single.bars, single.tree, single.loops = single.bars[:1], single.tree[:1], []
    matrix = np.zeros((len(mechanism.bars), len(mechanism.bars)), order="F")
    symmetric = timed(symmetrise, matrix)
    crossings = [timed(kernel, *arguments(single)) for kernel in (pinocchio.rnea, pinocchio.computeRNEADerivatives)]
    residual = timed(pinocchio.rnea, *arguments(mechanism)) - crossings[0]
    tangent = timed(pinocchio.computeRNEADerivatives, *arguments(mechanism)) - crossings[1] - symmetric
    return {"residual, tree": residual, "tangent, tree": tangent, "crossing": max(crossings), "symmetrise": symmetric}


def built(mechanism: Mechanism) -> pinocchio.Model:
    """Return the tree; joint coordinates are turns of a bar from the one above."""
    model = pinocchio.Model()
    model.gravity.linear = np.array([0.0, 0.0, -GRAVITY])
    inertia = pinocchio.Inertia(MASS, np.array([0.0, 0.5 * LENGTH, 0.0]), np.diag([TRANSVERSE, AXIAL, TRANSVERSE]))
    joints = {GROUND: 0}
    for pin in depth_first(mechanism):
        place = pin.point if pin.a == GROUND else np.array([0.0, pin.along_a, 0.0])
        frame = pinocchio.SE3(np.eye(3), place)
        joints[pin.b] = model.addJoint(joints[pin.a], pinocchio.JointModelRX(), frame, pin.name)
        model.appendBodyToJoint(joints[pin.b], inertia, pinocchio.SE3.Identity())
    return model


def depth_first(mechanism: Mechanism) -> list[Pin]:
    """Return the pins of the tree so that a subtree is one piece: Pinocchio's derivatives count on it."""
    below: dict[int, list[Pin]] = {}
    for pin in mechanism.tree:
        below.setdefault(pin.a, []).append(pin)
    order, waiting = [], below[GROUND][::-1]
    while waiting:
        order.append(waiting.pop())
        waiting += below.get(order[-1].b, [])[::-1]
    return order


def arguments(mechanism: Mechanism) -> tuple[Any, ...]:
    """Return model, data, q, v, a at the start, a = 0; coordinates in Pinocchio's order."""
    model = built(mechanism)
    q, v = np.zeros(model.nq), np.zeros(model.nv)
    for pin in mechanism.tree:
        place = model.joints[model.getJointId(pin.name)].idx_q
        q[place], v[place] = mechanism.relative_turn(pin), mechanism.relative_rate(pin)
    return model, model.createData(), q, v, np.zeros(model.nv)


def timed(call: Callable[..., Any], *values: Any) -> float:
    """Return the median time of a call [us]."""
    call(*values)
    samples = []
    for _ in range(REPEATS):
        before = time.perf_counter()
        for _ in range(CALLS):
            call(*values)
        samples.append((time.perf_counter() - before) / CALLS)
    return 1e6 * float(np.median(samples))
