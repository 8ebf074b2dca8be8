"""A System whose force law acts on another body: what a hand that lets go and takes hold elsewhere needs.

The tree, its pattern and every coordinate stay, for a link from ground to a body lives on the path to that body, and
all pairs of a path are in the pattern already: models with a law on a body have no interfaces (``write_draft``).
"""

from dataclasses import replace

import numpy as np

from rtmbs.errors import InputError, unknown_name
from rtmbs.linear.symbolic import positions
from rtmbs.system.pattern import join
from rtmbs.system.system import Array, Integers, System
from rtmbs.system.tables import Links


def attached(system: System, force: str, body: str, point: Array) -> System:
    """Return ``system`` with the law ``force`` acting on ``body`` at ``point`` (3,) in body axes [m].

    Raises UnknownNameError, and InputError for a force that is no law on one body, and for ground.
    """
    if not (isinstance(force, str) and force in system.forces):
        raise unknown_name("force", force, system.forces)
    record, ground = system.forces[force], next(iter(system.bodies))
    if not record.on_body:
        raise InputError(f"force {force!r} cannot be attached elsewhere; only a force law on one body (body=) can")
    if not (isinstance(body, str) and body in system.bodies):
        raise unknown_name("body", body, system.bodies)
    if body == ground:
        raise InputError(f"force {force!r}: body {body!r} stands still; name another body")
    place, tables = system.bodies[body], system.tables
    frame = tables.laws.frame_b.copy()
    frame[record.row] = np.column_stack((place.rotation, place.position + place.rotation @ point))
    links = with_branch(tables.links, record.connector, place.step, path_to(tables.steps.parent, place.step), system)
    return replace(
        system,
        tables=tables._replace(links=links, laws=tables.laws._replace(frame_b=frame)),
        forces={**system.forces, force: record._replace(b=body)},
    )


def path_to(parent: Integers, step: int) -> Integers:
    """Return the steps from ground to ``step``, itself last."""
    steps: list[int] = []
    while step >= 0:
        steps.append(step)
        step = int(parent[step])
    return np.array(steps[::-1], np.int64)


def with_branch(links: Links, link: int, b: int, branch: Integers, system: System) -> Links:
    """Return links of which one leads from ground to step ``b`` along ``branch``."""
    block = positions(system.lu, np.repeat(branch, len(branch)), np.tile(branch, len(branch)))
    step, sign = (np.split(part, links.pointer[link : link + 2]) for part in (links.step, links.sign))
    places = np.split(links.position, links.block_pointer[link : link + 2])
    grown = np.arange(len(links.pointer)) > link
    more, more_places = len(branch) - len(step[1]), len(block) - len(places[1])
    ends, ground = links.b.copy(), links.a.copy()
    ends[link], ground[link] = b, system.tables.origins.row[b]
    return links._replace(
        a=ground,
        b=ends,
        pointer=links.pointer + more * grown,
        step=join([step[0], branch, step[2]]),
        sign=np.concatenate((sign[0], np.ones(len(branch)), sign[2])),
        block_pointer=links.block_pointer + more_places * grown,
        position=join([places[0], np.asarray(block, np.int64), places[2]]),
    )
