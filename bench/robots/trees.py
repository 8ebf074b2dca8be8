"""Mass matrix, weight and bias forces of trees at random states: URDF against Pinocchio, MJCF against MuJoCo.

The largest difference is relative to the largest entry. Springs, dampers and actuators are taken away, since neither
reference has them in its bias forces. Run: ``python -m bench.robots.trees [FOLDER ...] [--states N] [--most N]``.
"""

import argparse
import site
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import rtmbs
from bench.robots.files import PACKAGES, described
from rtmbs.errors import RtmbsError
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.system.system import System

Array = NDArray[np.float64]

WANTED = 1e-11
FREE, BALL = 0, 1  # mjtJoint


class State(NamedTuple):
    """A state of a reference with its answers there."""

    initials: dict[str, tuple[Any, Any]]  # position and rate by joint
    v: Array  # (nv,)
    M: Array  # (nv, nv)
    bias: Array  # (nv,) with weight
    weight: Array  # (nv,)


def difference(model: rtmbs.Model, state: State, map_of: Callable[[System], Array]) -> float:
    """Return the largest relative difference at one state."""
    model.initials.clear()
    for name, (position, rate) in state.initials.items():
        model.set_initial(name, position, rate)
    system = model.compile()
    T, equations = map_of(system), SemiRecursiveEquations(system)
    still = np.zeros(system.n)
    found = []
    for rates, wanted in ((state.v, state.bias), (0.0 * state.v, state.weight)):
        equations.residual(system.z0, T @ rates, still, system.R0)
        size = np.abs(state.bias).max() + np.abs(state.M).max() * np.abs(state.v).max() ** 2
        found.append(np.abs(T.T @ equations.ws.tau - wanted).max() / size)
    found.append(np.abs(T.T @ equations.mass_matrix() @ T - state.M).max() / np.abs(state.M).max())
    return float(max(found))


# ---- URDF and Pinocchio ----------------------------------------------------------------------------------------------


def of_pinocchio(path: Path, states: int, random: np.random.Generator) -> float:
    """Return the largest difference of a URDF with a fixed base; raises RtmbsError, ValueError."""
    import pinocchio as pin

    model = rtmbs.read(path, meshes=False, floating=False)
    model.forces.clear()
    model.couplers.clear()
    model.drivers.clear()
    reference = pin.buildModelFromUrdf(str(path))
    data = reference.createData()
    names = list(reference.names)[1:]
    if any(reference.joints[reference.getJointId(name)].nv != 1 for name in names):
        raise ValueError("a joint without one coordinate")
    for name in [one for one in model.joints if one.endswith("_rotor")]:
        raise ValueError(f"rotor {name}")
    place = {name: reference.joints[reference.getJointId(name)] for name in names}

    def map_of(system: System) -> Array:
        T = np.zeros((system.n, reference.nv))
        for name, joint in place.items():
            T[system.joints[name].dofs[0], joint.idx_v] = 1.0
        return T

    worst = 0.0
    for _ in range(states):
        q, v = pin.neutral(reference), random.uniform(-1.0, 1.0, reference.nv)
        given = {}
        for name, joint in place.items():
            x = random.uniform(-2.0, 2.0)
            q[joint.idx_q : joint.idx_q + joint.nq] = [x] if joint.nq == 1 else [np.cos(x), np.sin(x)]
            given[name] = x, v[joint.idx_v]
        M = pin.crba(reference, data, q)
        M = np.triu(M) + np.triu(M, 1).T
        still = np.zeros(reference.nv)
        bias, weight = pin.rnea(reference, data, q, v, still), pin.rnea(reference, data, q, still, still)
        worst = max(worst, difference(model, State(given, v, M, bias, weight), map_of))
    return worst


# ---- MJCF and MuJoCo -------------------------------------------------------------------------------------------------


