"""Plain forward kinematics of the tables, and the joints of models at random; nothing of the kernels is used."""

import numpy as np
from scipy.spatial.transform import Rotation

from rtmbs.model import JOINT_TYPES, JointType
from rtmbs.system import System
from rtmbs.system.tables import DISTANCE, PRISMATIC, REVOLUTE, TRANSLATION


def random_rotation(rng):
    return Rotation.random(random_state=int(rng.integers(1 << 30))).as_matrix()


def dof_frames(system: System, z, R0):
    """Return A (n + 1 + g, 3, 3) and r (n + 1 + g, 3) of all dofs in the world; the last rows are ground."""
    dofs = system.tables.dofs
    n = len(dofs.kind)
    rows = n + 1 + len(system.tables.origins.fixed)
    A, r = np.tile(np.eye(3), (rows, 1, 1)), np.zeros((rows, 3))
    for i in range(n):
        p = dofs.parent[i]
        A[i] = A[p] @ dofs.offset_rotation[i]
        r[i] = r[p] + A[p] @ dofs.offset[i]
        if dofs.reference[i] >= 0:
            turn = Rotation.from_rotvec(np.asarray(z[i : i + 3]) @ dofs.axis[i : i + 3])
            A[i] = A[i] @ R0[dofs.reference[i]] @ turn.as_matrix()
        if dofs.kind[i] == REVOLUTE:
            A[i] = A[i] @ Rotation.from_rotvec(z[i] * dofs.axis[i]).as_matrix()
            r[i] = r[i] + A[i] @ (dofs.axis[i] * dofs.pitch[i] * z[i])
        elif dofs.kind[i] == PRISMATIC:
            r[i] = r[i] + A[i] @ (dofs.axis[i] * z[i])
    return A, r


def body_poses(system: System, z=None, R0=None):
    """Return {body: (A, x)} in the world."""
    z = system.z0 if z is None else z
    A, r = dof_frames(system, z, system.R0 if R0 is None else R0)
    return {
        name: (A[body.dof] @ body.rotation, r[body.dof] + A[body.dof] @ body.position)
        for name, body in system.bodies.items()
    }


def joint_pose(system: System, name: str, z=None, R0=None):
    """Return the orientation of b in axes of a, and the way from the point of a to that of b in axes of a."""
    joint = system.joints[name]
    poses = body_poses(system, z, R0)
    (A_a, x_a), (A_b, x_b) = poses[joint.a], poses[joint.b]
    return A_a.T @ A_b, A_a.T @ (x_b + A_b @ joint.point_b - x_a - A_a @ joint.point_a)


def closure_values(system: System, z=None, R0=None):
    """Return Phi of all closure rows (without driven coordinates)."""
    z = system.z0 if z is None else z
    A, r = dof_frames(system, z, system.R0 if R0 is None else R0)
    closures, connectors = system.tables.closures, system.tables.connectors
    values = np.zeros(len(closures.kind))
    for l in range(len(closures.point_a)):
        a, b = connectors.a[l], connectors.b[l]
        x_a, x_b = r[a] + A[a] @ closures.point_a[l], r[b] + A[b] @ closures.point_b[l]
        for row in range(closures.row_pointer[l], closures.row_pointer[l + 1]):
            u, v = A[a] @ closures.axis_a[row], A[b] @ closures.axis_b[row]
            if closures.kind[row] == TRANSLATION:
                values[row] = u @ (x_a - x_b)
            elif closures.kind[row] == DISTANCE:
                slot, divisor = closures.slot[row], closures.length[row]
                length = divisor if slot < 0 else system.u0[slot]
                values[row] = ((x_b - x_a) @ (x_b - x_a) - length**2) / (2 * divisor)
            else:
                values[row] = u @ v
    return values


def closure_jacobian(system: System, z, R0=None, size=1e-6):
    """Return Phi_z by central differences, (mc, n)."""
    columns = []
    for i in range(len(z)):
        step = np.zeros(len(z))
        step[i] = size
        columns.append((closure_values(system, z + step, R0) - closure_values(system, z - step, R0)) / (2 * size))
    return np.array(columns).T


def examples(rng) -> dict[str, JointType]:
    """Return one of every registered joint type, its directions along a random triad."""
    return {name: kind.example(random_rotation(rng)) for name, kind in JOINT_TYPES.items()}


def add_random_body(model, name, rng):
    """Add a body at a random reference pose."""
    principal = np.sort(rng.uniform(1.0, 1.9, 3))
    turn = random_rotation(rng)
    return model.add_body(
        name,
        mass=float(rng.uniform(0.5, 2.0)),
        center_of_mass=rng.normal(size=3),
        inertia=turn @ np.diag(principal) @ turn.T,
        position=rng.normal(size=3),
        orientation=random_rotation(rng),
    )
