"""Catalogue of the channels of a run by name; each is evaluated at its first use."""

from collections.abc import Callable, Iterator, Mapping

from rtmbs.errors import warn, with_count
from rtmbs.results.channel import TIME, Entry, Source, resolve_names
from rtmbs.results.force_channels import (
    contact_sources,
    coupler_sources,
    driver_sources,
    energy_sources,
    force_sources,
    reaction_sources,
    rigid_sources,
    state_sources,
    violation_sources,
)
from rtmbs.results.motion_channels import body_sources, joint_sources, marker_sources, momentum_sources
from rtmbs.results.result import Result
from rtmbs.results.samples import Evaluation, Samples
from rtmbs.system.system import System
from rtmbs.system.tables import Tables

PARTS = (  # kind of element that asks for the names, and what it offers
    ("body", body_sources),
    ("marker", marker_sources),
    ("joint", joint_sources),
    ("joint", reaction_sources),
    ("joint", violation_sources),
    ("joint", contact_sources),
    ("joint", rigid_sources),
    ("driver", driver_sources),
    ("coupler", coupler_sources),
    ("force", force_sources),
    ("force", state_sources),
    ("energy", energy_sources),
    ("momentum", momentum_sources),
)


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
    resampled = Evaluation(system, tables, samples)
    resampled.drivers_given = drivers_given

    def warned() -> Mapping[str, int]:
        """Return the warnings, each a Python warning too."""
        found = {} if warnings is None else warnings()
        for text, count in found.items():
            warn(f"{text} ({with_count(count, 'time')})")
        return found

    return Result(lambda: sources(system, resampled), system.name, system.fingerprint, outcomes, warned, system)


def sources(system: System, resampled: Evaluation) -> dict[str, Source]:
    """Return all channels by name. A name that two kinds of element ask for goes to neither: ``kind:name`` for each."""
    return {name: entry.source for name, entry in resolve_names(offered(system, resampled)).items()}


def offered(system: System, resampled: Evaluation) -> Iterator[Entry]:
    """Yield every channel of a System."""
    yield Entry("time", TIME, Source((), "s", lambda: resampled.samples.t))
    for kind, part in PARTS:
        for name, source in part(system, resampled):
            yield Entry(kind, name, source)
