"""Linearised equations of motion about a state, also of systems that roll.

Linearised equations of motion about a state, with inputs and outputs by name; systems of python-control.

A system of python-control is the nonlinear mechanism of a Simulation, with inputs, outputs and states by name.

Linearised equations of wheels that roll and of knife edges: more positions than speeds (METHODS 1.35, 1.41).

Rows of Phi bind positions; all rows of Psi, those of Phi among them, bind rates. With q the independent positions and v
the independent speeds,

    dz = N dq,    dzd = S dv + G dq,    dzdd = S dv' + H_v dv + H_q dq,    dq' = (S dv + G dq - W N dq)_q

N is the null space of Phi_z and S that of Psi_zd; G and H keep Psi and its rate at zero. Reactions do no work along S:

    S^T (M dzdd + C dzd + K dz) = 0
"""

import importlib
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from rtmbs.contact.convex import refuse_convex
from rtmbs.contact.joints import refuse_bearings
from rtmbs.contact.switched import refuse_rigid
from rtmbs.errors import InputError, shown, unknown_name, with_count
from rtmbs.numerics.linear.solver import refuses_unfactorised
from rtmbs.results.catalogue import run_result
from rtmbs.results.samples import Samples
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.simulation.simulation import Simulation, store_of
from rtmbs.state import State
from rtmbs.studies.analysis.neighbourhood import (
    PLACES,
    RANK,
    STEP,
    WEIGHTS,
    DriverMotion,
    Neighbourhood,
    directional,
    driver_motion,
    matrices,
    neighbourhood,
    of_state,
    spins,
)
from rtmbs.studies.analysis.report import Report, numbers, rows, simulation_of
from rtmbs.system.contact_tables import rate_mask, refuse_contacts, refuse_sets
from rtmbs.system.tables import ROTATION

if TYPE_CHECKING:
    from scipy.signal import StateSpace

