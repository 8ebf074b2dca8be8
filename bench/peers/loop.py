"""``python -m bench.peers.loop [K ...]``: one acceleration of the generated loop, by recursion and by Pinocchio.

Both get the same tree and state. Pinocchio's ``constraintDynamics`` is proximal. Its contacts hold a point or a frame:
the point gives the motion of the loop, whose hinge has five rows here, two of them independent. Its recursion over the
tree without the loop stands beside, for scale. Each call is made from Python, and that crossing is part of both times.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio

import rtmbs
from bench.documents import DOCS, insert, table
from rtmbs.jit.compiled import entry_for
from rtmbs.recursive.passes import accelerations_at
from rtmbs.recursive.recursion import DEPENDENT, ROUNDS, Recursion
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.system.tables import REVOLUTE

NAME = "python -m bench.peers.loop"
SIZES = (15, 51, 101, 151, 251)
REPEATS, SHORTEST = 60, 0.004  # rounds, and seconds of one
CONTACTS = pinocchio.StdVec_RigidConstraintModel, pinocchio.StdVec_RigidConstraintData
ACCURACY, SHIFT, ITERATIONS = 1e-12, 1e-9, 20  # of the proximal iteration


def measured(k: int) -> dict[str, float]:
    """Return microseconds a call by program, and how far the accelerations are apart."""
    equations = SemiRecursiveEquations(rtmbs.library.build("loop", k=k).compile())
    z, zd = state(equations)
    calls = {"rtmbs": own(equations, ROUNDS, z, zd), "rtmbs, not corrected": own(equations, 0, z, zd)}
    calls["Pinocchio"] = peer(equations, z, zd)
    calls["Pinocchio, ABA without loop"] = open_tree(equations, z, zd)
    found = {name: np.array(call()) for name, call in calls.items()}
    times = in_turns(calls)
    size = np.abs(found["rtmbs"]).max()
    for name in ("rtmbs, not corrected", "Pinocchio"):
        times[f"difference of {name}"] = float(np.abs(found[name] - found["rtmbs"]).max() / size)
    return times


def state(equations: SemiRecursiveEquations) -> tuple[Any, Any]:
    """Return a state that closes the loop: the regular polygon, random rates without violation."""
    z = equations.compiled.z0
    equations.close(z, equations.compiled.R0)
    Phi_z, zd = equations.closure_jacobian(), np.random.default_rng(equations.n).normal(size=equations.n)
    return z, zd - np.linalg.lstsq(Phi_z, Phi_z @ zd, rcond=1e-10)[0]


def own(equations: SemiRecursiveEquations, rounds: int, z: Any, zd: Any) -> Callable[[], Any]:
    """Return a call of the compiled recursion, with ``rounds`` of correction."""
    recursion, ws = Recursion(equations), equations.ws
    sc, R0, none = recursion.scratch, equations.compiled.R0, np.zeros(equations.m)
    gamma = np.zeros(equations.m)
    arguments = (equations.tables, recursion.border, DEPENDENT, rounds, R0, equations.u, none, ws, sc, gamma)
    entry = entry_for(accelerations_at, arguments)

    def call() -> Any:
        ws.z[:], ws.zd[:] = z, zd
        status = entry(*arguments)
        assert status == 0, status
        return sc.zdd

    return call


def tree(equations: SemiRecursiveEquations) -> pinocchio.Model:
    """Return the tree of revolutes, joint by joint as the System has it."""
    dofs, model = equations.tables.dofs, pinocchio.Model()
    model.gravity.linear = np.array(equations.u[:3])
    for i in range(equations.n):
        assert dofs.kind[i] == REVOLUTE
        place = pinocchio.SE3(dofs.offset_rotation[i], dofs.offset[i])
        along_x = np.array_equal(dofs.axis[i], (1.0, 0.0, 0.0))
        joint = pinocchio.JointModelRX() if along_x else pinocchio.JointModelRevoluteUnaligned(dofs.axis[i])
        j = model.addJoint(max(int(dofs.parent[i]), -1) + 1, joint, place, f"joint {i}")
        body = pinocchio.Inertia(float(dofs.mass[i]), dofs.mass_center[i], dofs.inertia[i])
        model.appendBodyToJoint(j, body, pinocchio.SE3.Identity())
    return model


def peer(equations: SemiRecursiveEquations, z: Any, zd: Any) -> Callable[[], Any]:
    """Return a call of ``constraintDynamics`` with the point of the cut joint as a contact."""
    kind, frame = pinocchio.ContactType.CONTACT_3D, pinocchio.ReferenceFrame.LOCAL
    model, closures, connectors = tree(equations), equations.tables.closures, equations.tables.connectors
    connector = closures.connector[0]
    a, b = int(connectors.a[connector]) + 1, int(connectors.b[connector]) + 1
    ends = pinocchio.SE3(np.eye(3), closures.point_a[0]), pinocchio.SE3(np.eye(3), closures.point_b[0])
    contact = pinocchio.RigidConstraintModel(kind, model, a, ends[0], b, ends[1], frame)
    data, contacts, inner = model.createData(), *(kind() for kind in CONTACTS)
    contacts.append(contact)
    inner.append(contact.createData())
    pinocchio.initConstraintDynamics(model, data, contacts, inner)
    settings = pinocchio.ProximalSettings(ACCURACY, SHIFT, ITERATIONS)
    none, q, v = np.zeros(model.nv), in_order(model, z), in_order(model, zd)
    return lambda: pinocchio.constraintDynamics(model, data, q, v, none, contacts, inner, settings)


def open_tree(equations: SemiRecursiveEquations, z: Any, zd: Any) -> Callable[[], Any]:
    """Return a call of Pinocchio's recursion over the tree without the loop."""
    model = tree(equations)
    data, none, q, v = model.createData(), np.zeros(model.nv), in_order(model, z), in_order(model, zd)
    return lambda: pinocchio.aba(model, data, q, v, none)


