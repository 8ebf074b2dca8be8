"""Batches beside single runs and beside MuJoCo's rollout: processor time, errors, memory, bad inputs.

python -m bench.batches [--copies 4096] [--part PART ...]

Times are processor times of all threads, medians of rounds in turns. MuJoCo is asked where it is installed.
"""

import argparse
import statistics
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np

import rtmbs
from rtmbs import Batch, Outcome, Simulation
from rtmbs.semirecursive.workspace import workspace

H, STEPS, ROUNDS = 5e-3, 200, 5
IMPEDANCE = "0.9999 0.9999 0.001"

CART_POLE = """
<mujoco>
  <option timestep="{h}" gravity="0 0 -9.81" integrator="{integrator}"/>
  <worldbody>
    <body name="cart">
      <joint name="x" type="slide" axis="1 0 0"/>
      <inertial mass="1" pos="0 0 0" diaginertia="0.1 0.1 0.1"/>
      <body name="pole">
        <joint name="th" type="hinge" axis="0 1 0"/>
        <inertial mass="0.2" pos="0 0 0.3" diaginertia="0.006 0.006 0.006"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="x"/></actuator>
</mujoco>
"""

FOUR_BAR = """
<mujoco>
  <compiler angle="radian"/>
  <option timestep="{h}" gravity="0 -9.81 0" integrator="{integrator}"/>
  <worldbody>
    <body name="crank">
      <joint name="a" axis="0 0 1"/>
      <inertial mass="1" pos="0.05 0.2 0" diaginertia="0.0141667 0.0141667 0.0141667"/>
      <body name="coupler" pos="0.1 0.4 0">
        <joint name="b" axis="0 0 1"/>
        <inertial mass="1" pos="0.45 0.25 0" diaginertia="0.0883333 0.0883333 0.0883333"/>
        <site name="end" pos="0.9 0.5 0"/>
      </body>
    </body>
    <body name="rocker" pos="1.2 0 0">
      <joint name="d" axis="0 0 1"/>
      <inertial mass="1" pos="-0.1 0.45 0" diaginertia="0.0708333 0.0708333 0.0708333"/>
      <site name="pin" pos="-0.2 0.9 0"/>
    </body>
  </worldbody>
  <equality><connect site1="end" site2="pin" solref="{stiff} 1" solimp="0.9999 0.9999 0.001"/></equality>
  <actuator><motor joint="a"/></actuator>
</mujoco>
"""


def cart_pole() -> rtmbs.Model:
    """Return the cart with a pole of ``CART_POLE``."""
    model = rtmbs.Model("cart_pole", gravity=(0.0, 0.0, -9.81))
    model.add_body("cart", mass=1.0, inertia=(0.1, 0.1, 0.1))
    model.add_body("pole", mass=0.2, inertia=(0.006, 0.006, 0.006), center_of_mass=(0.0, 0.0, 0.3))
    model.add_joint("x", rtmbs.Prismatic(axis=(1, 0, 0)), "ground", "cart", point=(0, 0, 0))
    model.add_joint("th", rtmbs.Revolute(axis=(0, 1, 0)), "cart", "pole", point=(0, 0, 0))
    model.add_force("push", rtmbs.Motor(rtmbs.Input(0.0)), joint="x")
    return model


def four_bar() -> rtmbs.Model:
    """Return the four-bar of ``FOUR_BAR``."""
    model = rtmbs.Model("four_bar", gravity=(0.0, -9.81, 0.0))
    for name, center, I in (
        ("crank", (0.05, 0.2, 0.0), 0.0141667), ("coupler", (0.55, 0.65, 0.0), 0.0883333),
        ("rocker", (1.1, 0.45, 0.0), 0.0708333),
    ):  # fmt: skip
        model.add_body(name, mass=1.0, inertia=(I, I, I), center_of_mass=center)
    axis = rtmbs.Revolute(axis=(0, 0, 1))
    model.add_joint("a", axis, "ground", "crank", point=(0, 0, 0))
    model.add_joint("b", axis, "crank", "coupler", point=(0.1, 0.4, 0))
    model.add_joint("d", axis, "ground", "rocker", point=(1.2, 0, 0))
    model.add_joint("c", axis, "coupler", "rocker", point=(1.0, 0.9, 0), cut=True)
    model.add_force("push", rtmbs.Motor(rtmbs.Input(0.0)), joint="a")
    return model