Array = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class Linearisation(Report):
    """x' = A x + B u, y = C x + D u of variations, x = (dq, dv, ds), and M dv' + damping dv + stiffness dq = forces du.

    dq are variations of the independent coordinates, dv those of their rates, ds those of force states. At a state
    that moves, the matrices are those of that instant.

    Attributes
    ----------
    coordinates : names of the independent coordinates (f,); rotation dofs vary by small turns in body axes [rad]
    mass, damping, stiffness : (f, f), of the loops' null space [kg, N s/m, N/m and the like]
    forces : (f, k) generalised forces of the inputs; of a driver those by which its motion shakes the mechanism
    A, B, C, D : (nx, nx), (nx, k), (p, nx), (p, k)
    inputs, outputs : names of the numbers in u (k,) and y (p,)
    basis : (n, f) what dq does to all joint coordinates
    names_of_all : names of all joint coordinates (n,)
    simulation : a Simulation of its own at the state
    """

    coordinates: tuple[str, ...]
    mass: Array
    damping: Array
    stiffness: Array
    forces: Array
    A: Array
    B: Array
    C: Array
    D: Array
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    basis: Array
    names_of_all: tuple[str, ...]
    simulation: Simulation

    @property
    def state(self) -> State:
        """The state."""
        return self.simulation.state

    def line(self) -> str:
        """Return the mechanism and the numbers of unknowns, inputs and outputs."""
        sizes = (
            with_count(len(self.coordinates), "degree of freedom", "degrees of freedom"),
            with_count(len(self.A), "state"),
        )
        more = with_count(len(self.inputs), "input"), with_count(len(self.outputs), "output")
        return f"{self.simulation.system.name!r} at t = {self.simulation.t:g} s: {', '.join((*sizes, *more))}"

    def table(self) -> str:
        """Return the independent coordinates with the diagonals of their matrices, and inputs and outputs."""
        diagonals = (numbers(np.diag(one)) for one in (self.mass, self.damping, self.stiffness))
        head = ("coordinate", "mass", "damping", "stiffness")
        lines = [f"linear equations of {self.line()}", *rows([head, *zip(self.coordinates, *diagonals, strict=True)])]
        lines += [
            f"{what}: {', '.join(names)}"
            for what, names in (("inputs", self.inputs), ("outputs", self.outputs))
            if names
        ]
        return "\n".join(lines)

    def state_space(self) -> "StateSpace":
        """Return a ``scipy.signal.StateSpace``; raises InputError without inputs or outputs."""
        from scipy.signal import StateSpace

        for what, names in (("inputs", self.inputs), ("outputs", self.outputs)):
            if not names:
                raise InputError(f"a state space needs {what}; give linearise(..., {what}=[...])")
        return StateSpace(self.A, self.B, self.C, self.D)

    @property
    def states(self) -> tuple[str, ...]:
        """Names of the variations in x: independent coordinates, their rates, and states of force laws."""
        of_laws = (f"{one.force}.{one.name}" for one in self.simulation.system.states)
        return (*self.coordinates, *(f"{name}_rate" for name in self.coordinates), *of_laws)

    def control_state_space(self) -> Any:
        """Return a ``control.StateSpace`` of python-control with names of inputs, outputs and states.

        Names there have no dots: "push.force" is "push_force".

        Returns
        -------
        control.StateSpace
            Continuous linear system; its outputs are its states where none were asked for.

        Raises
        ------
        InputError
            Where python-control is not installed, and without inputs.

        Examples
        --------
        >>> lin = rtmbs.linearise(sim, inputs=["push.force"])  # doctest: +SKIP
        >>> gain, _, poles = control.lqr(lin.control_state_space(), Q, R)  # doctest: +SKIP
        """
        control = package("control")
        if not self.inputs:
            raise InputError("a state space needs inputs; give linearise(..., inputs=[...])")
        C, D = (self.C, self.D) if self.outputs else (np.eye(len(self.A)), np.zeros((len(self.A), len(self.inputs))))
        return control.ss(
            self.A, self.B, C, D, inputs=undotted(self.inputs), outputs=undotted(self.outputs or self.states),
            states=undotted(self.states),
        )  # fmt: skip


def undotted(names: Sequence[str]) -> list[str]:
    """Return names as python-control takes them, without dots."""
    return [name.replace(".", "_") for name in names]


