"""Campbell diagram: modes over an input, or over the states that a function returns."""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BarycentricInterpolator
from scipy.optimize import brentq, linear_sum_assignment

from rtmbs.errors import InputError, shown, unknown_name, with_count
from rtmbs.numerics.linear.solver import refuses_unfactorised
from rtmbs.results.figure import save_figure
from rtmbs.results.tables import needed
from rtmbs.simulation.inputs import input_unit
from rtmbs.simulation.simulation import Simulation, store_of
from rtmbs.studies.analysis.equilibrium import equilibrium
from rtmbs.studies.analysis.modes import MOVING, Modes, Oscillations, modes
from rtmbs.studies.analysis.report import Report, wrong_argument

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

PACE = 0.1  # weight of a change of s, relative to it, beside a change of shape
LINES = (":", "-.", "--")  # of orders of a turn, in this order
WIDE = 8.0, 4.8  # of a picture [inch]: the names stand beside the axes
LIKE = 0.1  # of 1: a shape less like the last one begins a branch of its own


@dataclass(frozen=True, repr=False)
class Campbell(Report, Oscillations):
    """Modes over a value, each followed from one value to the next by the likeness of its shape (MAC).

    Attributes
    ----------
    values : (k,) of the input
    over : its name
    eigenvalues : (k, j) s [1/s]; NaN where a branch is not there
    modes : all modes, by value
    """

    values: Array
    over: str
    eigenvalues: Complex
    modes: tuple[Modes, ...]

    def critical(self, order: float = 1.0) -> list[tuple[float, int]]:
        """Return pairs (value, branch) where a damped frequency is ``order`` times a turn.

        The values must be rates in rad/s. Between values frequencies go along cubics through the four nearest ones, so
        the answer is as good as the values are close: with half of their distance errors are a sixteenth.
        """
        found = []
        off = self.damped_frequencies - order * np.abs(self.values)[:, None] / (2.0 * np.pi)
        for branch, column in enumerate(off.T):
            oscillates = np.abs(self.eigenvalues[:, branch].imag) > 0.0
            for i in np.flatnonzero((column[:-1] * column[1:] <= 0.0) & oscillates[:-1] & oscillates[1:]):
                found.append((crossing(self.values, column, oscillates, int(i)), branch))
        return sorted(found)

    def table(self) -> str:
        """Return frequencies and damping ratios as text, a line a value."""
        count = self.eigenvalues.shape[1]
        head = f"{self.over:>14}" + "".join(f"{f'mode {j} [Hz]':>14}{'damping':>10}" for j in range(count))
        lines = [head]
        for value, hz, ratio in zip(self.values, self.frequencies, self.damping, strict=True):
            lines.append(f"{value:>14.6g}" + "".join(f"{f:>14.6g}{d:>10.3g}" for f, d in zip(hz, ratio, strict=True)))
        loose = [f"{value:g}" for value, one in zip(self.values, self.modes, strict=True) if unsteady(one)]
        if loose:
            lines.append(f"The motion is not steady at {self.over} = {', '.join(loose)}: these modes are a hint.")
        return "\n".join(lines)

    def line(self) -> str:
        """Return the input, its values and the number of branches."""
        branches = with_count(self.eigenvalues.shape[1], "branch", "branches")
        return f"{branches} over {self.over} = {self.values[0]:g} to {self.values[-1]:g}"

    def to_pandas(self) -> Any:
        """Return the frequencies as a pandas DataFrame over the value (extra ``tables``)."""
        pandas = needed("pandas", "to_pandas", "tables")
        names = [f"mode {j} [Hz]" for j in range(self.eigenvalues.shape[1])]
        return pandas.DataFrame(self.frequencies, index=pandas.Index(self.values, name=self.over), columns=names)

    def plot(self, axes: Any = None, orders: Sequence[float] = (), file: Any = None) -> Any:
        """Draw frequencies over the value with matplotlib (extra ``plot``), and lines of ``orders``; returns the axes.

        Branches that grow are drawn dashed. ``file`` (.png, .pdf, .svg) keeps the picture. Raises InputError for a file
        of another form, or that cannot be written.
        """
        if axes is None:
            axes = needed("matplotlib.pyplot", "plot", "plot").subplots(figsize=WIDE, layout="constrained")[1]
        for j, column in enumerate(self.damped_frequencies.T):
            grows = np.nanmax(self.eigenvalues[:, j].real) > 1e-9 * np.nanmax(np.abs(self.eigenvalues[:, j]))
            axes.plot(self.values, column, "--" if grows else "-", marker=".", label=f"mode {j}")
        for k, order in enumerate(orders):
            style = LINES[k % len(LINES)]
            axes.plot(
                self.values, order * np.abs(self.values) / (2.0 * np.pi), style, color="0.5", label=f"{order:g} x"
            )
        unit = input_unit(self.modes[0].simulation.system, self.over) if self.modes else ""
        label = f"{self.over} [{unit}]" if unit else self.over
        axes.set(xlabel=label, ylabel="damped frequency [Hz]", title="Campbell diagram")
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)  # beside the curves
        save_figure(axes.figure, file)
        return axes


def unsteady(found: Modes) -> bool:
    """Return whether the modes belong to a motion that is not steady."""
    return found.axes is not None and not found.axes.steady


def crossing(values: Array, off: Array, known: NDArray[np.bool_], i: int) -> float:
    """Return the zero of a branch between values ``i`` and ``i + 1``, on a cubic through the nearest values."""
    if not (off[i] and off[i + 1]):
        return float(values[i] if not off[i] else values[i + 1])
    near = np.array([k for k in range(max(i - 1, 0), min(i + 3, len(values))) if known[k]])
    places, first = np.unique(values[near], return_index=True)  # the user may give a value twice
    return float(brentq(BarycentricInterpolator(places, off[near[first]]), values[i], values[i + 1]))


