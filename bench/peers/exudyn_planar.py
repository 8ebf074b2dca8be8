"""Exudyn with planar bodies: absolute coordinates, planar revolutes, generalised alpha, sparse, modified Newton."""

import exudyn
import numpy as np

from bench.peers.exudyn_solver import solve
from bench.peers.mechanism import GRAVITY, GROUND, LENGTH, MASS, TRANSVERSE, Mechanism, Outcome


def simulate(mechanism: Mechanism, h: float, steps: int) -> Outcome:
    """Run ``steps`` steps of ``h``."""
    container = exudyn.SystemContainer()
    mbs = container.AddSystem()
    ground = mbs.AddObject({"objectType": "Ground", "referencePosition": [0.0, 0.0, 0.0]})
    nodes, bodies = [], []
    for bar in mechanism.bars:
        middle, velocity = bar.point(0.5 * LENGTH), bar.point_velocity(0.5 * LENGTH)
        node = mbs.AddNode({
            "nodeType": "RigidBody2D",
            "referenceCoordinates": [middle[1], middle[2], bar.turn],
            "initialVelocities": [velocity[1], velocity[2], bar.rate],
        })  # fmt: skip
        body = mbs.AddObject({
            "objectType": "RigidBody2D", "nodeNumber": node, "physicsMass": MASS, "physicsInertia": TRANSVERSE,
        })  # fmt: skip
        weight = mbs.AddMarker({"markerType": "BodyMass", "bodyNumber": body})
        mbs.AddLoad({"loadType": "MassProportional", "markerNumber": weight, "loadVector": [0.0, -GRAVITY, 0.0]})
        nodes.append(node)
        bodies.append(body)
    for pin in mechanism.tree + mechanism.loops:
        on_a = [pin.point[1], pin.point[2], 0.0] if pin.a == GROUND else [pin.along_a - 0.5 * LENGTH, 0.0, 0.0]
        on_b = [pin.along_b - 0.5 * LENGTH, 0.0, 0.0]
        body_a = ground if pin.a == GROUND else bodies[pin.a]
        markers = [
            mbs.AddMarker({"markerType": "BodyRigid", "bodyNumber": body, "localPosition": place})
            for body, place in ((body_a, on_a), (bodies[pin.b], on_b))
        ]
        mbs.AddObject({"objectType": "JointRevolute2D", "markerNumbers": markers})
    mbs.Assemble()
    seconds = solve(mbs, h, steps)

    poses = np.array([mbs.GetNodeOutput(node, exudyn.OutputVariableType.Coordinates) for node in nodes])
    turns = poses[:, 2] + np.array([bar.turn for bar in mechanism.bars])
    start = np.array([bar.point(0.5 * LENGTH) for bar in mechanism.bars])
    middles = np.column_stack([start[:, 0], start[:, 1] + poses[:, 0], start[:, 2] + poses[:, 1]])
    directions = np.column_stack([np.zeros(len(turns)), np.cos(turns), np.sin(turns)])
    return Outcome(seconds, middles - 0.5 * LENGTH * directions, directions)
