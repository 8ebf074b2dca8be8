"""Numbers that are not finite or far out of range, put anywhere: an answer in words, never a silent result."""

from typing import Any

import numpy as np

import rtmbs
from bench.campaigns.campaign import Campaign, Tally
from bench.campaigns.machines import contents, simulation, system
from rtmbs import Simulation, State
from rtmbs.simulation.options import by_name

BAD = (np.nan, np.inf, -np.inf, 1e308, -1e308, 1e200, 1e160, -1e160, 1e101, 5e-324, -5e-324, 1e-310, 0.0, -0.0, -1.0)
NAMES = ("rich", "timed", "crank rocker", "top")
ARRAYS = ("z", "zd", "zdd", "lam", "alpha", "R0", "u")
SCALARS = ("t_ref", "h", "k")
OPTIONS = ("h", "penalty", "alpha", "tol")
STEPS = 3


def run(cases: int, seed: int) -> Tally:
    """Try ``cases`` injections from ``seed`` on."""
    tally = Tally()
    for case in range(seed, seed + cases):
        rng = np.random.default_rng(case)
        kind = KINDS[case % len(KINDS)]
        try:
            with np.errstate(all="ignore"):
                wrong = kind(rng)
        except Exception as error:  # noqa: BLE001 - whatever comes out that is no word of ours is what is looked for
            wrong = f"{type(error).__name__}: {error}"
        if wrong:
            tally.fail(f"seed {case}, {kind.__name__}: {wrong}")
        else:
            tally.survive()
    return tally


def pick(rng: np.random.Generator) -> tuple[str, float]:
    return str(rng.choice(NAMES)), float(rng.choice(BAD))


SETTLED = {"zdd", "lam", "energy"}  # what settling changes after an input has: the step that fails comes behind it


def judged(sim: Simulation, by_rows: bool) -> str:
    """Go on with the simulation; return what is wrong: a result that is not finite, or a failed state that moved."""
    before = contents(sim._store.states[0])  # ``state`` would settle first
    try:
        if by_rows:
            result = sim.run(sim.t + STEPS * sim.h)
            # The first row shows what was put there; a function of time is worked out anew behind it.
            bad = [name for name in result if not np.all(np.isfinite(result[name][1:]))]
            return f"run took {result.outcomes}, and {bad[0]} is not finite" if bad else ""
        report = sim.step()
    except rtmbs.RtmbsError:
        return ""
    if report.outcome.accepted:
        numbers = (sim.state.z, sim.state.zd, sim.state.zdd, sim.state.lam)
        return "" if all(np.all(np.isfinite(one)) for one in numbers) else f"{report.outcome.name} is not finite"
    left = {name for name, value in contents(sim._store.states[0]).items() if value != before[name]} - SETTLED
    return f"{report.outcome.name} changed {', '.join(left)}" if left else ""


def array_of(state: State, name: str) -> np.ndarray:
    """Return an array of a state, or of what its method remembers."""
    return state.memory[name] if name in state.memory else getattr(state, name)


def into_state(rng: np.random.Generator) -> str:
    """An entry of the state that counts."""
    name, value = pick(rng)
    sim, entry = simulation(name), str(rng.choice((*ARRAYS, *SCALARS)))
    if entry == "k":
        sim.state.k = int(rng.choice((-1, -(10**18), 10**18, 2**62)))
    elif entry in SCALARS:
        setattr(sim.state, entry, value)
    elif (numbers := array_of(sim.state, entry)).size:
        numbers.flat[rng.integers(numbers.size)] = value
    return judged(sim, bool(rng.integers(2)))


def into_restored(rng: np.random.Generator) -> str:
    """An entry of a state that is restored."""
    name, value = pick(rng)
    sim, entry = simulation(name), str(rng.choice((*ARRAYS, "t_ref", "h")))
    state, before = sim.state.copy(), contents(sim.state)
    if entry in SCALARS:
        setattr(state, entry, value)
    elif (numbers := array_of(state, entry)).size:
        numbers.flat[rng.integers(numbers.size)] = value
    try:
        sim.restore(state)
    except rtmbs.errors.StateError as error:
        if contents(sim.state) != before:
            return "a refused state left its traces"
        return "" if entry in str(error) or "open by" in str(error) else f"the error does not name {entry}: {error}"
    return judged(sim, bool(rng.integers(2)))