@refuses_unfactorised(InputError, "campbell")
def campbell(
    of: Simulation | Callable[[float], Simulation],
    values: Sequence[float],
    over: str | None = None,
    *,
    count: int | None = None,
) -> Campbell:
    """Return the modes over the values of an input, each followed through all of them.

    Parameters
    ----------
    of : Simulation or callable
        A Simulation at rest, whose input ``over`` is varied, and whose equilibrium follows; or a function of the value
        that returns a Simulation in its steady motion, such as a rotor in its turn.
    values : sequence of float
        Values (k,) of the input.
    over : str, optional
        Name of the input; for a function, the label of the values.
    count : int, optional
        Number of the slowest modes, see ``modes``; all unless given.

    Returns
    -------
    Campbell
        Eigenvalues (k, branches) [1/s] over the values, with ``critical``, ``table`` and ``plot``.

    Raises
    ------
    InputError, UnknownNameError
        For wrong values or names, and the errors of ``equilibrium`` and ``modes``.

    Examples
    --------
    >>> diagram = rtmbs.campbell(rotor_at, np.linspace(0.0, 300.0, 31), "spin [rad/s]")
    >>> diagram.critical(order=1.0)
    """
    numbers = checked_values(values)
    if over is None and isinstance(of, Simulation):
        raise InputError(
            f"campbell of a Simulation needs over=, the name of an input; there are {', '.join(map(repr, of.inputs))}"
        )
    over = "value" if over is None else over
    state_at = of if callable(of) and not isinstance(of, Simulation) else rest_over(of, over)
    found = []
    for value in numbers:
        sim = state_at(float(value))
        if not isinstance(sim, Simulation):
            raise InputError(f"the function of {over} returned {shown(sim)} at {value:g}; it must return a Simulation")
        found.append(modes(sim, count))
    return Campbell(numbers, over, followed(found), tuple(found))


def checked_values(values: Any) -> Array:
    """Return the values (k,); raises InputError for other input."""
    try:
        numbers = np.array(values, np.float64).reshape(-1)
    except (TypeError, ValueError):
        raise InputError(f"values is {shown(values)}; it must be a list of numbers") from None
    if not len(numbers) or not np.all(np.isfinite(numbers)):
        raise InputError(f"values is {shown(values)}; it must be a list of finite numbers, one at least")
    return numbers


def rest_over(of: Any, over: str) -> Callable[[float], Simulation]:
    """Return the function from a value of an input to the mechanism at rest, started from the pose before."""
    if not isinstance(of, Simulation):
        raise wrong_argument("campbell", "a Simulation or a function that returns one", of)
    if over not in of.inputs:
        raise unknown_name("input", over, of.inputs)
    if np.any(np.abs(of.state.zd) > MOVING * of.system.typical):
        raise InputError(
            "the mechanism moves, and a change of an input does not say how its motion follows; give campbell a "
            "function of the value that returns a Simulation in its steady motion"
        )
    place = of.system.inputs[over]
    if place.stop - place.start > 1:
        raise InputError(
            f"input {over!r} has {place.stop - place.start} numbers, and a diagram goes over one; give campbell a "
            "function of the value that returns a Simulation at rest"
        )
    sim = copy(of)

    def at(value: float) -> Simulation:
        nonlocal sim
        store_of(sim).write_input(place, np.array([value], np.float64))  # a constraint is closed by the equilibrium
        sim = equilibrium(sim, stable=False).simulation
        return copy(sim)

    return at


def followed(found: Sequence[Modes]) -> Complex:
    """Return eigenvalues (k, j) with a column for every branch."""
    branches: list[tuple[complex, Complex]] = []  # the last eigenvalue and shape of each
    rows = []
    for one in found:
        row = {}
        likeness = np.array([[modal_assurance(shape, one.shapes[:, i]) for i in range(len(one.eigenvalues))]
                             for _, shape in branches]).reshape(len(branches), len(one.eigenvalues))  # fmt: skip
        away = np.array([[eigenvalue_distance(s, other) for other in one.eigenvalues] for s, _ in branches])
        cost = 1.0 - likeness + PACE * away.reshape(likeness.shape)
        old, new = linear_sum_assignment(cost)
        for branch, i in zip(old, new, strict=True):
            if likeness[branch, i] >= LIKE:
                row[int(branch)] = int(i)
        for i in sorted(set(range(len(one.eigenvalues))) - set(row.values())):
            branches.append((one.eigenvalues[i], one.shapes[:, i]))
            row[len(branches) - 1] = i
        for branch, i in row.items():
            branches[branch] = (one.eigenvalues[i], one.shapes[:, i])
        rows.append({branch: one.eigenvalues[i] for branch, i in row.items()})
    table = np.full((len(found), len(branches)), np.nan + 0j)
    for k, values in enumerate(rows):
        table[k, list(values)] = list(values.values())
    return table


def modal_assurance(a: Complex, b: Complex) -> float:
    """Return the modal assurance criterion of two shapes (n,), 0 to 1."""
    size = float(np.vdot(a, a).real * np.vdot(b, b).real)
    return float(abs(np.vdot(a, b)) ** 2 / size) if size > 0.0 else 0.0


def eigenvalue_distance(s: complex, other: complex) -> float:
    """Return the distance of two eigenvalues, relative to the larger."""
    size = max(abs(s), abs(other))
    return abs(s - other) / size if size > 0.0 else 0.0
