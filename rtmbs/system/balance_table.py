"""Which components keep a balance of energy, METHODS 1.7: those with loops whose equations do not know the time."""

import numpy as np

from rtmbs.forces.register import KINDS
from rtmbs.linear.symbolic import SparseLU
from rtmbs.system.components import find_components
from rtmbs.system.system import Integers, Mask, Signal
from rtmbs.system.tables import DISTANCE, GRAVITY_SLOT, POSE_INPUTS, Balance, Tables


def no_balance(n: int) -> Balance:
    """Return the table of a mechanism of ``n`` dofs that keeps no balance."""
    return balance_of(np.full(n, -1, np.int64), 1.0)


def balance_of(component: Integers, length: float) -> Balance:
    """Return the table of components by their first dofs, -1 where no balance is kept; ``length`` in m."""
    return Balance(component, np.unique(component[component >= 0]), np.array([length]))


def of_true_loops(tables: Tables, redundant: Mask) -> Balance:
    """Return the table without components in which every loop equation is ``redundant`` (m,): those move as trees do.

    So a door on two hinges steps like one on one hinge, to rounding.
    """
    component = tables.balance.component
    ends = np.maximum(tables.connectors.a, tables.connectors.b)[tables.closures.connector]
    row_ends = np.repeat(ends, np.diff(tables.closures.row_pointer))
    held = component[row_ends[~redundant[: len(row_ends)] & (row_ends >= 0)]]
    return balance_of(np.where(np.isin(component, held), component, -1), float(tables.balance.length[0]))


def find_balance(
    tables: Tables, lu: SparseLU, floating: Integers, signals: tuple[Signal, ...], length: float
) -> Balance:
    """Return the components that have loops, and neither a floating base, nor a driver, nor a function of time.

    A floating base has a momentum that scaling its rates would change; what a driver or a function of time does is
    work that the balance does not count. ``floating`` lists dofs of floating joints to ground.
    """
    n = len(tables.dofs.kind)
    label = find_components(tables, lu)[:n]
    connectors = tables.connectors
    ends = np.maximum(connectors.a, connectors.b)  # the lower end of a connector is never ground
    closed = ends[tables.closures.connector]
    looped = np.zeros(n, np.bool_)  # by label
    looped[label[closed[closed >= 0]]] = True
    timed = timed_steps(tables, ends, signals)
    looped[label[np.concatenate([floating, tables.drivers.dof, timed])]] = False
    _, first = np.unique(label, return_index=True)
    return balance_of(np.where(looped[label], first[label], -1).astype(np.int64), length)


def timed_steps(tables: Tables, ends: Integers, signals: tuple[Signal, ...]) -> Integers:
    """Return dofs that a function of time acts on: all of them when gravity is one."""
    written: Mask = np.zeros(1 + max((signal.slot + signal.size for signal in signals), default=0), np.bool_)
    for signal in signals:
        written[signal.slot : signal.slot + signal.size] = True

    def acts(slots: Integers, size: int) -> Mask:
        places = np.minimum(slots[:, None] + np.arange(size), len(written) - 1)
        return np.any(written[places] & (slots[:, None] >= 0), axis=1)

    if np.any(acts(np.array([GRAVITY_SLOT]), 3)):
        return np.arange(len(tables.dofs.kind))
    closures = np.repeat(tables.closures.connector, np.diff(tables.closures.row_pointer))
    forces = zip(KINDS, tables.forces, strict=True)
    found = [
        ends[closures[acts(tables.closures.slot, 3)]],
        ends[closures[(tables.closures.kind == DISTANCE) & (tables.closures.slot >= 0)]],  # driven, by an input as well
        ends[closures[timed_conditions(tables)]],
        *(ends[table.connector[acts(table.slot, kind.size)]] for kind, table in forces),
        tables.joint_forces.dof[acts(tables.joint_forces.slot, 4)],
    ]
    dofs = np.concatenate(found)
    return dofs[dofs >= 0]


def timed_conditions(tables: Tables) -> Integers:
    """Return the rows of the constraints of the user that look at the time."""
    conditions = tables.conditions
    between = conditions.input < POSE_INPUTS * len(conditions.frame_a)
    clock = np.where(between, POSE_INPUTS - 1, np.diff(conditions.place) - 1)  # input of each condition that is t
    row, by = conditions.slope.T
    return tables.closures.row_pointer[conditions.first[0]] + np.unique(row[by == clock[row]])
