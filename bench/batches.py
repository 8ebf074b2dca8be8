"""Batches beside single runs and beside MuJoCo's rollout: processor time, errors, memory, bad inputs.

python -m bench.batches [--copies 4096] [--part PART ...]

Times are processor times of all threads, medians of rounds in turns. MuJoCo is asked where it is installed.
"""

import argparse
import re
import statistics
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import rtmbs
from rtmbs import Batch, Outcome, Simulation
from rtmbs.library import references
from rtmbs.semirecursive.workspace import workspace
from rtmbs.simulation.state_store import CALM

H, STEPS, ROUNDS = 5e-3, 200, 5
BY_HAND, ROUNDS_BY_HAND = 500, 100  # steps, rounds of them
TIMES = 0.1 * np.arange(1, 11)  # of loops [s]

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

FOUR_BAR_FILE = Path(__file__).parent / "peers" / "side_by_side" / "four_bar_mujoco.py"
JOINTS, LINK = 7, 0.25  # of the arm; length of a link [m]
AXES = ((0, 0, 1), (0, 1, 0))  # in turn


def cart_pole() -> rtmbs.Model:
    """Return the cart with a pole of ``CART_POLE``."""
    model = rtmbs.Model("cart_pole", gravity=(0.0, 0.0, -9.81))
    model.add_body("cart", mass=1.0, inertia=(0.1, 0.1, 0.1))
    model.add_body("pole", mass=0.2, inertia=(0.006, 0.006, 0.006), center_of_mass=(0.0, 0.0, 0.3))
    model.add_joint("x", rtmbs.Prismatic(axis=(1, 0, 0)), "ground", "cart", point=(0, 0, 0))
    model.add_joint("th", rtmbs.Revolute(axis=(0, 1, 0)), "cart", "pole", point=(0, 0, 0))
    model.add_force("push", rtmbs.Motor(rtmbs.Input(0.0)), joint="x")
    return model


def arm() -> rtmbs.Model:
    """Return an arm of seven hinges that hangs down, along +z, with a torque on each."""
    model = rtmbs.Model("arm", gravity=(0.0, 0.0, 9.81))
    above: Any = "ground"
    for k in range(JOINTS):
        mass, place = arm_mass(k), k * LINK
        I = mass * LINK**2 / 12.0
        model.add_body(f"link{k}", mass=mass, inertia=(I, I, 0.1 * I), center_of_mass=(0.02, 0.01, place + 0.5 * LINK))
        axis = rtmbs.Revolute(axis=AXES[k % 2])
        model.add_joint(f"q{k}", axis, above, f"link{k}", point=(0.0, 0.0, place))
        model.add_force(f"push{k}", rtmbs.Motor(rtmbs.Input(0.0)), joint=f"q{k}")
        above = f"link{k}"
    return model


def arm_mass(k: int) -> float:
    """Return the mass of link ``k`` [kg]."""
    return 4.0 - 0.5 * k


def arm_text(h: float, integrator: str) -> str:
    """Return the arm as a file of MuJoCo."""
    bodies, motors = "", ""
    for k in range(JOINTS):
        mass, axis = arm_mass(k), " ".join(map(str, AXES[k % 2]))
        I = mass * LINK**2 / 12.0
        bodies += (
            f'<body pos="0 0 {LINK if k else 0.0}"><joint name="q{k}" axis="{axis}"/>'
            f'<inertial mass="{mass}" pos="0.02 0.01 {0.5 * LINK}" diaginertia="{I} {I} {0.1 * I}"/>'
        )
        motors += f'<motor joint="q{k}"/>'
    option = f'<option timestep="{h}" gravity="0 0 9.81" integrator="{integrator}"/>'
    return f"<mujoco>{option}<worldbody>{bodies}{'</body>' * JOINTS}</worldbody><actuator>{motors}</actuator></mujoco>"


