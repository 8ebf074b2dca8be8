"""All channels of a run by name, each worked out when it is asked for."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from rtmbs.results.body_channels import body_sources, marker_sources
from rtmbs.results.channel import Source
from rtmbs.results.force_channels import (
    coupler_sources,
    driver_sources,
    energy_sources,
    force_sources,
    reaction_sources,
    state_sources,
    violation_sources,
)
from rtmbs.results.joint_channels import joint_sources
from rtmbs.results.momentum_channels import momentum_sources
from rtmbs.results.resampled import Resampled
from rtmbs.results.result import TIME, Result
from rtmbs.results.samples import Samples
from rtmbs.system.system import System
from rtmbs.system.tables import Tables

Named = tuple[str, Source]
PARTS = (  # kind of element that asks for the names, and what it offers
    ("body", body_sources),
    ("marker", marker_sources),
    ("joint", joint_sources),
    ("joint", reaction_sources),
    ("joint", violation_sources),
    ("driver", driver_sources),
    ("coupler", coupler_sources),
    ("force", force_sources),
    ("force", state_sources),
    ("energy", energy_sources),
    ("momentum", momentum_sources),
)


class Entry(NamedTuple):
    """A channel on offer."""

    kind: str
    name: str
    source: Source


def run_result(
    system: System,
    tables: Tables,
    samples: Samples,
    outcomes: Mapping[str, int],
    warnings: Callable[[], Mapping[str, int]] | None = None,
    drivers_given: bool = False,
) -> Result:
    """Return the Result of recorded samples; ``tables`` are those of the simulation, which may have measured assembly
    offsets. ``drivers_given``: joints do not share with drivers.
    """
    resampled = Resampled(system, tables, samples)
    resampled.drivers_given = drivers_given
    return Result(lambda: sources(system, resampled), system.name, system.fingerprint, outcomes, warnings, system)


def sources(system: System, resampled: Resampled) -> dict[str, Source]:
    """Return all channels by name. A name that two kinds of element ask for goes to neither: ``kind:name`` for each."""
    return {name: entry.source for name, entry in named(offered(system, resampled)).items()}


def named(offers: Iterable[Entry]) -> dict[str, Entry]:
    """Return channels on offer by the name that each gets."""
    entries = list(offers)
    kinds: dict[str, set[str]] = {}
    for kind, name, _ in entries:
        kinds.setdefault(name, set()).add(kind)
    return {(e.name if len(kinds[e.name]) == 1 else f"{e.kind}:{e.name}"): e for e in entries}


def offered(system: System, resampled: Resampled) -> Iterator[Entry]:
    """Yield every channel of a System."""
    yield Entry("time", TIME, Source((), "s", lambda: resampled.samples.t))
    for kind, part in PARTS:
        for name, source in part(system, resampled):
            yield Entry(kind, name, source)
