"""A System whose force law acts on another body: what a hand that lets go and takes hold elsewhere needs.

The tree and every coordinate stay. A connector from ground to a body lives on the path to that body, so all pairs of a
path are in the pattern from the first such change on (``uncondensed``); later changes keep the pattern.
"""

from dataclasses import replace

import numpy as np

from rtmbs.errors import InputError, unknown_name
from rtmbs.linear.symbolic import entries
from rtmbs.system.pattern import join, uncondensed
from rtmbs.system.system import Array, Integers, System
from rtmbs.system.tables import Connectors


def attached(system: System, force: str, body: str, point: Array) -> System:
    """Return ``system`` with the law ``force`` acting on ``body`` at ``point`` (3,) in body axes [m].

    Raises UnknownNameError, and InputError for a force that is no law on one body, and for ground.
    """
    if not (isinstance(force, str) and force in system.forces):
        raise unknown_name("force", force, system.forces)
    info, ground = system.forces[force], next(iter(system.bodies))
    if not info.on_body:
        raise InputError(f"force {force!r} cannot be attached elsewhere; only a force law on one body (body=) can")
    if not (isinstance(body, str) and body in system.bodies):
        raise unknown_name("body", body, system.bodies)
    if body == ground:
        raise InputError(f"force {force!r}: body {body!r} stands still; name another body")
    system = uncondensed(system)
    place, tables = system.bodies[body], system.tables
    frame = tables.laws.frame_b.copy()
    frame[info.row] = np.column_stack((place.rotation, place.position + place.rotation @ point))
    connectors = with_branch(
        tables.connectors, info.connector, place.dof, path_to(tables.dofs.parent, place.dof), system
    )
    return replace(
        system,
        tables=tables._replace(connectors=connectors, laws=tables.laws._replace(frame_b=frame)),
        forces={**system.forces, force: info._replace(b=body)},
    )


def path_to(parent: Integers, dof: int) -> Integers:
    """Return the dofs from ground to ``dof``, itself last."""
    dofs: list[int] = []
    while dof >= 0:
        dofs.append(dof)
        dof = int(parent[dof])
    return np.array(dofs[::-1], np.int64)


def with_branch(connectors: Connectors, connector: int, b: int, branch: Integers, system: System) -> Connectors:
    """Return connectors of which one leads from ground to dof ``b`` along ``branch``."""
    block = entries(system.lu, np.repeat(branch, len(branch)), np.tile(branch, len(branch)))
    dof, sign = (
        np.split(part, connectors.pointer[connector : connector + 2]) for part in (connectors.dof, connectors.sign)
    )
    places = np.split(connectors.entry, connectors.block_pointer[connector : connector + 2])
    grown = np.arange(len(connectors.pointer)) > connector
    more, more_places = len(branch) - len(dof[1]), len(block) - len(places[1])
    ends, ground = connectors.b.copy(), connectors.a.copy()
    ends[connector], ground[connector] = b, system.tables.origins.row[b]
    return connectors._replace(
        a=ground,
        b=ends,
        pointer=connectors.pointer + more * grown,
        dof=join([dof[0], branch, dof[2]]),
        sign=np.concatenate((sign[0], np.ones(len(branch)), sign[2])),
        block_pointer=connectors.block_pointer + more_places * grown,
        entry=join([places[0], np.asarray(block, np.int64), places[2]]),
    )