def in_order(model: pinocchio.Model, x: Any) -> Any:
    """Return coordinates in Pinocchio's order: the joints were added in the order of the dofs."""
    return np.array([x[model.getJointId(f"joint {i}") - 1] for i in range(model.nv)])


def in_turns(calls: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Return the least time of a call [us], of rounds in which all take turns."""
    best = dict.fromkeys(calls, np.inf)
    for _ in range(REPEATS):
        for name, call in calls.items():
            count, before = 0, time.perf_counter()
            while time.perf_counter() - before < SHORTEST:
                call()
                count += 1
            best[name] = min(best[name], 1e6 * (time.perf_counter() - before) / count)
    return best


def main() -> None:
    """Measure, print a table, and write it into the page with its option."""
    parser = argparse.ArgumentParser(prog=NAME, description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, metavar="K", help="pairs of the loop")
    parser.add_argument("--write", action="store_true", help="write the table into docs/recursion.md")
    options = parser.parse_args()
    record = {k: measured(k) for k in options.sizes or SIZES}
    names = [name for name in next(iter(record.values())) if not name.startswith("difference")]
    rows = [[str(k), *(f"{values[name]:.1f}" for name in names), ratio(values)] for k, values in record.items()]
    apart = max(values["difference of Pinocchio"] for values in record.values())
    text = table(["k", *(f"{name} [us]" for name in names), "rtmbs over Pinocchio"], rows)
    text += (
        f"\n\nPinocchio {pinocchio.__version__}. Least times of {REPEATS} rounds in turns. Accelerations differ by "
        f"{apart:.0e} of the largest. The proximal iteration leaves this error."
    )
    print(text)
    if options.write:
        insert(DOCS / "recursion.md", NAME, text)


def ratio(values: dict[str, float]) -> str:
    """Return the time of rtmbs over that of Pinocchio, as text."""
    return f"{values['rtmbs'] / values['Pinocchio']:.3f}"


if __name__ == "__main__":
    main()
