"""A campaign, and the tally that it returns; each module of this folder that defines ``CAMPAIGN`` is found."""

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass, field

from rtmbs.errors import RtmbsError

SHOWN = 8  # failed cases that a tally keeps word for word


@dataclass
class Tally:
    """What became of the cases: every one of them is tried once and survives, or has its reason kept."""

    tried: int = 0
    survived: int = 0
    worst: dict[str, float] = field(default_factory=dict)  # largest value of each quantity, over all cases
    failures: list[str] = field(default_factory=list)  # the first ones, one sentence each, seed included

    def survive(self) -> None:
        """Count a case that held."""
        self.tried, self.survived = self.tried + 1, self.survived + 1

    def fail(self, case: str) -> None:
        """Count a case that did not hold; ``case`` names its seed and what was wrong."""
        self.tried += 1
        if len(self.failures) < SHOWN:
            self.failures.append(case)

    def largest(self, name: str, value: float) -> None:
        """Keep the largest value of a quantity; a value that is not a number counts as infinite."""
        known = self.worst.get(name, float("-inf"))
        self.worst[name] = max(known, value) if value == value else float("inf")


def each(judged: Callable[[int, Tally], str], cases: int, seed: int) -> Tally:
    """Try ``cases`` seeds from ``seed`` on; ``judged`` returns what is wrong with one, or nothing."""
    tally = Tally()
    for case in range(seed, seed + cases):
        try:
            wrong = judged(case, tally)
        except RtmbsError as error:
            wrong = f"{type(error).__name__}: {error}"
        if wrong:
            tally.fail(f"seed {case}: {wrong}")
        else:
            tally.survive()
    return tally


@dataclass(frozen=True)
class Campaign:
    """A claim and how to try it."""

    name: str
    claim: str  # one sentence: what holds in every case
    full: int  # cases by hand
    bounded: int  # cases in ``.ci/slow``
    run: Callable[[int, int], Tally]  # of the number of cases and the first seed
    allowed: float = 0.0  # share of cases that may fail
    needs: tuple[str, ...] = ()  # packages of extras, by the names that are imported


def campaigns() -> list[Campaign]:
    """Return every campaign of this folder, by name."""
    package = importlib.import_module("bench.campaigns")
    found = []
    for info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"bench.campaigns.{info.name}")
        if isinstance(campaign := getattr(module, "CAMPAIGN", None), Campaign):
            found.append(campaign)
    return sorted(found, key=lambda campaign: campaign.name)


def held(campaign: Campaign, tally: Tally) -> bool:
    """True when the claim held in as many cases as it must."""
    return tally.tried - tally.survived <= campaign.allowed * tally.tried