# ---- times ----------------------------------------------------------------------------------------------------------


def in_turns(calls: dict[str, Callable[[], Any]], rounds: int = ROUNDS) -> dict[str, float]:
    """Return the median processor time [s] of each call, called in turns."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(rounds + 1):
        for name, call in calls.items():
            begin = time.process_time()
            call()
            if turn:
                times[name].append(time.process_time() - begin)
    return {name: statistics.median(values) for name, values in times.items()}


def rollout_of(system: Any, copies: int, force: np.ndarray, h: float, threads: int, channels: list[str]) -> Any:
    """Return a call that steps a Batch from its start."""
    batch = Batch(system, copies, h=h, threads=threads)
    out = np.zeros((copies, force.shape[1], len(channels)))

    def call() -> np.ndarray:
        batch.reset()
        return batch.rollout(
            force, [next(k for k in system.inputs if k.startswith("push"))], channels=channels, out=out
        )

    return call


def mujoco_rollout(text: str, copies: int, force: np.ndarray, threads: int) -> Any:
    """Return a call of MuJoCo's rollout with the same controls; None where MuJoCo is not installed."""
    try:
        import mujoco
        from mujoco import rollout
    except ImportError:
        return None
    model = mujoco.MjModel.from_xml_string(text)
    data = [mujoco.MjData(model) for _ in range(threads)]
    mujoco.mj_forward(model, data[0])
    size = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    start = np.zeros(size)
    mujoco.mj_getState(model, data[0], start, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    state, first = np.zeros((copies, force.shape[1], size)), np.repeat(start[None], copies, axis=0)
    several = rollout.Rollout(nthread=threads if threads > 1 else 0)

    def call() -> np.ndarray:
        several.rollout(model, data, first, force, state=state)
        return state

    return call


# ---- parts ----------------------------------------------------------------------------------------------------------


def trees(copies: int, threads: int) -> None:
    """Cart-poles in one call beside MuJoCo's rollout at the same step."""
    force = np.random.default_rng(0).normal(size=(copies, STEPS, 1))
    calls = {"rtmbs": rollout_of(cart_pole().compile(), copies, force, H, threads, ["x.displacement", "th.angle"])}
    for integrator in ("Euler", "implicitfast", "RK4"):
        call = mujoco_rollout(CART_POLE.format(h=H, integrator=integrator), copies, force, threads)
        if call is not None:
            calls[f"MuJoCo {integrator}"] = call
    found = in_turns(calls)
    for name, seconds in found.items():
        each = 1e6 * seconds / (copies * STEPS)
        print(f"cart-pole {copies} x {STEPS}: {name:20s} {each:6.2f} us a copy-step, rtmbs takes "
              f"{found['rtmbs'] / seconds:.2f} of it")  # fmt: skip
    accuracy = {name: tree_error(name) for name in calls}
    print(
        "  error of the angle after 1 s [rad]: " + ", ".join(f"{name} {error:.1e}" for name, error in accuracy.items())
    )


def tree_error(name: str) -> float:
    """Return the error of the pole's angle after 1 s of a constant force at the step H."""
    force = np.ones((1, STEPS, 1))
    system = cart_pole().compile()
    sim = Simulation(system, h=1e-4)
    sim.inputs["push.force"] = 1.0
    exact = sim.run(1.0)["th.angle"][-1]
    if name == "rtmbs":
        return abs(float(rollout_of(system, 1, force, H, 1, ["th.angle"])()[0, -1, 0]) - exact)
    state = mujoco_rollout(CART_POLE.format(h=H, integrator=name.split()[1]), 1, force, 1)()
    return abs(float(state[0, -1, 2]) - exact)


def loops(copies: int, threads: int) -> None:
    """Four-bars in one call beside MuJoCo's, each at the largest step whose error of the crank stays below bounds."""
    system = four_bar().compile()
    exact = Simulation(system, h=5e-5).run(1.0)["a.angle"][-1]
    kinds = {"rtmbs": lambda h, k: loop_rtmbs(system, h, k, threads)}
    for integrator in ("Euler", "implicitfast"):
        kinds[f"MuJoCo {integrator}"] = lambda h, k, integrator=integrator: loop_mujoco(integrator, h, k, threads)
    for bound in (1e-2, 1e-3):
        times = {}
        for name, build in kinds.items():
            for h in (2e-2, 1e-2, 5e-3, 2e-3, 1e-3, 5e-4, 2e-4, 1e-4, 5e-5):
                call, read = build(h, 1)
                if call is None:
                    break
                error = abs(read(call()) - exact)
                if error < bound:
                    number = max(round(copies * h / 2e-2), 1)
                    call, _ = build(h, number)
                    seconds = in_turns({name: call}, 3)[name] / number
                    times[name] = seconds
                    print(f"four-bar, error below {bound:g} rad: {name:20s} h = {h:g} s, error {error:.1e}, "
                          f"{1e6 * seconds * h:.2f} us a copy-step, {1e3 * seconds:.3f} ms a second")  # fmt: skip
                    break
        for name, seconds in times.items():
            print(f"  {name}: {seconds / times['rtmbs']:.1f} times the time of rtmbs")


def loop_rtmbs(system: Any, h: float, copies: int, threads: int) -> Any:
    """Return a call for one second of four-bars, and a reader of the crank's last angle."""
    call = rollout_of(system, copies, np.zeros((copies, round(1.0 / h), 1)), h, threads, ["a.angle"])
    return call, lambda out: float(out[0, -1, 0])


def loop_mujoco(integrator: str, h: float, copies: int, threads: int) -> Any:
    """Return the same of MuJoCo."""
    text = FOUR_BAR.format(h=h, stiff=2.0 * h, integrator=integrator)
    call = mujoco_rollout(text, copies, np.zeros((copies, round(1.0 / h), 1)), threads)
    return call, lambda state: float(state[0, -1, 1])


def throughput(copies: int, threads: int) -> None:
    """Throughput of copies against single runs in rows, and the overhead of a copy-step."""
    steps = 100
    for name, options in (("crank_rocker", {}), ("fourbar", {"ny": 1, "nz": 10})):
        system = rtmbs.library.build(name, **options).compile()
        number = min(copies, 1000)
        batch, sim = Batch(system, number, h=H, threads=threads), Simulation(system, h=H)
        start = sim.state.copy()

        def many(batch: Batch = batch) -> None:
            batch.reset()
            batch.rollout({}, steps=steps)

        def single(sim: Simulation = sim, start: Any = start) -> None:
            for _ in range(10):
                sim.restore(start)
                sim.run(steps * H, record=rtmbs.Every(steps * H))

        found = in_turns({"batch": many, "single": single})
        each, alone = 1e6 * found["batch"] / (number * steps), 1e6 * found["single"] / (10 * steps)
        kernel = kernel_time(system, steps)
        print(f"{name}: {each:.2f} us a copy-step in a Batch of {number}, {alone:.2f} us a step in single runs: "
              f"throughput {alone / each:.2f} of theirs on as many cores; {kernel:.2f} us in the kernel of a run, "
              f"overhead {each - kernel:.2f} us")  # fmt: skip


def kernel_time(system: Any, steps: int) -> float:
    """Return the time of a step [us] in one kernel call of a run, of nothing else."""
    from rtmbs.integrators.settings import chunk_for
    from rtmbs.simulation.simulation import store_of

    sim = Simulation(system, h=H)
    store = store_of(sim)
    chunk = chunk_for(sim.state, steps)
    chunk.u[:] = sim.state.u
    times = []
    for _ in range(200):
        begin = time.process_time()
        done, _ = store.options.method.advance_many(store.equations, store.work, store.states[0], chunk)
        times.append((time.process_time() - begin) / done)
    return 1e6 * statistics.median(times)


def memory() -> None:
    """Memory of a copy against its State and Workspace."""
    for name, options in (("crank_rocker", {}), ("fourbar", {"ny": 1, "nz": 10})):
        system = rtmbs.library.build(name, **options).compile()
        state = Simulation(system, h=H).state
        alone = sum(np.asarray(getattr(state, one)).nbytes for one in ("z", "zd", "zdd", "lam", "R0", "u", "s", "sd"))
        alone += sum(values.nbytes for values in state.memory.values())
        scratch = sum(values.nbytes for values in workspace(Simulation(system, h=H).equations.tables))
        found = []
        for copies in (1000, 3000):
            tracemalloc.start()
            batch = Batch(system, copies, h=H)
            batch.rollout({}, steps=1)
            found.append(tracemalloc.get_traced_memory()[0])
            tracemalloc.stop()
            del batch
        each = (found[1] - found[0]) / 2000
        print(f"{name}: {each:.0f} bytes a copy; State {alone}, Workspace {scratch}: {each / (alone + scratch):.2f}")


def bad_inputs(copies: int) -> None:
    """Random copies with NaN, infinite and huge inputs among others: only they are marked."""
    for name, model in (("cart-pole", cart_pole()), ("four-bar", four_bar())):
        system, rng = model.compile(), np.random.default_rng(7)
        where = next(one for one in system.inputs if one.startswith("push"))
        force = rng.normal(size=(copies, 20))
        clean = Batch(system, copies, h=H).rollout({where: force}, channels=list(system.coordinate_names))
        bad = rng.random(copies) < 0.1
        force[np.flatnonzero(bad), rng.integers(20, size=bad.sum())] = rng.choice(
            [np.nan, np.inf, -np.inf, 1e200, -1e300], bad.sum()
        )
        batch = Batch(system, copies, h=H)
        found = batch.rollout({where: force}, channels=list(system.coordinate_names))
        marked = np.array([one is Outcome.NOT_FINITE for one in batch.outcomes])
        same = found[~bad].tobytes() == clean[~bad].tobytes()
        print(f"{name}: {copies} copies, {bad.sum()} with a bad input, {marked.sum()} marked, wrongly "
              f"{np.count_nonzero(marked != bad)}; the bytes of the others are the same: {same}")  # fmt: skip


def changes() -> None:
    """Masses of every copy: time of a change of 1000 copies."""
    for name, body in (("crank_rocker", "crank"), ("pendulum", "P")):
        system = rtmbs.library.build(name).compile()
        body = next(iter(list(system.bodies)[1:]))
        batch = Batch(system, 1000, h=H)
        begin = time.process_time()
        batch.set_masses(body, np.linspace(0.5, 2.0, 1000))
        print(f"{name}: a mass of its own costs {1e3 * (time.process_time() - begin) / 1000:.2f} ms a copy")


def main() -> None:
    """Print the parts that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--copies", type=int, default=4096)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--part", nargs="*", default=["trees", "loops", "throughput", "memory", "bad", "changes"])
    given = parser.parse_args()
    parts: dict[str, Callable[[], None]] = {
        "trees": lambda: trees(given.copies, given.threads),
        "loops": lambda: loops(100, given.threads),
        "throughput": lambda: throughput(given.copies, given.threads),
        "memory": memory,
        "bad": lambda: bad_inputs(10_000),
        "changes": changes,
    }
    for part in given.part:
        parts[part]()


if __name__ == "__main__":
    main()
