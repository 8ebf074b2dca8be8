"""Graph of the bodies of a model, rigidly joined ones apart: parents, and the bodies that each connector joins.

Dofs merge welded bodies; the reaction in a weld needs them apart again.
"""

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from rtmbs.jit.struct import struct
from rtmbs.system.system import System

Array = Any  # numba types by value; the shapes stand on the fields


@struct
class BodyGraph(NamedTuple):
    """Bodies without ground, parents before children, and the connectors of the System; -1 is ground."""

    dof: Array  # (nb,) int64: the dof that carries the body, -1 for one welded to ground
    center: Array  # (nb, 3) mass centre, dof axes [m]
    mass: Array  # (nb,) [kg]
    inertia: Array  # (nb, 3, 3) about the mass centre, dof axes [kg m^2]
    parent: Array  # (nb,) int64
    connector_a: Array  # (nl,) int64: body that a closure or a force acts on with -F
    connector_b: Array  # (nl,) int64: body it acts on with F


_graphs: WeakKeyDictionary[System, BodyGraph] = WeakKeyDictionary()


def body_graph(system: System) -> BodyGraph:
    """Return the graph of a System, built once."""
    if system not in _graphs:
        _graphs[system] = build_graph(system)
    return _graphs[system]


def body_numbers(system: System) -> dict[str, int]:
    """Return the number of every body in the graph; ground has -1."""
    topology = system.topology
    return {topology.bodies[0]: -1} | {topology.bodies[one.child]: k for k, one in enumerate(topology.tree)}


def entered_from(system: System, joint: str) -> tuple[int, bool]:
    """Return the body (graph number) that the tree enters through ``joint``, and whether it walks from b to a."""
    topology = system.topology
    for k, branch in enumerate(topology.tree):
        if topology.edges[branch.edge].name == joint:
            return k, branch.reversed
    raise KeyError(joint)


def build_graph(system: System) -> BodyGraph:
    """Return the graph of a System."""
    number, topology = body_numbers(system), system.topology
    infos = [system.bodies[topology.bodies[branch.child]] for branch in topology.tree]
    parents = [number[topology.bodies[branch.parent]] for branch in topology.tree]
    closed = zip(system.tables.closures.connector.tolist(), system.closure_names, strict=True)
    ends = {connector: closure_ends(system, name) for connector, name in closed}
    ends |= {force.connector: (force.a, force.b) for force in system.forces.values() if force.connector >= 0}
    pairs = [ends[connector] for connector in range(len(ends))]
    nb = len(infos)
    return BodyGraph(
        dof=np.array([info.dof for info in infos], np.int64),
        center=np.reshape([info.position + info.rotation @ info.center_of_mass for info in infos], (nb, 3)),
        mass=np.array([info.mass for info in infos], np.float64),
        inertia=np.reshape([info.rotation @ info.inertia @ info.rotation.T for info in infos], (nb, 3, 3)),
        parent=np.array(parents, np.int64),
        connector_a=np.array([number[a] for a, _ in pairs], np.int64),
        connector_b=np.array([number[b] for _, b in pairs], np.int64),
    )


def closure_ends(system: System, name: str) -> tuple[str, str]:
    """Return the bodies that a closure joins. An auxiliary body is massless: what acts on it acts on the body it hangs
    on, a.
    """
    if name in system.joints:
        return system.joints[name].a, system.joints[name].b
    bodies = system.topology.bodies
    connector = next((connector for connector in system.topology.connectors if connector.name == name), None)
    if connector is None:  # a coupler acts inside joints
        return bodies[0], bodies[0]
    return bodies[connector.a], bodies[connector.b]
