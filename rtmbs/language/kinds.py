"""The register of statements. To add one: write a function with the decorator ``statement`` (docs/extending.md)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rtmbs.language.given import Given

if TYPE_CHECKING:
    from rtmbs.language.build import Build

# in this order
STAGES = ("constant", "system", "body", "triad", "joint", "rod", "coupler", "force", "driver", "initial")


@dataclass(frozen=True)
class Kind:
    """A kind of statement."""

    title: str  # its words in small letters
    stage: str  # when it is read: a body before the triads that it carries
    act: Callable[["Build", Given], None]
    keys: tuple[str, ...] = ()  # what it takes, each once
    repeated: tuple[str, ...] = ()  # what it takes several times
    flags: tuple[str, ...] = ()  # what stands there without a value
    named: bool = True  # a name follows its words
    free: bool = False  # its arguments are not keys


KINDS: dict[str, Kind] = {}


def statement(
    title: str,
    stage: str,
    *,
    keys: tuple[str, ...] = (),
    repeated: tuple[str, ...] = (),
    flags: tuple[str, ...] = (),
    named: bool = True,
    free: bool = False,
) -> Callable[[Callable[["Build", Given], None]], Callable[["Build", Given], None]]:
    """Register what a statement does; its first argument is what is being built, the second what the user gave."""

    def register(act: Callable[["Build", Given], None]) -> Callable[["Build", Given], None]:
        KINDS[title] = Kind(title, stage, act, keys, repeated, flags, named, free)
        return act

    return register