def of_mujoco(path: Path, states: int, random: np.random.Generator) -> float:
    """Return the largest difference of an MJCF; raises RtmbsError, ValueError."""
    import mujoco

    reference = mujoco.MjModel.from_xml_path(str(path))
    model = rtmbs.read(path, meshes=False, packages={"package": path.parents[3]})
    model.forces.clear()
    data, names = mujoco.MjData(reference), names_of(reference)
    if any(reference.dof_armature[reference.jnt_dofadr[j]] for j in range(reference.njnt) if reference.jnt_type[j] < 2):
        raise ValueError("a rotor on a free joint")

    def map_of(system: System) -> Array:
        return rates_of(system, reference, names)

    worst = 0.0
    for _ in range(states):
        q, v = random.uniform(-1.0, 1.0, reference.nq), random.uniform(-1.0, 1.0, reference.nv)
        given = {}
        for j, name in enumerate(names):
            a, d, kind = reference.jnt_qposadr[j], reference.jnt_dofadr[j], int(reference.jnt_type[j])
            wide, rates = {FREE: (7, 6), BALL: (4, 3)}.get(kind, (1, 1))
            if kind in (FREE, BALL):
                q[a + wide - 4 : a + wide] /= np.linalg.norm(q[a + wide - 4 : a + wide])
            position = q[a : a + wide].copy()
            if kind == BALL:
                body = reference.jnt_bodyid[j]
                mujoco.mju_mulQuat(position, reference.body_quat[body], q[a : a + wide])
            given[name] = position, v[d : d + rates]
        M = np.zeros((reference.nv, reference.nv))
        answers = []
        for rates in (v, 0.0 * v):
            data.qpos[:], data.qvel[:] = q, rates
            mujoco.mj_fwdPosition(reference, data)
            mujoco.mj_fwdVelocity(reference, data)
            answers.append(data.qfrc_bias.copy())
        mujoco.mj_fullM(reference, data, M)
        worst = max(worst, difference(model, State(given, v, M, *answers), map_of))
    return worst


def names_of(reference: Any) -> list[str]:
    """Return the names of the joints as the reader gives them."""
    from rtmbs.formats.mjcf_model import joint_names

    return joint_names(reference)


def rates_of(system: System, reference: Any, names: list[str]) -> Array:
    """Return T (n, nv) from the rates of MuJoCo to those of the System, rotors included."""
    T = np.zeros((system.n, reference.nv))
    for j, name in enumerate(names):
        info, d, kind = system.joints[name], reference.jnt_dofadr[j], int(reference.jnt_type[j])
        if kind > BALL:
            T[info.dofs[0], d] = 1.0
            if f"{name}_rotor" in system.joints:
                T[system.joints[f"{name}_rotor"].dofs[0], d] = 1.0
            continue
        first = d + (3 if kind == FREE else 0)
        for k, dof in enumerate(info.dofs[: first - d]):
            T[dof, d + k] = 1.0
        for dof in info.dofs[first - d :]:
            T[dof, first : first + 3] = system.bodies[info.b].rotation.T @ system.tables.dofs.axis[dof]
    return T


# ---- the table -------------------------------------------------------------------------------------------------------

REFERENCES = {"URDF": ("Pinocchio", of_pinocchio), "MJCF": ("MuJoCo", of_mujoco)}


def main() -> int:
    """Print the number of mechanisms, the largest difference and the worst file of each reference."""
    parser = argparse.ArgumentParser(prog="python -m bench.robots.trees", description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER", help="instead of the installed packages")
    parser.add_argument("--states", type=int, default=20)
    parser.add_argument("--most", type=int, default=10_000, help="mechanisms of each format")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    installed = [Path(place) / name for place in site.getsitepackages() for name in PACKAGES]
    folders = options.folders or installed
    random, good = np.random.default_rng(1), True
    for form, (name, compared) in REFERENCES.items():
        found: dict[str, float] = {}
        left = 0
        for path, kind in (one for folder in folders if folder.is_dir() for one in described(folder)):
            if kind != form or len(found) >= options.most:
                continue
            try:
                found[f"{path.parent.name}/{path.name}"] = compared(path, options.states, random)
            except (RtmbsError, ValueError, RuntimeError):
                left += 1
        worst = max(found, key=lambda one: found[one], default="")
        largest = found.get(worst, 0.0)
        good &= largest <= WANTED
        print(f"{form} against {name}: {len(found)} mechanisms, {options.states} states each, {left} left out; "
              f"largest difference {largest:.2g} in {worst}")  # fmt: skip
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