def into_input(rng: np.random.Generator) -> str:
    """An input between two steps, parameters of a law among them."""
    sim, value = simulation("rich"), float(rng.choice(BAD))
    name = str(rng.choice(list(sim.inputs)))
    values = np.array(sim.inputs[name], float)
    values.flat[rng.integers(values.size)] = value
    try:
        sim.inputs[name] = values
    except rtmbs.errors.InputError:
        return "" if not np.isfinite(value) else "a finite number was refused"
    return judged(sim, bool(rng.integers(2)))


def into_option(rng: np.random.Generator) -> str:
    """An option, when a Simulation is made or changed, and its step."""
    name, value = pick(rng)
    option, way = str(rng.choice(OPTIONS)), int(rng.integers(2))
    try:
        if way == 0:
            sim = Simulation(system(name), **by_name(**{"h": 1e-3, option: value}))
        else:
            sim = simulation(name)
            if option == "h":
                sim.h = value
            else:
                sim.change(**{option: value})
    except rtmbs.RtmbsError:
        return ""
    return judged(sim, bool(rng.integers(2)))


def into_model(rng: np.random.Generator) -> str:
    """A number of a model."""
    value, place = float(rng.choice(BAD)), int(rng.integers(9))
    numbers: list[Any] = [1.0, 0.1, (0.1, 0.2, 0.3), 2.0, 0.3, 0.5, 0.4, (0.0, 1.0, -9.0), 1.5]
    if isinstance(numbers[place], tuple):
        numbers[place] = tuple(value if k == place % 3 else one for k, one in enumerate(numbers[place]))
    else:
        numbers[place] = value
    mass, inertia, center, stiffness, damping, position, rate, gravity, length = numbers
    try:
        model = rtmbs.Model("spoilt", gravity=gravity)
        model.add_body("a", mass=mass, inertia=(inertia,) * 3, center_of_mass=center)
        model.add_joint("hinge", rtmbs.Revolute((1.0, 0.2, 0.3)), "ground", "a")
        model.add_marker("tip", "a", point=(0.0, 0.0, length))
        model.add_marker("nail", "ground", point=(0.5, 0.5, 3.0))
        model.add_force("band", rtmbs.SpringDamper(stiffness, damping), between=("nail", "tip"))
        model.set_initial("hinge", position=position, rate=rate)
        sim = Simulation(model.compile(), h=1e-3)
    except rtmbs.RtmbsError:
        return ""
    return judged(sim, bool(rng.integers(2)))


def into_function(rng: np.random.Generator) -> str:
    """What a function of time returns from some instant on."""
    value, begin = float(rng.choice(BAD)), float(rng.choice((0.0015, 0.0035)))
    model = rtmbs.Model("motor")
    model.add_body("a", mass=1.0, inertia=(0.1, 0.2, 0.2), center_of_mass=(0.0, 0.0, -0.5))
    model.add_joint("hinge", rtmbs.Revolute((1.0, 0.0, 0.0)), "ground", "a")
    if rng.integers(2):
        model.add_force("motor", rtmbs.Motor(lambda t: value if t > begin else 0.0), joint="hinge")
    else:
        model.add_driver("drive", lambda t: (value if t > begin else 0.0, 0.0, 0.0), joint="hinge")
    sim = Simulation(model.compile(), h=1e-3)
    return next((wrong for _ in range(STEPS) if (wrong := judged(sim, bool(rng.integers(2))))), "")


KINDS = (into_state, into_restored, into_input, into_option, into_model, into_function, into_state, into_restored)
CAMPAIGN = Campaign(
    name="injections",
    claim="a number that is not finite or out of range, anywhere, ends in words: never a crash, never a silent result",
    full=20_000,
    bounded=800,
    run=run,
)
