"""Exudyn with spatial bodies: Euler parameters, generic joints, generalised alpha, sparse, modified Newton.

Trees are held by revolutes of five equations; a loop needs two more in its plane, and gets no redundant ones.
"""

import exudyn
import exudyn.itemInterface as items
import numpy as np

from bench.peers.exudyn_solver import solve
from bench.peers.mechanism import AXIAL, GRAVITY, GROUND, LENGTH, MASS, TRANSVERSE, Bar, Mechanism, Outcome

REVOLUTE, IN_PLANE = [1, 1, 1, 0, 1, 1], [0, 1, 1, 0, 0, 0]


def simulate(mechanism: Mechanism, h: float, steps: int) -> Outcome:
    """Run ``steps`` steps of ``h``."""
    container = exudyn.SystemContainer()
    mbs = container.AddSystem()
    ground = mbs.AddObject(items.ObjectGround())
    nodes, bodies = [], []
    for bar in mechanism.bars:
        middle, velocity = bar.point(0.5 * LENGTH), bar.point_velocity(0.5 * LENGTH)
        node = mbs.AddNode(
            items.NodeRigidBodyEP(
                referenceCoordinates=[*middle, *quaternion(bar)],
                initialVelocities=[*velocity, *quaternion_rate(bar)],
            )
        )
        inertia = [TRANSVERSE, AXIAL, TRANSVERSE, 0.0, 0.0, 0.0]
        body = mbs.AddObject(items.ObjectRigidBody(nodeNumber=node, physicsMass=MASS, physicsInertia=inertia))
        weight = mbs.AddMarker(items.MarkerBodyMass(bodyNumber=body))
        mbs.AddLoad(items.LoadMassProportional(markerNumber=weight, loadVector=[0.0, 0.0, -GRAVITY]))
        nodes.append(node)
        bodies.append(body)
    for pins, axes in ((mechanism.tree, REVOLUTE), (mechanism.loops, IN_PLANE)):
        for pin in pins:
            on_a = list(pin.point) if pin.a == GROUND else [0.0, pin.along_a - 0.5 * LENGTH, 0.0]
            on_b = [0.0, pin.along_b - 0.5 * LENGTH, 0.0]
            body_a = ground if pin.a == GROUND else bodies[pin.a]
            markers = [
                mbs.AddMarker(items.MarkerBodyRigid(bodyNumber=body, localPosition=place))
                for body, place in ((body_a, on_a), (bodies[pin.b], on_b))
            ]
            mbs.AddObject(items.ObjectJointGeneric(markerNumbers=markers, constrainedAxes=axes))
    mbs.Assemble()
    seconds = solve(mbs, h, steps)

    kinds = exudyn.OutputVariableType
    middles = np.array([mbs.GetNodeOutput(node, kinds.Position) for node in nodes])
    rotations = np.array([mbs.GetNodeOutput(node, kinds.RotationMatrix) for node in nodes]).reshape(-1, 3, 3)
    directions = rotations[:, :, 1]
    return Outcome(seconds, middles - 0.5 * LENGTH * directions, directions)


def quaternion(bar: Bar) -> list[float]:
    """Return the Euler parameters of a turn about X."""
    return [float(np.cos(0.5 * bar.turn)), float(np.sin(0.5 * bar.turn)), 0.0, 0.0]


def quaternion_rate(bar: Bar) -> list[float]:
    """Return their rates."""
    half = 0.5 * bar.turn
    return [-0.5 * bar.rate * float(np.sin(half)), 0.5 * bar.rate * float(np.cos(half)), 0.0, 0.0]