def four_bar_text(h: float, integrator: str) -> str:
    """Return the four-bar of the side-by-side page as a file of MuJoCo, its loop as stiff as it goes at this step."""
    found = re.search(r'MODEL = """(.*?)"""', FOUR_BAR_FILE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    text = re.sub(
        r"<option [^/]*/>", f'<option timestep="{h}" gravity="0 -9.81 0" integrator="{integrator}"/>', found[1]
    )
    text = re.sub(r'solref="[^"]*"', f'solref="{2.0 * h} 1"', text)
    return text.replace("</mujoco>", '<actuator><motor joint="a"/></actuator></mujoco>')


def four_bar() -> rtmbs.Model:
    """Return the four-bar of ``four_bar_text``."""
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


def rollout_of(
    system: Any, copies: int, force: np.ndarray, h: float, threads: int, channels: list[str], **more: Any
) -> Any:
    """Return a call that steps a Batch from its start; ``more`` options of the Batch."""
    batch = Batch(system, copies, h=h, threads=threads, **more)
    names = [name for name in system.inputs if name.startswith("push")]
    given: Any = (force, names) if names else ({}, None)
    out = np.zeros((copies, force.shape[1], len(channels)))

    def call() -> np.ndarray:
        batch.reset()
        return batch.rollout(*given, steps=force.shape[1], channels=channels, out=out)

    return call


def mujoco_rollout(
    source: Any, copies: int, force: np.ndarray, threads: int, rates: dict[str, float] | None = None
) -> Any:
    """Return a call of MuJoCo's rollout with the same controls; None where MuJoCo is not installed.

    ``source`` is the text of a file or a model; ``rates`` are those at the start, by joint.
    """
    try:
        import mujoco
        from mujoco import rollout
    except ImportError:
        return None
    model = mujoco.MjModel.from_xml_string(source) if isinstance(source, str) else source
    data = [mujoco.MjData(model) for _ in range(threads)]
    for name, rate in (rates or {}).items():
        data[0].joint(name).qvel = rate
    mujoco.mj_forward(model, data[0])
    size = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    start = np.zeros(size)
    mujoco.mj_getState(model, data[0], start, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    state, first = np.zeros((copies, force.shape[1], size)), np.repeat(start[None], copies, axis=0)
    several = rollout.Rollout(nthread=threads if threads > 1 else 0)
    controls: Any = force if model.nu else None

    def call() -> np.ndarray:
        several.rollout(model, data, first, controls, state=state, nstep=force.shape[1])
        return state

    return call


# ---- parts ----------------------------------------------------------------------------------------------------------


EXPLICIT = {"Verlet": rtmbs.VelocityVerlet(), "Euler": rtmbs.SemiImplicitEuler(), "RK4": rtmbs.RungeKutta()}
TREES: dict[str, tuple[Callable[[], rtmbs.Model], Callable[[float, str], str], int, str]] = {
    "cart-pole": (cart_pole, lambda h, integrator: CART_POLE.format(h=h, integrator=integrator), 1, "th.angle"),
    "7-joint arm": (arm, arm_text, JOINTS, "q1.angle"),
}


def trees(copies: int, threads: int) -> None:
    """Trees in one call beside MuJoCo's rollout at the same step, with loads that change in every step."""
    for name, (model, text, loads, channel) in TREES.items():
        number = copies if loads == 1 else copies // 4
        system, force = model().compile(), np.random.default_rng(0).normal(size=(number, STEPS, loads))
        calls = {
            "rtmbs": rollout_of(system, number, force, H, threads, [channel]),
            **{
                f"rtmbs, {name}": rollout_of(system, number, force, H, threads, [channel], method=method)
                for name, method in EXPLICIT.items()
            },
        }
        for integrator in ("Euler", "implicitfast", "RK4"):
            call = mujoco_rollout(text(H, integrator), number, force, threads)
            if call is not None:
                calls[f"MuJoCo {integrator}"] = call
        found = in_turns(calls)
        errors = tree_errors(system, text, loads, channel, list(calls))
        for what, seconds in found.items():
            each = 1e6 * seconds / (number * STEPS)
            print(f"{name} {number} x {STEPS}: {what:20s} {each:6.2f} us a copy-step, error after 1 s "
                  f"{errors[what]:.1e} rad; rtmbs takes {found['rtmbs'] / seconds:.2f} of it, Verlet "
                  f"{found['rtmbs, Verlet'] / seconds:.2f}")  # fmt: skip


def tree_errors(
    system: Any, text: Callable[[float, str], str], loads: int, channel: str, names: list[str]
) -> dict[str, float]:
    """Return the error of one angle after 1 s at the step H, of loads that change in every step of it."""
    force, fine = np.random.default_rng(1).normal(size=(1, STEPS, loads)), 20
    held = np.repeat(force, fine, axis=1)
    exact = float(rollout_of(system, 1, held, H / fine, 1, [channel], method=rtmbs.RungeKutta())()[0, -1, 0])
    place = 1 + list(system.coordinate_names).index(channel)
    found = {}
    for name in names:
        if name.startswith("rtmbs"):
            method = EXPLICIT.get(name.rpartition(", ")[2])
            more: dict[str, Any] = {} if method is None else {"method": method}
            end = rollout_of(system, 1, force, H, 1, [channel], **more)()[0, -1, 0]
        else:
            end = mujoco_rollout(text(H, name.split()[1]), 1, force, 1)()[0, -1, place]
        found[name] = abs(float(end) - exact)
    return found


def loops(copies: int, threads: int) -> None:
    """Closed loops beside MuJoCo's, each at the largest step whose error of the first angle stays below bounds.

    The error is the largest at ``TIMES``: at one time it may be small by chance.
    """
    chain = rtmbs.library.build("fourbar", ny=1, nz=10).compile()
    turned = references.fourbar(1, 10, np.concatenate(([0.0], TIMES))).q[:, 0]
    crank = four_bar().compile()
    exact = Simulation(crank, h=5e-5).run(1.0)["a.angle"][2000::2000]
    cases = {
        "four-bar": (crank, "a.angle", exact, lambda h, integrator: (four_bar_text(h, integrator), None)),
        "four-bar 1 x 10": (chain, "pin_1_0.angle", turned[1:] - turned[0], stacked),
    }
    for name, (system, channel, exact, source) in cases.items():
        first = float(Simulation(system)[channel])
        kinds = {
            "rtmbs": lambda h, k, system=system, channel=channel, first=first: loop_rtmbs(
                system, channel, first, h, k, threads
            )
        }
        for integrator in ("Euler", "implicitfast"):
            kinds[f"MuJoCo {integrator}"] = lambda h, k, integrator=integrator, source=source: loop_mujoco(
                *source(h, integrator), h, k, threads
            )
        for bound in (1e-2, 1e-3):
            compare_loops(name, kinds, exact, bound, copies if system is crank else max(copies // 10, 1))


def compare_loops(name: str, kinds: dict[str, Any], exact: np.ndarray, bound: float, copies: int) -> None:
    """Print the time of a second of each kind at the largest step whose error is below ``bound`` [rad]."""
    times = {}
    for kind, build in kinds.items():
        for h in (0.1, 5e-2, 2e-2, 1e-2, 5e-3, 2e-3, 1e-3, 5e-4, 2e-4, 1e-4, 5e-5):
            call, read = build(h, 1)
            if call is None:
                break
            error = float(np.abs(read(call())[round(0.1 / h) - 1 :: round(0.1 / h)] - exact).max())
            if error < bound:
                number = max(round(copies * h / 0.1), 1)
                call, _ = build(h, number)
                times[kind] = seconds = in_turns({kind: call}, 3)[kind] / number
                print(f"{name}, error below {bound:g} rad: {kind:20s} h = {h:g} s, error {error:.1e}, "
                      f"{1e6 * seconds * h:.2f} us a copy-step, {1e3 * seconds:.3f} ms a second")  # fmt: skip
                break
        else:
            print(f"{name}, error below {bound:g} rad: {kind:20s} not reached with steps of 50 us")
    for kind, seconds in times.items():
        print(f"  {kind}: {seconds / times['rtmbs']:.1f} times the time of rtmbs")


def stacked(h: float, integrator: str) -> Any:
    """Return the multiple four-bar of bench.peers as a model of MuJoCo, and its rates at the start."""
    import mujoco

    from bench.peers import mechanism, mujoco_connect

    built = mechanism.build("stacked", 1, 10)
    model = mujoco_connect.built(built, h)
    model.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator.upper()}")
    return model, {pin.name: built.relative_rate(pin) for pin in built.tree}


def loop_rtmbs(system: Any, channel: str, first: float, h: float, copies: int, threads: int) -> Any:
    """Return a call for one second of copies, and a reader of the turns of the first angle behind all steps."""
    loads = sum(name.startswith("push") for name in system.inputs)
    call = rollout_of(system, copies, np.zeros((copies, round(1.0 / h), loads)), h, threads, [channel])
    return call, lambda out: out[0, :, 0] - first


def loop_mujoco(source: Any, rates: Any, h: float, copies: int, threads: int) -> Any:
    """Return the same of MuJoCo."""
    call = mujoco_rollout(source, copies, np.zeros((copies, round(1.0 / h), 1)), threads, rates)
    return call, lambda state: state[0, :, 1]


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

        found = in_turns({"batch": many, "single": single, "reset": batch.reset})
        each, alone = 1e6 * found["batch"] / (number * steps), 1e6 * found["single"] / (10 * steps)
        kernel, reset = kernel_time(system, steps), 1e6 * found["reset"] / number
        print(f"{name}: {each:.2f} us a copy-step in a Batch of {number}, {alone:.2f} us a step in single runs: "
              f"throughput {alone / each:.2f} of theirs on as many cores; {kernel:.2f} us in the kernel of a run, "
              f"a reset {reset:.1f} us a copy, overhead {each - reset / steps - kernel:.2f} us beside it")  # fmt: skip


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


def hand_steps() -> None:
    """Steps of one Simulation by hand with an input that changes, least of many rounds from the same start.

    The input has a mean of zero, and every round begins anew: no motion grows until steps are too large for it.
    """
    rocker = rtmbs.library.build("crank_rocker")
    rocker.add_force("push", rtmbs.Motor(rtmbs.Input(0.0)), joint="crank_pivot")
    for name, model in (("cart-pole", cart_pole()), ("four-bar", four_bar()), ("crank-rocker", rocker)):
        sim = Simulation(model.compile(), h=H)
        where = next(one for one in sim.inputs if one.startswith("push"))
        start = sim.state.copy()

        def written(sim: Simulation = sim, where: str = where) -> None:
            for k in range(BY_HAND):
                sim.inputs[where] = 0.1 * (k % 7 - 3)
                sim.step()

        def plain(sim: Simulation = sim) -> None:
            for _ in range(BY_HAND):
                sim.step()

        times: dict[str, list[float]] = {"with an input": [], "without": []}
        for _ in range(ROUNDS_BY_HAND):
            for what, act in (("with an input", written), ("without", plain)):
                sim.restore(start)
                for _ in range(CALM + 1):  # until arguments are prepared
                    sim.step()
                begin = time.process_time()
                act()
                times[what].append(1e6 * (time.process_time() - begin) / BY_HAND)
        told = ", ".join(
            f"{what} {min(one):.2f} us (median {statistics.median(one):.2f})" for what, one in times.items()
        )
        print(f"{name}: a step by hand {told}")


def gradients() -> None:
    """Gradient of one channel by 100 parameters, in runs."""
    model = rtmbs.library.build("fourbar", ny=1, nz=10)
    for k, joint in enumerate(list(model.joints) * 5):
        if k == 100:
            break
        model.add_force(f"push {k}", rtmbs.Motor(rtmbs.Input(0.0)), joint=joint)
    system = model.compile()
    loads = [one for one in system.inputs if one.startswith("push")]
    sim = Simulation(system, h=H)
    start, values = sim.state.copy(), np.zeros(len(loads))
    run = rtmbs.differentiable(sim, 1.0, of=[system.coordinate_names[0]], by=loads)

    def single() -> None:
        sim.restore(start)
        sim.run(1.0)

    def gradient() -> None:
        _, pull_back = run.vjp(values)
        pull_back(np.ones(1))

    found = in_turns({"run": single, "gradient": gradient}, 5)
    print(f"four-bar 1 x 10, 1 s: gradient of one channel by {len(loads)} loads {1e3 * found['gradient']:.1f} ms, "
          f"{found['gradient'] / found['run']:.1f} runs")  # fmt: skip


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
    parser.add_argument(
        "--part", nargs="*", default=["hand", "trees", "loops", "throughput", "memory", "gradients", "bad", "changes"]
    )
    given = parser.parse_args()
    parts: dict[str, Callable[[], None]] = {
        "hand": hand_steps,
        "gradients": gradients,
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
