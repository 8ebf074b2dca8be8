"""Couplers: linear relations of joint coordinates, such as gears, racks, screws and differentials."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rtmbs.errors import ModelError, shown
from rtmbs.model.checks import number
from rtmbs.model.joint import Joint
from rtmbs.model.profiles import Profile, checked_profile

LARGEST_SPREAD = 1e9  # of the largest factor over the smallest: beyond that one coordinate is lost in rounding


@dataclass(frozen=True, eq=False)
class Coupler:
    """One equation: the sum of factor times coordinate is ``offset``, a number or a function of time."""

    name: str
    kind: str  # coupler, gear, rack and pinion, screw, differential
    terms: tuple[tuple[Joint, int, float], ...]  # joint, number of its coordinate, factor
    offset: float | Profile
    number: float  # what the user gave: ratio, radius [m] or pitch [m a turn]; 0 for a coupler, which has several

    @property
    def coordinates(self) -> tuple[str, ...]:
        """The coordinates by name, in the order of the terms."""
        return tuple(f"{joint.name}.{joint.type.coordinates[k]}" for joint, k, _ in self.terms)

    @property
    def factors(self) -> tuple[float, ...]:
        return tuple(factor for _, _, factor in self.terms)

    @property
    def units(self) -> tuple[str, ...]:
        """The units of the coordinates, rad or m."""
        return tuple(joint.type.units()[k] for joint, k, _ in self.terms)


def make_coupler(
    name: str, kind: str, terms: list[tuple[tuple[Joint, int], Any]], offset: Any, factor: str, given: float
) -> Coupler:
    """Return a checked coupler; ``factor`` says what the user calls the numbers, ``given`` is the one given."""
    what = f"{kind} {name!r}"
    found: list[tuple[Joint, int, float]] = []
    for (joint, k), wanted in terms:
        coordinate = f"{joint.name}.{joint.type.coordinates[k]}"
        value = number(wanted, f"{what}: {factor} of {coordinate}")
        if value == 0.0:
            raise ModelError(f"{what}: {factor} of {coordinate} is zero, which couples nothing; give another number")
        if any(other is joint and l == k for other, l, _ in found):
            raise ModelError(f"{what}: names {coordinate} twice; give every coordinate once")
        found.append((joint, k, value))
    if len(found) < 2:
        raise ModelError(f"{what}: couples {len(found)} coordinate; it takes two or more (one alone takes a driver)")
    sizes = np.abs([value for *_, value in found])
    if not sizes.max() <= LARGEST_SPREAD * sizes.min():
        raise ModelError(
            f"{what}: {factor}s from {sizes.min():g} to {sizes.max():g} are more than {LARGEST_SPREAD:g} apart; "
            "the smallest would couple nothing"
        )
    known = checked_profile(offset, what) if callable(offset) else number(offset, f"{what}: offset")
    return Coupler(name, kind, tuple(found), known, given)


def ratios_given(what: str, ratios: Any) -> list[tuple[Any, Any]]:
    """Return the pairs of coordinates and ratios, from a dictionary or as they are."""
    pairs = list(ratios.items()) if isinstance(ratios, Mapping) else ratios
    if not isinstance(pairs, list | tuple) or not all(
        isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs
    ):
        raise ModelError(
            f"{what}: ratios is {shown(ratios)}; it must be a dictionary of coordinates and numbers, "
            "such as {'crank': 1.0, 'wheel': -2.0}"
        )
    return list(pairs)
