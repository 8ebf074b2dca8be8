"""Local origins of the parts of a mechanism, so that it may be far from the world's origin (METHODS 1.28).

Motion vectors, wrenches and inertias hold moments about one point of the world. Far from it, at a distance of d times
the size of a mechanism, moments of inertia cancel to d^2 of their rounding. Nothing but that point would change if it
were another one, so every part that hangs together has its own, near its base, and *sees* ground from there: a row of
ground in the workspace, with r = -o. Near the world's origin o is exactly zero.
"""

import numpy as np

from rtmbs.core.bounds import BEYOND
from rtmbs.system.system import Array, Integers, Mask
from rtmbs.system.tables import PRISMATIC, Connectors, Dofs, Origins, Tables, branch_dofs

CELL = 16.0  # sizes of a part: o lies on a grid of about this width, and stays while the base moves in a cell
WORLD = -1  # row of ground as seen from the world's origin


def with_origins(tables: Tables) -> Tables:
    """Return the tables with an origin for every part far from the world's, or sliding away from it.

    Parents and ends of connectors on ground become the row of ground that their part sees.
    """
    dofs, connectors = tables.dofs, tables.connectors
    part = joined_members(parts(dofs, connectors), tables.sets.dof)
    row, rows, fixed, moving, grid = np.full(len(part), WORLD, np.int64), 0, [], [], []
    for number in np.unique(part):
        mine = np.flatnonzero(part == number)
        place, slides = base_of(dofs, mine)
        width = grid_width(dofs, mine)
        if not slides and np.all(np.abs(place) < 0.5 * width):
            continue
        rows += 1
        row[mine] = WORLD - rows
        fixed.append(place)
        moving.append(slides)
        grid.append(width)
    counts = np.array([len(slides) for slides in moving], np.int64)
    chains = [slide for slides in moving for slide in slides]
    origins = Origins(
        row=row,
        fixed=np.reshape(fixed, (rows, 3)),
        grid=np.array(grid, np.float64),
        pointer=np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)]),
        dof=np.array([dof for dof, _ in chains], np.int64),
        direction=np.reshape([direction for _, direction in chains], (len(chains), 3)),
    )
    seen = {name: np.where(getattr(dofs, name) < 0, row, getattr(dofs, name)) for name in ("parent", "base")}
    members, ground = tables.sets.dof, row[tables.sets.dof[tables.sets.dof >= 0][:1]]
    sets = tables.sets._replace(dof=np.where(members < 0, ground[0], members) if len(ground) else members)
    return tables._replace(dofs=dofs._replace(**seen), connectors=on_rows(connectors, row), origins=origins, sets=sets)


def no_origins(n: int) -> Origins:
    """Return the origins of ``n`` dofs that all use the world's."""
    none = np.zeros(0, np.int64)
    return Origins(
        np.full(n, WORLD, np.int64),
        np.zeros((0, 3)),
        np.zeros(0),
        np.zeros(1, np.int64),
        none,
        none[:, None] + np.zeros(3),
    )


def transport_slides(tables: Tables) -> Mask:
    """Return which dofs (n,) only carry a part through the world: slides of its base that no closure feels."""
    found = np.zeros(len(tables.dofs.kind), np.bool_)
    found[tables.origins.dof] = True
    found[branch_dofs(tables.connectors, tables.closures.connector)] = False
    found[tables.drivers.dof] = False
    return found


def on_rows(connectors: Connectors, row: Integers) -> Connectors:
    """Return the connectors with ground ends at the other end's origin; ``row`` is that of every dof."""
    seen = np.append(row, WORLD)  # of ground at both ends
    other_a, other_b = seen[np.maximum(connectors.b, WORLD)], seen[np.maximum(connectors.a, WORLD)]
    return connectors._replace(
        a=np.where(connectors.a < 0, other_a, connectors.a), b=np.where(connectors.b < 0, other_b, connectors.b)
    )


def parts(dofs: Dofs, connectors: Connectors) -> Integers:
    """Return for every dof the number of its part: dofs that joints and connectors join, other than through ground."""
    part = np.arange(len(dofs.parent))
    for i, p in enumerate(dofs.parent):
        part[i] = part[p] if p >= 0 else i
    for a, b in zip(connectors.a, connectors.b, strict=True):
        if a >= 0 and b >= 0 and part[a] != part[b]:
            part[part == part[b]] = part[a]
    return part


def joined_members(part: Integers, members: Integers) -> Integers:
    """Return the parts with those of all members of contact sets as one: any two may touch."""
    own = np.unique(part[members[members >= 0]])
    return np.where(np.isin(part, own), own[0], part) if len(own) else part


def base_of(dofs: Dofs, mine: Integers) -> tuple[Array, list[tuple[int, Array]]]:
    """Return the position of a part's base on ground [m], and the slides (dof, direction) that carry it away.

    A base that does not slide comes first: what is hinged to ground stays.
    """
    bases = mine[dofs.parent[mine] < 0]
    chains = [slides_of(dofs, int(base)) for base in bases]
    return min(chains, key=lambda chain: len(chain[1]) > 0)


def slides_of(dofs: Dofs, base: int) -> tuple[Array, list[tuple[int, Array]]]:
    """Return the position behind the first slides of ``base`` at zero, and their directions."""
    A, place, slides, dof = np.eye(3), np.zeros(3), [], base
    for _ in range(len(dofs.parent)):
        place = place + A @ dofs.offset[dof]
        A = A @ dofs.offset_rotation[dof]
        children = np.flatnonzero(dofs.parent == dof)
        if dofs.kind[dof] != PRISMATIC:
            break
        slides.append((dof, A @ dofs.axis[dof]))
        if len(children) != 1:
            break
        dof = int(children[0])
    return place, slides


def grid_width(dofs: Dofs, mine: Integers) -> float:
    """Return the width of the grid of a part's origin [m], a power of two."""
    inner = mine[dofs.parent[mine] >= 0]
    arms = np.linalg.norm(np.concatenate([dofs.offset[inner], dofs.mass_center[mine]]), axis=1)
    heavy = mine[dofs.mass[mine] > 0.0]
    with np.errstate(over="ignore"):  # of a mass that is nearly none
        turning = np.trace(dofs.inertia[heavy], axis1=1, axis2=2) / dofs.mass[heavy]
    size = max(float(np.max(arms, initial=0.0)), float(np.sqrt(np.max(turning, initial=0.0)))) or 1.0
    return float(2.0 ** np.ceil(np.log2(CELL * min(size, BEYOND))))
