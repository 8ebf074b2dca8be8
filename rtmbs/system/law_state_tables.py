"""States of force laws in tables: where their rates and derivatives stand, and what elimination adds to a tangent.

A law with k states, n kinematic inputs and m forces has a block of slopes, row by row: dF/ds (m, k), dg/dx (k, n) and
dg/ds (k, k), with g the rates (METHODS 1.32). Its elimination couples every force that a state moves with every input
that moves a state; a law between two frames has a dense derivative anyhow, one on joints gets entries of its own.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rtmbs.system.system import Array, Integers, LawStateInfo
from rtmbs.system.tables import FRAME_INPUTS, Laws

WIDTH = 10
# Columns of Laws.state_block: first state, number of states, first force, number of forces, first input, number of
# inputs, first slope, number among the laws between frames (-1: on joints), first row that elimination adds to
# Laws.force_entry, counted from its end, and the number of these rows.
STATE, COUNT, OUTPUT, ACTS, INPUT, LOOKS, PLACE, LAW, FILL, FILLS = range(WIDTH)


class StateTables(NamedTuple):
    """What the laws with states add to the tables."""

    block: Integers  # (nb, WIDTH)
    place: Integers  # (entries,) in the flat slopes
    fill: Integers  # (nf, 4) further rows of ``Laws.force_entry``


def state_tables(frames: Sequence[Any], joints: Sequence[Any]) -> StateTables:
    """Return the tables of the states of built laws, in the order of the program."""
    parts, blocks, fills = [np.zeros(0, np.int64)], [], [np.zeros((0, 4), np.int64)]
    recorded = [[law for law in laws if law.tape] for laws in (frames, joints)]
    output, looked = 0, 0
    wrenches, inputs = 6 * len(recorded[0]), FRAME_INPUTS * len(recorded[0])
    for law in (*recorded[0], *recorded[1]):
        function = law.function
        if function.states:
            between = output < wrenches
            blocks.append(
                [0, len(function.states), output, function.acts, looked, function.looks, 0,
                 output // 6 if between else -1, 0, 0]
            )  # fmt: skip
            parts.append(places_of(law))
            if not between:
                fills.append(filled(law, output - wrenches, looked - inputs))
                blocks[-1][FILLS] = len(fills[-1])
        output, looked = output + function.acts, looked + function.looks
    block = numbered(np.array(blocks, np.int64).reshape(-1, WIDTH))
    for k, part in enumerate(parts[1:]):
        part += block[k, PLACE]
    return StateTables(block, np.concatenate(parts), np.concatenate(fills))


def numbered(block: Integers) -> Integers:
    """Return blocks with the numbers that follow from their sizes: first state, first slope, first fill."""
    block = block.copy()
    for column, size in ((STATE, block[:, COUNT]), (PLACE, slopes_of(block)), (FILL, block[:, FILLS])):
        block[:, column] = np.cumsum(size) - size
    block[:, FILL] -= block[:, FILLS].sum()
    return block


def slopes_of(block: Integers) -> Integers:
    """Return how many slopes each block has."""
    k, m, n = block[:, COUNT], block[:, ACTS], block[:, LOOKS]
    return np.asarray(k * (m + n + k), np.int64)


def own_entries(law: Any) -> np.ndarray[Any, Any]:
    """Return which entries of a law's derivative are those of its force by its kinematics (entries,) bool."""
    return (law.row < law.function.acts) & (law.column < law.function.looks)


def places_of(law: Any) -> Integers:
    """Return the places in the law's slopes of its other entries, in their order."""
    mine = ~own_entries(law)
    row, column, k = law.row[mine], law.column[mine], len(law.function.states)
    m, n = law.function.acts, law.function.looks
    of_rate = m * k + (row - m) * n + column
    among = m * k + k * n + (row - m) * k + column - n
    return np.asarray(np.where(row < m, row * k + column - n, np.where(column < n, of_rate, among)), np.int64)


def filled(law: Any, force: int, first: int) -> Integers:
    """Return (force, input, is a rate, 0) of what the elimination adds to the derivative of a law on joints."""
    m, n = law.function.acts, law.function.looks
    moved = np.unique(law.row[(law.row < m) & (law.column >= n)])
    moving = np.unique(law.column[(law.row >= m) & (law.column < n)])
    row, column = (part.ravel() for part in np.meshgrid(moved, moving, indexing="ij"))
    rate = (column >= m).astype(np.int64)
    return np.column_stack((row + force, column + first, rate, np.zeros_like(rate)))


def input_order(laws: Sequence[Any]) -> Integers:
    """Return the new number of every input of joined tapes: kinematics of all laws, then states of all laws."""
    state = np.concatenate([np.arange(law.function.n) >= law.function.looks for law in laws])
    order = np.argsort(state, kind="stable")
    new = np.empty_like(order)
    new[order] = np.arange(len(order))
    return np.asarray(new, np.int64)


def state_infos(laws: Sequence[Any]) -> tuple[LawStateInfo, ...]:
    """Return name, first value and unit of every state in the order of ``State.s``."""
    return tuple(
        LawStateInfo(law.force.name, state.name, state.first, state.unit)
        for law in laws
        if law.tape
        for state in law.function.states
    )


def home_of_states(laws: Laws, home: Integers) -> Integers:
    """Return the dof that every state belongs to (ns,), given that of every kinematic input."""
    return np.repeat(home[laws.state_block[:, INPUT]], laws.state_block[:, COUNT])


class Kept(NamedTuple):
    """What of the states stays when laws are left out."""

    states: np.ndarray[Any, Any]  # (ns,) bool
    entries: np.ndarray[Any, Any]  # (entries,) bool
    block: Integers
    place: Integers


def kept_states(laws: Laws, outputs: Array, inputs: Array) -> Kept:
    """Return the states of the laws that stay; ``outputs`` and ``inputs`` are masks of forces and kinematics."""
    block = laws.state_block
    stays = outputs[block[:, OUTPUT]] if len(block) else np.zeros(0, np.bool_)
    sizes = slopes_of(block)
    owner: Integers = np.asarray(np.searchsorted(np.cumsum(sizes), laws.state_place, side="right"), np.int64)
    new = block[stays].copy()
    for column, mask in ((OUTPUT, outputs), (INPUT, inputs)):
        new[:, column] = np.asarray(np.cumsum(mask) - 1)[new[:, column]]
    new[:, LAW] = np.where(new[:, LAW] >= 0, new[:, OUTPUT] // 6, -1)
    new = numbered(new)
    entries = stays[owner]
    by: Integers = np.zeros(len(block), np.int64)
    by[stays] = new[:, PLACE] - block[stays, PLACE]
    place = laws.state_place[entries] + by[owner[entries]]
    return Kept(np.repeat(stays, block[:, COUNT]), entries, new, place)
