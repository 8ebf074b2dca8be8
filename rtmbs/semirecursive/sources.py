"""Sources of K = -dQ/dz and C = -dQ/dzd by name; each answers ``source(z, zd, R0, u) -> (K, C)``, dense (n, n).

``u`` holds the inputs and behind them the states of force laws, which are held as they are (METHODS 1.32).

``structured`` is not in this table: it is the closed form that the equations assemble straight into the sparse matrix.
The others differentiate the whole Q(z, zd) with the means of ``rtmbs.ad``. Differences and complex step go through the
compiled kernels; both modes of autograd and trace go through ``page.py``, for they overload operators;
``finite-difference-page`` takes differences of ``page.py``, so that autograd has a like to be compared with (METHODS
1.19). The paper overloads operators in forward mode: ``autograd-forward``.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.ad.function_sources import Derivatives
from rtmbs.errors import InputError, unknown_name
from rtmbs.semirecursive import page as untyped_page
from rtmbs.semirecursive import page_elements as untyped_arrays
from rtmbs.semirecursive.evaluation import evaluate_residual
from rtmbs.semirecursive.force_kernels import call_laws
from rtmbs.semirecursive.law_states import hold_states
from rtmbs.semirecursive.passes import commit_rotations
from rtmbs.semirecursive.workspace import workspace
from rtmbs.system.system import System
from rtmbs.system.tables import Dofs

Array = NDArray[np.float64]
page: Any = untyped_page  # its numbers may be of any kind, so it carries no types
page_elements: Any = untyped_arrays


class CompiledForce:
    """Q(x, p) of the compiled kernels, x = [z, zd], p = [u, s, R0]; real or complex."""

    def __init__(self, system: System, dtype: type) -> None:
        self.system, self.tables, self.nu, self.ns = system, system.tables, len(system.u0), len(system.s0)
        self.ws = workspace(system.tables, dtype)
        self.n, self.alpha = system.n, np.zeros(system.m)

    def __call__(self, x: Array, p: Array) -> Array:
        """Return Q (n,)."""
        ws = self.ws
        ws.z[:], ws.zd[:], ws.zdd[:] = x[: self.n], x[self.n :], 0.0
        u, s, R0 = np.split(p, (self.nu, self.nu + self.ns))
        R0 = R0.reshape(-1, 3, 3)
        hold_states(s, ws)
        call_laws(self.system, self.tables, R0, u, ws)
        evaluate_residual(self.tables, R0, u, self.alpha, ws)
        return -ws.tau


class PageForce:
    """Q(x, p) of ``page.py`` for rows x (B, 2 n), in whatever namespace ``xp`` brings."""

    def __init__(self, system: System) -> None:
        self.tables, self.n, self.nu = system.tables, system.n, len(system.u0) + len(system.s0)

    def __call__(self, x: Any, p: Any, xp: Any = np) -> Any:
        """Return Q (B, n)."""
        R0 = p[self.nu :].reshape(-1, 3, 3)
        return page.force(xp, self.tables, p[: self.nu], R0, x[:, : self.n], x[:, self.n :])


class Source:
    """K and C from one Jacobian of Q by x = [z, zd].

    Rotations are taken in by R0 first: the derivative by a rotation dof is that by a small turn in body axes.
    """

    def __init__(self, derivatives: Derivatives, dofs: Dofs) -> None:
        self.derivatives, self.dofs = derivatives, dofs

    def __call__(self, z: Array, zd: Array, R0: Array, u: Array) -> tuple[Array, Array]:
        """Return K and C (n, n)."""
        z, R0 = z.copy(), R0.copy()
        commit_rotations(self.dofs, z, R0)
        J = self.derivatives.jacobian(np.concatenate([z, zd]), np.concatenate([u, R0.ravel()]))
        return -J[:, : len(z)], -J[:, len(z) :]


def forward_difference(system: System) -> Derivatives:
    """Forward differences with the paper's increment 1e-8, re-formed as (z + s) - z."""
    from rtmbs.ad import FiniteDifference

    return FiniteDifference(CompiledForce(system, np.float64), 2 * system.n, system.n)


def central_difference(system: System) -> Derivatives:
    """Central differences, 6e-6 of the typical size; rates at least of size one."""
    from rtmbs.ad import FiniteDifference

    def typical(x: Array) -> Array:
        return np.concatenate([system.typical, np.maximum(system.typical, np.abs(x[system.n :]))])

    force = CompiledForce(system, np.float64)
    return FiniteDifference(force, 2 * system.n, system.n, scheme="central", typical=typical)


def page_difference(system: System) -> Derivatives:
    """The paper's forward differences, of the page form."""
    from rtmbs.ad import FiniteDifference

    return FiniteDifference(PageForce(system), 2 * system.n, system.n, batched=True)


def complex_step(system: System) -> Derivatives:
    """Complex dof through the same kernels in complex arithmetic: exact to rounding."""
    from rtmbs.ad import ComplexStep

    return ComplexStep(CompiledForce(system, np.complex128), 2 * system.n, system.n)


def autograd(system: System) -> Derivatives:
    """Reverse mode by operator overloading, all rows in one pass."""
    from rtmbs.ad import Autograd

    return Autograd(PageForce(system), 2 * system.n, system.n, batched=True)


def autograd_forward(system: System) -> Derivatives:
    """Forward mode by operator overloading, all columns in one pass: the paper's t_AD."""
    from rtmbs.ad import Autograd

    return Autograd(PageForce(system), 2 * system.n, system.n, mode="forward", batched=True)


def trace(system: System) -> Derivatives:
    """The page form recorded once, its sparse Jacobian evaluated as a program."""
    from rtmbs.ad import Traced, recorder

    parameters = len(system.u0) + len(system.s0) + system.R0.size
    return Traced(
        PageForce(system), 2 * system.n, system.n, k=parameters, batched=True, xp=page_elements.recursive(recorder)
    )


STRUCTURED = "structured"
CALLING = (STRUCTURED, "finite-difference", "central-difference")  # those that may call a law in Python
OF_KERNELS = (*CALLING, "complex-step")  # the others go through page.py, which looks for no touching pairs

SOURCES: dict[str, Callable[[System], Derivatives]] = {
    "finite-difference": forward_difference,
    "central-difference": central_difference,
    "finite-difference-page": page_difference,
    "complex-step": complex_step,
    "autograd": autograd,
    "autograd-forward": autograd_forward,
    "trace": trace,
}


def source_names() -> list[str]:
    """Return every valid name."""
    return [STRUCTURED, *SOURCES]


def make_source(name: str, system: System) -> Source | None:
    """Return the source called ``name``, None for the closed form; the error lists the valid names."""
    if isinstance(name, str) and name == STRUCTURED:
        return None
    if not (isinstance(name, str) and name in SOURCES):
        raise unknown_name("jacobian", name, source_names())
    if system.called and name not in CALLING:
        raise InputError(
            f"jacobian = {name!r} cannot look into force {system.called[0].name!r}, which only Python can evaluate; "
            f"take {', '.join(CALLING[:-1])} or {CALLING[-1]}, or write the law so that it can be recorded"
        )
    if system.contact_sets and name not in OF_KERNELS:
        raise InputError(
            f"jacobian = {name!r} leaves out the forces of contacts {system.contact_sets[0]!r}; "
            f"take {', '.join(OF_KERNELS[:-1])} or {OF_KERNELS[-1]}"
        )
    return Source(SOURCES[name](system), system.tables.dofs)
