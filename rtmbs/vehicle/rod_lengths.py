"""Lengths of rods that the user of a car gave, in place of those at design."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from rtmbs.model import Rod
from rtmbs.model.body import reference_distance

Car = Any  # rtmbs.vehicle.Car, which this file serves
AS_DESIGNED = 1e-9  # relative difference of lengths


def changed_rods(car: Car) -> Iterator[tuple[str, Rod]]:
    """Yield the rods that are not as long as their ends are apart at design."""
    for name, rod in car.rods.items():
        apart = reference_distance(*rod.between)
        if abs(rod.length - apart) > AS_DESIGNED * apart:
            yield name, rod


def keep_rods(car: Car, other: Car) -> Car:
    """Give another car of the same data the lengths of rods that the user changed, and return it."""
    for name, rod in changed_rods(car):
        if name in other.rods:
            other.rods[name] = replace(other.rods[name], length=rod.length)
    return other
