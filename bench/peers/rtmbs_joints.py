"""rtmbs: joint coordinates, cuts closed as revolutes, penalties and projections, all else as it is by default."""

import time

import numpy as np

from bench.peers.mechanism import GRAVITY, GROUND, LENGTH, Mechanism, Outcome
from rtmbs import Model, Revolute, Simulation
from rtmbs.library.linkages import add_bar

PIN = Revolute(axis=(1.0, 0.0, 0.0))


def simulate(mechanism: Mechanism, h: float, steps: int, threads: int = 1) -> Outcome:
    """Run ``steps`` steps of ``h`` in one call, recording; two steps of another Simulation load the kernels before."""
    prepared(mechanism, h, threads).run(2 * h)
    sim = prepared(mechanism, h, threads)
    before = time.perf_counter()
    sim.run(h * steps)
    seconds = time.perf_counter() - before

    system, z = sim.system, sim.state.z
    turns = np.zeros(len(mechanism.bars) + 1)  # ground last: index -1
    starts, directions = np.zeros((len(mechanism.bars), 3)), np.zeros((len(mechanism.bars), 3))
    for i, (bar, pin) in enumerate(zip(mechanism.bars, mechanism.tree, strict=True)):
        above = 0.0 if pin.a == GROUND else turns[pin.a] - mechanism.bars[pin.a].turn
        turns[i] = bar.turn + above + z[system.joints[pin.name].dofs[0]]
        directions[i] = 0.0, np.cos(turns[i]), np.sin(turns[i])
        starts[i] = pin.point if pin.a == GROUND else starts[pin.a] + pin.along_a * directions[pin.a]
    return Outcome(seconds, starts, directions)


def prepared(mechanism: Mechanism, h: float, threads: int = 1) -> Simulation:
    """Return the mechanism, consistent and ready for its first step."""
    return Simulation(model(mechanism).compile(), h=h, threads=threads)


def model(mechanism: Mechanism) -> Model:
    """Return the mechanism as a model whose reference pose is the start."""
    built = Model(f"fourbar {mechanism.layout}", gravity=(0.0, 0.0, -GRAVITY))
    bodies = [add_bar(built, bar.name, bar.start, bar.point(LENGTH)) for bar in mechanism.bars]
    for pin in mechanism.tree:
        a = built.ground if pin.a == GROUND else bodies[pin.a]
        built.add_joint(pin.name, PIN, a, bodies[pin.b], point=pin.point)
    for pin in mechanism.loops:
        built.add_joint(pin.name, PIN, bodies[pin.a], bodies[pin.b], point=pin.point, cut=True)
    pinned = {mechanism.bars[rod].name for rod in mechanism.first_rods}
    for pin in mechanism.tree:
        rate = mechanism.relative_rate(pin)
        built.set_initial(pin.name, position=0.0, rate=rate, pin=mechanism.bars[pin.b].name in pinned)
    return built
