"""A planar structure of pinned bars in Exudyn: reads its arrays as JSON, prints times and the places of its nodes.

python -m bench.peers.exudyn_structures < structure.json
"""

import json
import sys
import time
from typing import Any

import exudyn
import exudyn.itemInterface as items
import numpy as np

from bench.peers.exudyn_solver import solve


def build(given: dict[str, Any]) -> tuple[Any, list[Any]]:
    """Return the system and the nodes of its bars; each bar turns about its mass centre."""
    container = exudyn.SystemContainer()
    mbs = container.AddSystem()
    ground = mbs.AddObject(items.ObjectGround())
    first = {node: mbs.AddMarker(items.MarkerBodyPosition(bodyNumber=ground, localPosition=[*given["places"][node], 0]))
             for node in given["fixed"]}  # fmt: skip
    nodes = []
    for k, (i, j) in enumerate(given["bars"]):
        begin, end = np.array(given["places"][i]), np.array(given["places"][j])
        length, angle = float(np.hypot(*(end - begin))), float(np.arctan2(*(end - begin)[::-1]))
        center, mass = length * np.array(given["center"][k]), given["mass"][k]
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        node = mbs.AddNode(items.NodeRigidBody2D(referenceCoordinates=[*(begin + turn @ center), angle]))
        body = mbs.AddObject(
            items.ObjectRigidBody2D(nodeNumber=node, physicsMass=mass, physicsInertia=given["inertia"][k])
        )
        whole = mbs.AddMarker(items.MarkerBodyMass(bodyNumber=body))
        mbs.AddLoad(items.LoadMassProportional(markerNumber=whole, loadVector=[*given["gravity"], 0]))
        for pin, x in ((i, 0.0), (j, length)):
            mark = mbs.AddMarker(
                items.MarkerBodyPosition(bodyNumber=body, localPosition=[x - center[0], -center[1], 0])
            )
            if pin in first:
                mbs.AddObject(items.ObjectJointRevolute2D(markerNumbers=[first[pin], mark]))
            else:
                first[pin] = mark
        nodes.append((node, center, length))
    mbs.Assemble()
    return mbs, nodes


def main() -> None:
    """Build and integrate what stands on the standard input."""
    given = json.load(sys.stdin)
    before = time.process_time()
    mbs, nodes = build(given)
    built = time.process_time() - before
    seconds = solve(mbs, given["h"], given["steps"], time.process_time)
    places = [list(place) for place in given["places"]]
    for (i, j), (node, center, length) in zip(given["bars"], nodes, strict=True):
        x, y, angle = (
            mbs.GetNodeOutput(node, exudyn.OutputVariableType.Coordinates) + mbs.GetNode(node)["referenceCoordinates"]
        )
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        for pin, along in ((i, 0.0), (j, length)):
            places[pin] = list(np.array([x, y]) + turn @ (np.array([along, 0.0]) - center))
    print(json.dumps({"start": built, "step": seconds / given["steps"], "places": places}))


if __name__ == "__main__":
    main()
