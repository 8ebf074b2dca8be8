"""Force laws called in Python: tapes with exact derivatives along the branches that they take (METHODS 1.37).

A law with an ``if`` is another function on each of its branches. A step knows the branch of every law at each iterate.
"""

# Traced arrays pass through here: there is no type to write down.
# mypy: allow-untyped-defs, allow-untyped-calls

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.ad.interpret import interpreted
from rtmbs.ad.program import lowered
from rtmbs.ad.simd_programs import SimdProgram
from rtmbs.ad.trace import RecordedPath, path_at
from rtmbs.ad.traced import recorder
from rtmbs.errors import InputError
from rtmbs.semirecursive import page as untyped_page
from rtmbs.semirecursive import page_elements as untyped_arrays
from rtmbs.system.system import CalledLaw, System
from rtmbs.system.tables import FRAME_INPUTS

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Ways = tuple[int, ...]  # the number of the path of every called law
page: Any = untyped_page
XP = untyped_arrays.recursive(recorder)
AGREED = 1e-9  # of its values: a tape that says something else than its law


@dataclass
class BranchedLaw:
    """One law and the branches met so far."""

    law: CalledLaw
    paths: list[RecordedPath] = field(default_factory=list)
    programs: list[SimdProgram] = field(default_factory=list)

    def ways(self, x: Array, p: Array) -> Integers:
        """Return the numbers (K,) of the branches at inputs (K, n) and parameters (K, k)."""
        found = np.full(len(x), -1)
        for number in range(len(self.paths)):
            self.settle(found, number, x, p)
        for row in range(len(x)):
            if found[row] < 0:
                self.meet(x[row], p[row])
                self.settle(found, len(self.paths) - 1, x, p)
                found[row] = len(self.paths) - 1
        return found

    def settle(self, found: Integers, number: int, x: Array, p: Array) -> None:
        """Write the number of a branch where none was found before and its conditions hold."""
        left = np.flatnonzero(found < 0)
        if len(left):
            found[left[self.paths[number].holds(self.programs[number](x[left], p[left]))]] = number

    def meet(self, x: Array, p: Array) -> None:
        """Record the branch at a point; raises InputError for a law that no tape holds."""
        name, values = self.law.name, self.law.function(x, p)
        function = self.law.function.__self__  # type: ignore[attr-defined]
        try:
            path = path_at(function, len(values), x, p)
        except Exception as error:  # the user's function meets traced numbers: it may raise anything
            raise InputError(
                f"force {name!r} is called in Python, and has no exact derivative: {str(error).split('. ')[0]}"
            ) from error
        program = SimdProgram(lowered(path.tape))
        found = program(x[None], p[None])[0, : len(values)]
        if not np.all(np.abs(found - values) <= AGREED * max(np.abs(values).max(), 1e-300)):
            raise InputError(
                f"force {name!r} was recorded as {found.tolist()} where a call gives {values.tolist()}; it must do the "
                "same with recorded values as with numbers"
            )
        self.paths.append(path)
        self.programs.append(program)


def kinds_of(rows: Integers) -> tuple[Integers, Integers]:
    """Return the distinct rows (c, w), and the index (K,) of each row (K, w) among them."""
    if np.array_equal(rows, np.broadcast_to(rows[:1], rows.shape)):
        return rows[:1], np.zeros(len(rows), np.int64)
    kinds, which = np.unique(rows, axis=0, return_inverse=True)
    return kinds, which.ravel()


class PythonLaws:
    """All force laws of a System that are called in Python."""

    def __init__(self, system: System) -> None:
        self.laws, self.tables = [BranchedLaw(law) for law in system.called], system.tables

    def __bool__(self) -> bool:
        return bool(self.laws)

    def inputs(self, tables: Any, R0: Any, z: Any, zd: Any) -> list[Any]:
        """Return the inputs (n,) of every law at z, zd (n,)."""
        kinematics = page.called_kinematics(XP, tables, R0, z[None], zd[None])[0]
        found, recorded = [], int(tables.laws.counts[0])
        for law in (one.law for one in self.laws):
            if law.row >= 0:
                found.append(kinematics[law.row - recorded].reshape(FRAME_INPUTS))
            else:
                mine = tables.laws.input[tables.laws.force_entry[law.entry : law.entry + law.n, 1]]
                found.append(XP.stack([(zd if rate else z)[dof] for dof, rate in mine]))
        return found

    def ways(self, inputs: Array, u: Array) -> Integers:
        """Return the ways (K, laws) of inputs (K, sum of n), law after law, and of inputs of the System u (K, nu)."""
        if not self.laws:
            return np.zeros((len(u), 0), np.int64)
        ends = np.cumsum([one.law.n for one in self.laws])[:-1]
        parts = zip(self.laws, np.split(inputs, ends, axis=1), strict=True)
        columns = [one.ways(np.ascontiguousarray(x), np.ascontiguousarray(u[:, one.law.slot])) for one, x in parts]
        return np.column_stack(columns)

    def forces(self, row: Any, z: Any, zd: Any, ways: Sequence[int]) -> Any:
        """Return the generalised forces (n,) of all laws on their ways."""
        tables, u, R0 = row
        wrenches: list[Any] = []
        forces: list[Any] = []
        inputs = self.inputs(tables, R0, z, zd)
        for one, x, way in zip(self.laws, inputs, ways, strict=True):
            path = one.paths[way]
            values = interpreted(recorder, one.programs[way].program, x[None], u[one.law.slot], slice(path.m))[0]
            (wrenches if one.law.row >= 0 else forces).append(values)
        W = XP.stack(wrenches)[None] if wrenches else np.zeros((1, 0, 6))
        Q = XP.concatenate(forces)[None] if forces else np.zeros((1, 0))
        return page.called_forces(XP, tables, R0, z[None], zd[None], W, Q)[0]
