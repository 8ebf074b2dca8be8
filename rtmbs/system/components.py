"""Parts of a mechanism that share nothing but ground, and how they are shared out over threads.

Two coordinates belong to one component when a chain of entries of the tangent's pattern joins them, or a force law that
looks at one and acts on the other: a law may depend on a coordinate without having a derivative by it.
"""

import numpy as np

from rtmbs.ad.restrict import flows
from rtmbs.linear.symbolic import FIRST, REST, WIDTH, SparseLU
from rtmbs.system.law_state_tables import home_of_states
from rtmbs.system.system import Array, Integers
from rtmbs.system.tables import FRAME_INPUTS, Tables

PER_COORDINATE = 3000.0  # flops of residual, tangent and projections a step, `python -m bench.phases`
AS_EVEN = 1.02  # contiguous groups are kept when the heaviest is at most so much heavier than that of others


def find_groups(tables: Tables, lu: SparseLU, threads: int) -> list[Integers]:
    """Return the coordinates of at most ``threads`` groups of components, ascending, about equal in work.

    One group where a force law between ground and ground has states: no component would carry them.
    """
    if np.any(home_of_states(tables.laws, law_homes(tables)) < 0):
        return [np.arange(lu.n)]
    component = find_components(tables, lu)
    group = share_out(predicted_work(component, lu), threads)[component[: lu.n]]
    return [found for g in range(threads) if len(found := np.flatnonzero(group == g))]


def find_components(tables: Tables, lu: SparseLU) -> Integers:
    """Return the component of every unknown of the tangent (lu.total,), numbered by first coordinate."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    pairs = np.concatenate([np.column_stack(np.divmod(lu.pattern, lu.total)), law_pairs(tables)])
    graph = coo_array((np.ones(len(pairs), np.bool_), (pairs[:, 0], pairs[:, 1])), shape=(lu.total, lu.total))
    _, label = connected_components(graph, directed=False)
    _, first, number = np.unique(label, return_index=True, return_inverse=True)
    rank = np.zeros(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[number]


def law_pairs(tables: Tables) -> Integers:
    """Return pairs of coordinates (k, 2) that recorded force laws join."""
    laws = tables.laws
    home = law_homes(tables)
    states = home_of_states(laws, home)
    home = np.concatenate([home, states])
    pairs, source = flows(laws.program)
    first, forces = 6 * laws.counts[0], laws.counts[1]
    rates = first + forces + len(laws.wrench_entry) + laws.counts[3]
    acts = np.concatenate([laws.row[:forces], states])
    of = np.concatenate([source[first : first + forces], source[rates : rates + len(states)]])
    looked = np.column_stack((acts[of >= 0], home[of[of >= 0]]))
    both = np.concatenate([home[pairs], looked])
    return both[np.all(both >= 0, axis=1)]


def law_homes(tables: Tables) -> Integers:
    """Return the dof that every kinematic input of the recorded force laws belongs to."""
    laws, connectors = tables.laws, tables.connectors
    ends = np.maximum(connectors.a, connectors.b)[laws.connector[: laws.counts[0]]]  # any dof of the component will do
    return np.concatenate([np.repeat(ends, FRAME_INPUTS), laws.input[: laws.counts[2], 0]])


def predicted_work(component: Integers, lu: SparseLU) -> Array:
    """Return the flops of a step of every component (components,): of its passes, and of its share of the factor."""
    work = np.asarray(PER_COORDINATE * np.bincount(component[: lu.n]), np.float64)
    owner = component[lu.order[lu.fronts[:, FIRST]]]
    for k, width, rest in zip(owner, lu.fronts[:, WIDTH], lu.fronts[:, REST], strict=True):
        below = np.arange(rest, rest + width)
        work[k] += float(np.sum(below + 2 * below * below))
    return work


def share_out(work: Array, threads: int) -> Integers:
    """Return the group of every component: neighbours together when that is about as even as any other way."""
    neighbours = np.minimum((np.cumsum(work) - 0.5 * work) * threads / work.sum(), threads - 1).astype(np.int64)
    packed, load = np.zeros(len(work), np.int64), np.zeros(threads)
    for k in np.argsort(-work, kind="stable"):  # the largest first, each to whoever has least
        packed[k] = np.argmin(load)
        load[packed[k]] += work[k]
    heaviest = np.bincount(neighbours, work, threads).max()
    return neighbours if heaviest <= AS_EVEN * load.max() else packed