def package(name: str) -> Any:
    """Return python-control; InputError where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise InputError("systems of python-control need the package; pip install 'rtmbs[control]'") from None


@refuses_unfactorised(InputError, "linearise")
def linearise(sim: Any, inputs: Sequence[str] = (), outputs: Sequence[str] = ()) -> Linearisation:
    """Return the linearised equations about the present state of a Simulation.

    Mass, damping and stiffness come in closed form with all force laws, the accelerations and the reactions of the
    state (METHODS 1.35).

    Parameters
    ----------
    sim : Simulation, Equilibrium or State
        The state; a State must be of a System that a Simulation has. It stays as it is.
    inputs : sequence of str
        Names of ``sim.inputs``. A driver has three numbers, its value, rate and acceleration: ``driver[0]``,
        ``driver[1]``, ``driver[2]``.
    outputs : sequence of str
        Names of channels of a Result.

    Returns
    -------
    Linearisation
        Matrices A (nx, nx), B, C, D of x = (dq, dv, ds), and mass, damping and stiffness (f, f).

    Raises
    ------
    InputError
        For a singular pose.
    UnknownNameError
        For an unknown input or channel.

    Examples
    --------
    >>> lin = rtmbs.linearise(sim, inputs=["motor.torque"], outputs=["tip.position"])
    >>> poles = np.linalg.eigvals(lin.A)
    """
    sim = simulation_of("linearise", sim)
    near = neighbourhood(sim)
    slots, input_names = input_slots(sim, inputs)
    (M, C, K), by_s = projected(near), force_state_derivatives(near)
    motion = driver_motion(near, slots)
    Q_u, s_u = input_derivatives(near, slots, motion)
    shaken = Q_u + motion.forces(near)
    A, Q_s = system_matrix(near, (M, C, K), by_s), by_s[0]
    B = np.vstack((motion.drift(near), solved(M, near.N.T @ shaken), s_u))
    names = near.equations.system.coordinate_names
    output_names, C_y, D_y = by_outputs(sim, near, A, B, slots, Q_u, Q_s, motion, outputs)
    return Linearisation(
        tuple(names[i] for i in near.independent), M, C, K, near.N.T @ shaken, A, B, C_y, D_y, input_names,
        output_names, near.N, tuple(names), copy(sim),
    )  # fmt: skip


def system_matrix(near: Neighbourhood, matrices: tuple[Array, Array, Array], by_s: tuple[Array, Array]) -> Array:
    """Return A (nx, nx) from mass, damping and stiffness of the independent coordinates and ``by_s``.

    ``by_s`` is the answer of ``force_state_derivatives``.
    """
    M, C, K = matrices
    (Q_s, s_x), f = by_s, near.f
    A = np.zeros((2 * f + len(s_x), 2 * f + len(s_x)))
    A[:f, :f], A[:f, f : 2 * f] = -(near.W @ near.N)[near.independent], np.eye(f)
    A[f : 2 * f] = solved(M, np.hstack((-K, -C, near.N.T @ Q_s)))
    A[2 * f :] = s_x
    return A


def solved(M: Array, right: Array) -> Array:
    """Return M^-1 right; M may be empty."""
    return np.asarray(scipy.linalg.lu_solve(scipy.linalg.lu_factor(M), right)) if len(M) else right


def projected(near: Neighbourhood) -> tuple[Array, Array, Array]:
    """Return mass, damping and stiffness (f, f) of the independent coordinates."""
    N, T = near.N, near.N.T
    M = T @ near.M @ N
    return M, T @ (near.C @ N + near.M @ near.H_v), T @ (near.K @ N + near.C @ near.G + near.M @ near.H_q)


def input_slots(sim: Simulation, names: Sequence[str]) -> tuple[list[int], tuple[str, ...]]:
    """Return the slots of inputs in u, and a name for each number."""
    slots: list[int] = []
    found: list[str] = []
    for name in checked("inputs", names):
        if name not in sim.inputs:
            if any(name == one.name for one in sim.system.signals):
                raise InputError(
                    f"{name!r} is a function of time and no input; give rtmbs.Input(...) in the place of the function"
                )
            raise unknown_name("input", name, sim.inputs)
        place = sim.system.inputs[name]
        own = list(range(place.start, place.stop))
        slots += own
        found += [name] if len(own) == 1 else [f"{name}[{k}]" for k in range(len(own))]
    return slots, tuple(found)


def checked(what: str, names: Any) -> tuple[str, ...]:
    """Return a sequence of names as a tuple; InputError for anything else."""
    if isinstance(names, str) or not isinstance(names, Sequence) or not all(isinstance(one, str) for one in names):
        raise InputError(f"{what} is a list of names, not {shown(names)}")
    if twice := [name for k, name in enumerate(names) if name in names[:k]]:
        raise InputError(f"{what} names {shown(twice[0])} twice; name each once")
    return tuple(names)


def input_derivatives(near: Neighbourhood, slots: list[int], motion: DriverMotion) -> tuple[Array, Array]:
    """Return forces (n, k) of unit inputs at a fixed pose, and rates (ns, k) of force states beside drivers."""
    equations, n = near.equations, near.equations.n
    Q, rates = np.zeros((n, len(slots))), np.zeros((len(near.arrays.s), len(slots)))
    for k, slot in enumerate(slots):
        size = max(abs(float(equations.u[slot])), 1.0)
        du = np.zeros(len(equations.u))
        du[slot] = size
        Q[:, k] = -directional(partial(residual_along, near, {"du": du}))[:n] / size
        way = {"du": du, "dz": size * motion.Z[:, k], "dzd": size * motion.V[:, k]}
        rates[:, k] = directional(partial(residual_along, near, way))[n:] / size
    return Q, rates


def residual_along(near: Neighbourhood, way: dict[str, Array], share: float) -> Array:
    """Return the residual and the rates of force states (n + ns,) a share of the way."""
    return np.concatenate(near.residual(**{name: share * change for name, change in way.items()}))


def force_state_derivatives(near: Neighbourhood) -> tuple[Array, Array]:
    """Return forces (n, ns) of force states, and derivatives (ns, 2f + ns) of their rates by x."""
    equations, f, ns = near.equations, near.f, len(near.arrays.s)
    Q, rates = np.zeros((equations.n, ns)), np.zeros((ns, 2 * f + ns))
    if not ns:
        return Q, rates
    typical, pace = equations.system.typical[near.independent], max(float(np.abs(near.arrays.zd).max(initial=0.0)), 1.0)
    n = equations.n
    for k in range(f):
        dz, dzd = typical[k] * near.N[:, k], typical[k] * near.G[:, k]
        rates[:, k] = directional(partial(residual_along, near, {"dz": dz, "dzd": dzd}))[n:] / typical[k]
        rates[:, f + k] = directional(partial(residual_along, near, {"dzd": pace * near.N[:, k]}))[n:] / pace
    for k in range(ns):
        size = max(abs(float(near.arrays.s[k])), 1.0)
        ds = np.zeros(ns)
        ds[k] = size
        found = directional(partial(residual_along, near, {"ds": ds})) / size
        Q[:, k], rates[:, 2 * f + k] = -found[:n], found[n:]
    near.residual()
    return Q, rates


def by_outputs(
    sim: Simulation, near: Neighbourhood, A: Array, B: Array, slots: list[int], Q_u: Array, Q_s: Array,
    motion: DriverMotion, names: Sequence[str],
) -> tuple[tuple[str, ...], Array, Array]:  # fmt: skip
    """Return a name for each number of the outputs, and C and D."""
    names = checked("outputs", names)
    nx, k = len(A), len(slots)
    if not names:
        return (), np.zeros((0, nx)), np.zeros((0, k))
    samples, sizes = varied(sim, near, A, B, slots, Q_u, Q_s, motion)
    result = run_result(sim.system, sim.equations.tables, samples, {})
    found: list[str] = []
    rows = []
    for name in names:
        if name not in result:
            raise unknown_name("channel", name, result)
        values = np.asarray(result[name]).reshape(len(samples.t), -1)
        change = np.einsum("j,ijk->ik", WEIGHTS, values.reshape(nx + k, len(PLACES), -1)) / STEP
        rows.append((change / sizes[:, None]).T)
        found += [name] if values.shape[1] == 1 else [f"{name}[{i}]" for i in range(values.shape[1])]
    whole = np.vstack(rows)
    return tuple(found), whole[:, :nx], whole[:, nx:]


def varied(
    sim: Simulation,
    near: Neighbourhood,
    A: Array,
    B: Array,
    slots: list[int],
    Q_u: Array,
    Q_s: Array,
    motion: DriverMotion,
) -> tuple[Samples, Array]:
    """Return states at the points of the difference formula along each x and u, and the sizes (nx + k,) of steps."""
    equations, old, f, state = near.equations, near.arrays, near.f, sim.state
    nx, k = len(A), len(slots)
    pace = max(float(np.abs(old.zd).max(initial=0.0)), 1.0)
    sizes = np.concatenate(
        (
            equations.system.typical[near.independent],
            np.full(f, pace),
            np.maximum(np.abs(old.s), 1.0),
            np.maximum(np.abs(equations.u[slots]), 1.0),
        )
    )
    x, u = np.eye(nx, nx + k), np.eye(nx + k)[nx:]
    rate = A @ x + B @ u
    dq, dv, ds = x[:f], x[f : 2 * f], x[2 * f :]
    dz, dzd = near.N @ dq + motion.Z @ u, near.N @ dv + near.G @ dq + motion.V @ u
    dzdd = near.N @ rate[f : 2 * f] + near.H_v @ dv + near.H_q @ dq + motion.A @ u
    du = np.zeros((len(equations.u), nx + k))
    du[slots] = u
    left = near.M @ dzdd + near.C @ dzd + near.K @ dz - Q_u @ u - Q_s @ ds
    P = equations.closure_jacobian()
    dlam = -scipy.linalg.lstsq(P.T, left, cond=1e-9)[0] if equations.m else np.zeros((0, nx + k))
    step = (STEP * PLACES)[None, :, None] * sizes[:, None, None]

    count = (nx + k) * len(PLACES)

    def along(base: Array, change: Array) -> Array:
        return np.asarray((base + step * change.T[:, None, :]).reshape(count, len(base)))

    samples = Samples(
        t=np.full(count, state.t),
        z=along(old.z, dz),
        zd=along(old.zd, dzd),
        zdd=along(old.zdd, dzdd),
        lam=along(old.lam, dlam),
        R0=np.repeat(old.R0[None], count, axis=0),
        u=along(equations.u, du),
        s=along(old.s, ds),
    )
    return samples, sizes


def control_system(sim: Any, inputs: Sequence[str] = (), outputs: Sequence[str] = ()) -> Any:
    """Return a nonlinear input-output system of python-control that evaluates a mechanism.

    Its states are all joint coordinates, their rates and the states of force laws. Their derivatives satisfy the
    equations of motion with all loops. A mechanism with loops starts at a closed state, such as ``sim.state``.

    Parameters
    ----------
    sim : Simulation, Equilibrium or State
        The mechanism, its inputs, and the time of functions of time; it stays as it is.
    inputs : sequence of str
        Names of ``sim.inputs`` that are inputs of the system.
    outputs : sequence of str
        Names of channels that are its outputs.

    Returns
    -------
    control.NonlinearIOSystem
        Continuous system with names of inputs, outputs and states, without dots: "push.force" is "push_force".

    Raises
    ------
    InputError
        Where python-control is not installed, and for ball and floating joints, whose coordinates do not move as their
        rates say, contacts, and functions of time.
    UnknownNameError
        For an unknown input or channel.

    Examples
    --------
    >>> cart = rtmbs.control_system(sim, inputs=["push.force"], outputs=["pivot.angle"])  # doctest: +SKIP
    >>> control.input_output_response(cart, t, force, np.concatenate((sim.state.z, sim.state.zd)))  # doctest: +SKIP
    """
    control, own = package("control"), copy(simulation_of("control_system", sim))
    system, start = own.system, own.state.copy()
    refuse_contacts(system, "control_system")
    refuse_rigid(system.rigid, "control_system")
    refuse_convex(system.forces, "control_system")
    refuse_sets(system, "control_system")
    if np.any(system.tables.dofs.kind == ROTATION):
        raise InputError("control_system takes no ball or floating joints: their coordinates are no vector of rates")
    if system.signals:
        raise InputError("control_system takes no functions of time; give the forces rtmbs.Input and make them inputs")
    slots, names = input_slots(own, inputs)
    read = [str(one) for one in outputs]
    own[read]  # raises UnknownNameError
    states = state_names(own)

    def at(x: Array, u: Array) -> Simulation:
        """Let the mechanism be at states x with inputs u, its accelerations with them."""
        state, n = start.copy(), system.n
        state.z[:], state.zd[:], state.s[:] = x[:n], x[n : 2 * n], x[2 * n :]
        state.u[slots] = u
        store_of(own).go_on_from(state, start.t)
        return own

    def derivatives(t: float, x: Array, u: Array, params: Any) -> Array:
        state = at(np.asarray(x, np.float64), np.asarray(u, np.float64)).state
        return np.concatenate((state.zd, state.zdd, state.sd))

    def observed(t: float, x: Array, u: Array, params: Any) -> Array:
        return numbers_of(at(np.asarray(x, np.float64), np.asarray(u, np.float64)), read)

    labels = labels_of(own, read)
    return control.nlsys(
        derivatives, observed if read else None, inputs=undotted(names), outputs=undotted(labels or states),
        states=undotted(states),
        name=system.name.replace(".", "_"),
    )  # fmt: skip


def numbers_of(sim: Simulation, channels: Sequence[str]) -> Array:
    """Return the numbers of channels, one after the other."""
    return np.concatenate([np.zeros(0), *(np.atleast_1d(sim[name]).reshape(-1) for name in channels)])


def labels_of(sim: Simulation, channels: Sequence[str]) -> list[str]:
    """Return a name for each number of some channels."""
    found: list[str] = []
    for name in channels:
        size = np.size(sim[name])
        found += [name] if size == 1 else [f"{name}[{k}]" for k in range(size)]
    return found


def state_names(sim: Simulation) -> list[str]:
    """Return the names of all coordinates, their rates, and the states of force laws."""
    names = sim.system.coordinate_names
    of_laws = [f"{one.force}.{one.name}" for one in sim.system.states]
    return [*names, *(f"{name}_rate" for name in names), *of_laws]


Indices = NDArray[np.int64]


@dataclass(frozen=True)
class RollingLinearisation:
    """x' = A x of variations about a state with nonholonomic constraints, x = (dq, dv).

    Parameters
    ----------
    positions : tuple[str, ...]
        Names of the independent coordinates q (f,).
    speeds : tuple[str, ...]
        Names of the coordinates whose rates are the independent speeds v (k,), k <= f.
    A : ndarray
        System matrix (f + k, f + k).
    """

    positions: tuple[str, ...]
    speeds: tuple[str, ...]
    A: Array

    @property
    def eigenvalues(self) -> NDArray[np.complex128]:
        """Eigenvalues (f + k,) [1/s]. Positions that nothing depends on have zeros, often several in one block."""
        return np.asarray(np.linalg.eigvals(self.A), dtype=np.complex128)

    def moving(self, smallest: float = 1e-3) -> NDArray[np.complex128]:
        """Return the eigenvalues that are not zero, sorted by real and imaginary part.

        Parameters
        ----------
        smallest : float, default 1e-3
            Size up to which an eigenvalue counts as zero [1/s]. Rounding moves a zero of a block of k by about
            1e-16^(1/k).

        Returns
        -------
        ndarray
            Eigenvalues [1/s].
        """
        found = self.eigenvalues
        return np.asarray(np.sort_complex(found[np.abs(found) > smallest]))


@refuses_unfactorised(InputError, "linearise_rolling")
def linearise_rolling(sim: Simulation) -> RollingLinearisation:
    """Return the linearised equations about the present state of a Simulation with nonholonomic constraints.

    At steady motions, such as a bicycle that drives straight on, the eigenvalues tell stability. Force laws must have
    no states of their own.

    Parameters
    ----------
    sim : Simulation
        The state; it stays as it is.

    Returns
    -------
    RollingLinearisation
        System matrix, and names of positions and speeds.

    Raises
    ------
    InputError
        For a singular pose, and force laws with states.

    Examples
    --------
    >>> sim = rtmbs.Simulation(rtmbs.vehicle.bicycle(speed=5.0).compile(), h=1e-3)
    >>> rtmbs.linearise_rolling(sim).moving().round(3).tolist()
    [(-14.078+0j), (-0.775-4.465j), (-0.775+4.465j), (-0.323+0j)]
    """
    sim = simulation_of("linearise_rolling", sim)
    refuse_bearings(sim.system.bearings, "linearise_rolling")
    refuse_rigid(sim.system.rigid, "linearise_rolling")
    refuse_convex(sim.system.forces, "linearise_rolling")
    refuse_sets(sim.system, "linearise_rolling")
    if sim.system.states:
        raise InputError("linearise_rolling takes no force laws with states; it must be forces of the motion alone")
    equations, arrays = of_state(sim)
    Psi, typical = equations.closure_jacobian().copy(), equations.system.typical
    bound = ~rate_mask(equations.tables.contacts, equations.m)
    N, q, _ = null_space(Psi[bound], typical)
    S, v, follow = null_space(Psi, typical)
    G, H_v, H_q = orders(equations, (arrays.z, arrays.zd, arrays.zdd, arrays.R0), (N, S), follow)
    M, C, K = matrices(equations, arrays)
    W, T = spins(equations, arrays.zd), S.T
    mass = scipy.linalg.lu_factor(T @ M @ S)
    below = [scipy.linalg.lu_solve(mass, T @ part) for part in (K @ N + C @ G + M @ H_q, C @ S + M @ H_v)]
    A = np.block([[(G - W @ N)[q], S[q]], [-below[0], -below[1]]])
    names = equations.system.coordinate_names
    return RollingLinearisation(tuple(names[i] for i in q), tuple(names[i] for i in v), A)


def null_space(rows: Array, typical: Array) -> tuple[Array, Indices, Callable[[Array], Array]]:
    """Return a null space (n, f) over independent coordinates, these (f,), and changes that cancel residuals."""
    size = np.abs(rows * typical).max(axis=1, initial=0.0)
    kept = size > 0.0
    scaled = rows[kept] * typical / size[kept, None]
    n = rows.shape[1]
    _, R, order = scipy.linalg.qr(scaled, mode="economic", pivoting=True, check_finite=False)
    pivots = np.abs(np.diag(R))
    rank = int(np.count_nonzero(pivots > RANK * pivots.max(initial=0.0)))
    independent, dependent = np.sort(order[rank:]).astype(np.int64), np.sort(order[:rank]).astype(np.int64)

    def follow(left: Array) -> Array:
        """Return changes (n, k) of dependent coordinates that cancel residuals (m, k)."""
        found = np.zeros((n, left.shape[1]))
        own = scipy.linalg.lstsq(scaled[:, dependent], left[kept] / size[kept, None], cond=RANK)[0]
        found[dependent] = -typical[dependent, None] * own
        return found

    N = follow(rows[:, independent])
    N[independent, np.arange(len(independent))] = 1.0
    return N, independent, follow


def orders(
    equations: SemiRecursiveEquations,
    state: tuple[Array, Array, Array, Array],
    bases: tuple[Array, Array],
    follow: Callable[[Array], Array],
) -> tuple[Array, Array, Array]:
    """Return G (n, f), H_v (n, k) and H_q (n, f), which keep Psi and its rate at zero."""
    (z, zd, zdd, R0), (N, S) = state, bases
    pace = max(float(np.abs(zd).max(initial=0.0)), 1.0)

    def rates(dz: Array, share: float) -> Array:
        equations.close(z + share * dz, R0)
        return np.asarray(equations.closure_velocities(zd))

    def accelerations(dz: Array, dzd: Array, share: float) -> Array:
        equations.close(z + share * dz, R0)
        return np.asarray(equations.closure_accelerations(zd + share * dzd, zdd))

    G = follow(np.array([directional(partial(rates, way)) for way in N.T]).T)
    still = np.zeros(equations.n)
    by_v = [directional(partial(accelerations, still, pace * way)) / pace for way in S.T]
    by_q = [directional(partial(accelerations, way, turned)) for way, turned in zip(N.T, G.T, strict=True)]
    equations.close(z, R0)
    return G, follow(np.array(by_v).T), follow(np.array(by_q).T)
