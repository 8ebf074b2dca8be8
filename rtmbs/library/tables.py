"""Tables for force laws: linear or monotone cubic, of one variable or two, with exact derivatives.

A table is called with numbers inside a law, and is recorded with it. Each knot costs a few operations, for no branch is
chosen: a part of the way to every knot is clipped to its interval, and all intervals are added.
"""

import math
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import ModelError, shown
from rtmbs.model.checks import Numbers, numbers, shape_of

Array = NDArray[np.float64]
KINDS, OUTSIDE = ("linear", "cubic"), ("straight", "hold")


class Axis:
    """Knots of one variable, and the functions of it that values and slopes at the knots are multiplied by."""

    def __init__(self, knots: Numbers, what: str, kind: str, outside: str) -> None:
        for name, value, known in (("kind", kind, KINDS), ("outside", outside, OUTSIDE)):
            if value not in known:
                raise ModelError(f"{what}: {name} is {shown(value)}; it must be one of {', '.join(known)}")
        size = math.prod(shape_of(knots, what, "it must be a list of numbers"))
        if size < 2:
            raise ModelError(f"{what} has {size} values; a table needs at least two")
        self.knots = numbers(knots, what, (size,))
        self.widths = np.diff(self.knots)
        if not np.all(self.widths > 0.0):
            k = int(np.argmin(self.widths > 0.0))
            late, early = self.knots[k + 1], self.knots[k]
            raise ModelError(f"{what}[{k + 1}] = {late:g} does not follow {early:g}; knots must increase")
        self.cubic, self.straight = kind == "cubic", outside == "straight"

    def shares(self, x: Any) -> list[Any]:
        """Return the share of each interval that lies below ``x``: 0 to 1, beyond at the ends of a straight table.

        Each interval holds its lower knot, so that the derivative at a knot is that of one side.
        """
        found, last = [], len(self.widths) - 1
        for k, width in enumerate(self.widths):
            share = (x - self.knots[k]) / width
            endless = self.straight and not self.cubic
            if not (endless and k == last):
                share = np.where(x < self.knots[k + 1], share, 1.0)
            if not (endless and k == 0):
                share = np.where(x >= self.knots[k], share, 0.0)
            found.append(share)
        return found

    def weights(self, x: Any) -> tuple[list[Any], list[Any]]:
        """Return the weights of values and of slopes at the knots; no slopes in a linear table.

        Cubic: Hermite's polynomials of the shares s, 3 s^2 - 2 s^3 for values, s - 2 s^2 + s^3 and s^3 - s^2 for
        slopes.
        """
        shares = self.shares(x)
        if not self.cubic:
            return differences(shares), []
        rise = [s * s * (3.0 - 2.0 * s) for s in shares]
        left = [width * s * (1.0 - s) * (1.0 - s) for s, width in zip(shares, self.widths, strict=True)]
        right = [width * s * s * (s - 1.0) for s, width in zip(shares, self.widths, strict=True)]
        slopes = [left[0], *(b + a for a, b in zip(left[1:], right[:-1], strict=True)), right[-1]]
        if self.straight:
            first, last = self.knots[0], self.knots[-1]
            slopes[0] = slopes[0] + np.where(x < first, x - first, 0.0)
            slopes[-1] = slopes[-1] + np.where(x >= last, x - last, 0.0)
        return differences(rise), slopes

    def slopes(self, values: Array) -> Array:
        """Return the slopes at the knots along the first axis of ``values`` that keep a cubic monotone (PCHIP)."""
        from scipy.interpolate import PchipInterpolator  # scipy costs 0.4 s, and few models have a table

        return np.asarray(PchipInterpolator(self.knots, values, axis=0).derivative()(self.knots))


def differences(rise: list[Any]) -> list[Any]:
    """Return weights at the knots from shares between 0 and 1 over each interval."""
    return [1.0 - rise[0], *(a - b for a, b in pairwise(rise)), rise[-1]]


def product(weights: list[Any], values: list[Any]) -> Any:
    """Return the sum of weights times values."""
    total = 0.0
    for weight, value in zip(weights, values, strict=True):
        total = total + weight * value
    return total


class Curve:
    """A table of one variable, called with a number: ``curve(x)``.

    Parameters
    ----------
    x : increasing knots (k,)
    values : (k,) at the knots
    kind : "linear", or "cubic": once differentiable, monotone where the values are (Fritsch and Carlson 1980)
    outside : "straight" goes on with the slope of the end, "hold" with its value

        curve = Curve((0.0, 0.01, 0.03), (0.0, 200.0, 900.0), "cubic")
        model.add_force("pad", lambda t, kinematics, parameters: -curve(kinematics.z), joint="slide")

    Raises ModelError naming what is wrong.
    """

    def __init__(self, x: Numbers, values: Numbers, kind: str = "linear", outside: str = "straight") -> None:
        self.axis = Axis(x, "curve: x", kind, outside)
        self.values = numbers(values, "curve: values", (len(self.axis.knots),))
        self.rises = self.axis.slopes(self.values) if self.axis.cubic else np.zeros(0)

    def __call__(self, x: Any) -> Any:
        """Return the value at ``x``, a number or a recorded one."""
        at_values, at_slopes = self.axis.weights(x)
        return product(at_values, list(self.values)) + product(at_slopes, list(self.rises))


class Surface:
    """A table of two variables, called with two numbers: ``surface(x, y)``.

    ``values`` (kx, ky) stand at the knots x and y. "linear" is bilinear. "cubic" is bicubic and once differentiable,
    with the slopes of monotone cubics along both directions: monotone along grid lines. Else as ``Curve``.

        damper = Surface(stroke, speed, forces, "cubic")  # force by length and speed
    """

    def __init__(
        self, x: Numbers, y: Numbers, values: Numbers, kind: str = "linear", outside: str = "straight"
    ) -> None:
        self.x, self.y = Axis(x, "surface: x", kind, outside), Axis(y, "surface: y", kind, outside)
        self.values = numbers(values, "surface: values", (len(self.x.knots), len(self.y.knots)))
        if self.x.cubic:
            self.along_x, self.along_y = self.x.slopes(self.values), self.y.slopes(self.values.T).T
            self.twist = self.y.slopes(self.along_x.T).T

    def __call__(self, x: Any, y: Any) -> Any:
        """Return the value at ``x``, ``y``, numbers or recorded ones."""
        (at_x, slope_x), (at_y, slope_y) = self.x.weights(x), self.y.weights(y)
        total = self.along(at_x, at_y, self.values)
        if self.x.cubic:
            total = total + self.along(slope_x, at_y, self.along_x) + self.along(at_x, slope_y, self.along_y)
            total = total + self.along(slope_x, slope_y, self.twist)
        return total

    def along(self, one: list[Any], other: list[Any], table: Array) -> Any:
        """Return the sum of all products of weights with the numbers of a table."""
        return product(one, [product(other, list(row)) for row in table])
