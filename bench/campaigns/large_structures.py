"""Large planar structures of bars: chains, ropes, ladders, nets, trees and wheels against own natural coordinates.

A structure is a graph: nodes are pins, and bars with any mass centre and inertia stand between them. The reference has
the places of the nodes as coordinates, a constant sparse mass matrix, and one equation a bar, |r_j - r_i|^2 = l^2. It
shares nothing with joint coordinates: neither tree nor cut nor interface. SciPy integrates it by DOP853.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.sparse import block_array, coo_array, csc_array
from scipy.sparse.linalg import splu
from scipy.spatial.transform import Rotation

import rtmbs
from bench.campaigns.assembly import place
from bench.campaigns.campaign import Campaign, Tally, each

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

KINDS = ("chain", "rope", "ladder", "net", "tree", "wheel")
TIME, STEPS = 0.1, 100  # [s]; coarse steps
ORDER = 0.3  # error of half steps over that of steps; 0.25 of order two
EXACT = 3e-8  # relative error that may be rounding or penalty
ACCELERATIONS = 1e-6  # relative error of the first accelerations
COARSE = 2e-3  # relative error of coarse steps


@dataclass
class Structure:
    """Bars between nodes in a plane."""

    places: Array  # (nodes,) complex, at the start [m]
    bars: Indices  # (bars, 2)
    fixed: Indices  # nodes held by ground
    mass: Array  # (bars,)
    center: Array  # (bars,) complex, in units of the bar, from its first node
    inertia: Array  # (bars,) about the mass centre [kg m^2]
    gravity: complex

    @property
    def lengths(self) -> Array:
        return np.abs(self.places[self.bars[:, 1]] - self.places[self.bars[:, 0]])


def structure(kind: str, count: int, rng: np.random.Generator, size: float | None = None) -> Structure:
    """Return a structure of about ``count`` bars of mean length ``size`` [m], its nodes off a regular drawing."""
    size = 10.0 ** rng.uniform(-1.0, 1.0) if size is None else size
    places, bars, fixed = GRAPHS[kind](count)
    places = size * (places + 0.1 * (rng.normal(size=len(places)) + 1j * rng.normal(size=len(places))))
    numbers = len(bars)
    length = np.abs(places[bars[:, 1]] - places[bars[:, 0]])
    mass = rng.uniform(0.3, 3.0, numbers) * 10.0 ** rng.uniform(-2.0, 2.0)
    center = rng.uniform(0.3, 0.7, numbers) + 1j * rng.uniform(-0.1, 0.1, numbers)
    inertia = mass * length**2 * rng.uniform(0.05, 0.15, numbers)
    return Structure(places, bars, fixed, mass, center, inertia, 9.81 * size * np.exp(1j * rng.uniform(-3.2, 3.2)))


def chain(count: int) -> tuple[Array, Indices, Indices]:
    nodes = np.arange(count + 1)
    return nodes - 0.3j * nodes, np.column_stack((nodes[:-1], nodes[1:])), nodes[:1]


def rope(count: int) -> tuple[Array, Indices, Indices]:
    nodes = np.arange(count + 1)
    sag = -0.4j * nodes * (count - nodes) / count
    return nodes + sag, np.column_stack((nodes[:-1], nodes[1:])), nodes[[0, -1]]


def ladder(count: int) -> tuple[Array, Indices, Indices]:
    rungs = max(2, count // 3)
    left, right = np.arange(rungs + 1), rungs + 1 + np.arange(rungs + 1)
    rails = [np.column_stack((side[:-1], side[1:])) for side in (left, right)]
    steps = np.arange(rungs + 1)
    return (
        np.concatenate((-1j * steps, 1.3 - 1j * steps)),
        np.concatenate((*rails, np.column_stack((left[1:], right[1:])))),
        np.array([left[0], right[0]]),
    )


def net(count: int) -> tuple[Array, Indices, Indices]:
    side = max(3, round(np.sqrt(count / 2.0)))
    number = np.arange(side * side).reshape(side, side)
    across = np.column_stack((number[1:, :-1].ravel(), number[1:, 1:].ravel()))
    down = np.column_stack((number[:-1].ravel(), number[1:].ravel()))
    return (number % side - 1j * (number // side)).ravel(), np.concatenate((across, down)), number[0]


def tree(count: int) -> tuple[Array, Indices, Indices]:
    nodes = np.arange(1, count + 1)
    above = np.concatenate(([0], (nodes[1:] - 2) // 2 + 1))
    places = np.zeros(count + 1, np.complex128)
    for node, parent in zip(nodes, above, strict=True):
        places[node] = places[parent] + np.exp(-1j * (0.8 + 1.2 * (node % 2)))
    return places, np.column_stack((above, nodes)), np.array([0])


def wheel(count: int) -> tuple[Array, Indices, Indices]:
    """A mass that many spokes of two bars each hold: all loops share it."""
    spokes = max(3, count // 2)
    rim = 2.0 * np.exp(2j * np.pi * np.arange(spokes) / spokes)
    places = np.concatenate(([0.0], 0.7 * rim * np.exp(0.8j), rim))
    middle, outer = 1 + np.arange(spokes), 1 + spokes + np.arange(spokes)
    bars = np.concatenate((np.column_stack((np.zeros_like(middle), middle)), np.column_stack((middle, outer))))
    return places, bars, outer


GRAPHS = {"chain": chain, "rope": rope, "ladder": ladder, "net": net, "tree": tree, "wheel": wheel}


# ---- natural coordinates ---------------------------------------------------------------------------------------------


class NaturalCoordinates:
    """Equations of a structure in the places of its nodes that are not fixed."""

    def __init__(self, one: Structure) -> None:
        self.one, nodes = one, len(one.places)
        free = np.setdiff1d(np.arange(nodes), one.fixed)
        self.free, self.column = free, np.full(nodes, -1)
        self.column[free] = np.arange(len(free))
        i, j = one.bars.T
        turn = one.inertia / one.lengths**2 + one.mass * np.abs(one.center) ** 2
        ends = one.mass - 2.0 * one.mass * one.center.real + turn
        between = one.mass * one.center - turn
        rows = np.concatenate((i, i, j, j))
        columns = np.concatenate((i, j, i, j))
        entries = np.concatenate((ends, between, np.conj(between), turn))
        M = csc_array(coo_array((entries, (rows, columns)), shape=(nodes, nodes)))
        weight = np.zeros(nodes, np.complex128)
        np.add.at(weight, i, one.mass * (1.0 - np.conj(one.center)))
        np.add.at(weight, j, one.mass * np.conj(one.center))
        inner = M[free][:, free]
        self.M = csc_array(block_array([[inner.real, -inner.imag], [inner.imag, inner.real]]))
        pull = (weight * one.gravity)[free]
        self.force = np.concatenate((pull.real, pull.imag))
        self.rows = np.arange(len(one.bars))

    def accelerations(self, places: Array, rates: Array) -> Array:
        """Return the accelerations (free,) of the nodes, all complex."""
        i, j = self.one.bars.T
        along, relative = places[j] - places[i], rates[j] - rates[i]
        parts = []
        for end, sign in ((i, -1.0), (j, 1.0)):
            some = self.column[end] >= 0
            for offset, part in ((0, along.real), (len(self.free), along.imag)):
                parts.append((sign * part[some], self.rows[some], self.column[end][some] + offset))
        data, rows, columns = (np.concatenate(part) for part in zip(*parts, strict=True))
        J = csc_array(coo_array((data, (rows, columns)), shape=(len(self.rows), 2 * len(self.free))))
        K = csc_array(block_array([[self.M, J.T], [J, None]]))
        found = splu(K).solve(np.concatenate((self.force, -(np.abs(relative) ** 2))))
        n = len(self.free)
        return np.asarray(found[:n] + 1j * found[n : 2 * n])

    def motion(self, time: float) -> Array:
        """Return the places of all nodes (nodes,) after ``time`` from rest."""
        n, places, rates = len(self.free), self.one.places.copy(), np.zeros(len(self.one.places), np.complex128)

        def rate(t: float, y: Array) -> Array:
            places[self.free], rates[self.free] = y[:n] + 1j * y[n : 2 * n], y[2 * n : 3 * n] + 1j * y[3 * n :]
            acceleration = self.accelerations(places, rates)
            return np.concatenate((y[2 * n :], acceleration.real, acceleration.imag))

        begin = places[self.free]
        y = np.concatenate((begin.real, begin.imag, np.zeros(2 * n)))
        size = float(np.abs(places).max())
        found = solve_ivp(rate, (0.0, time), y, method="DOP853", rtol=1e-10, atol=1e-11 * size)
        places[self.free] = found.y[:n, -1] + 1j * found.y[n : 2 * n, -1]
        return places


# ---- the same in joint coordinates -----------------------------------------------------------------------------------


def model_of(one: Structure, plane: Array) -> rtmbs.Model:
    """Return the structure as bodies on hinges; the plane is spanned by the first two columns of ``plane``."""
    gravity = plane @ (one.gravity.real, one.gravity.imag, 0.0)
    model = rtmbs.Model("structure", gravity=tuple(gravity))
    hinge, first = rtmbs.Revolute(axis=tuple(plane[:, 2])), dict.fromkeys(one.fixed.tolist(), "ground")
    for k, (i, j) in enumerate(one.bars.tolist()):
        along = one.places[j] - one.places[i]
        length = abs(along)
        turn = plane @ Rotation.from_euler("z", np.angle(along)).as_matrix()
        center, flat = length * one.center[k], 0.5 * one.inertia[k]
        model.add_body(
            f"bar{k}", mass=one.mass[k], center_of_mass=(center.real, center.imag, 0.0),
            inertia=(flat, flat, one.inertia[k]), position=at(plane, one.places[i]), orientation=turn,
        )  # fmt: skip
    for k, ends in enumerate(one.bars.tolist()):
        for node in ends:
            if node in first:
                model.add_joint(f"pin{k} {node}", hinge, first[node], f"bar{k}", point=at(plane, one.places[node]))
            else:
                first[node] = f"bar{k}"
    return model


def at(plane: Array, place: complex) -> tuple[float, ...]:
    """Return a place of the plane in the world."""
    return tuple(plane @ (place.real, place.imag, 0.0))


def nodes_of(sim: rtmbs.Simulation, one: Structure, plane: Array) -> Array:
    """Return the places of all nodes (nodes,), as the bars that were listed last have them."""
    found, lengths = one.places.copy(), one.lengths
    for k, ends in enumerate(one.bars.tolist()):
        for node, x in zip(ends, (0.0, lengths[k]), strict=True):
            flat = plane.T @ place(sim, f"bar{k}", (x, 0.0, 0.0))
            found[node] = flat[0] + 1j * flat[1]
    return found


def case(seed: int, tally: Tally) -> str:
    """Return what is wrong with one structure, or nothing."""
    rng = np.random.default_rng((seed, 77))
    kind = KINDS[seed % len(KINDS)]
    one = structure(kind, int(rng.integers(*COUNTS)), rng)
    plane = Rotation.random(rng=rng).as_matrix()
    system = model_of(one, plane).compile()
    wanted, ends = NaturalCoordinates(one).motion(TIME), []
    size = float(np.abs(wanted - one.places).max())
    for steps in (STEPS, 2 * STEPS):
        sim = rtmbs.Simulation(system, h=TIME / steps)
        for _ in range(steps):
            if not (report := sim.step()).outcome.accepted:
                return f"{kind} of {len(one.bars)}: {report.outcome.name}"
        ends.append(nodes_of(sim, one, plane))
    coarse, fine = (float(np.abs(end - wanted).max()) / size for end in ends)
    tally.largest(f"error of half steps, {kind}", fine)
    tally.largest("condensed closures", float(len(system.tables.condensed.closure)))
    if coarse > COARSE:
        return f"{kind} of {len(one.bars)}: error {coarse:.2g}"
    return "" if fine <= ORDER * coarse + EXACT else f"{kind} of {len(one.bars)}: errors {coarse:.2g}, {fine:.2g}"


COUNTS = (60, 400)  # bars


def run(cases: int, seed: int) -> Tally:
    return each(case, cases, seed)


CAMPAIGN = Campaign(
    name="large_structures",
    claim="large chains, ropes, ladders, nets, trees and wheels move as own natural coordinates do, with order two",
    full=200,
    bounded=6,
    run=run,
)
