"""``Result``: the channels of a run, an analysis or a file, by name."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from inspect import unwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, unknown_name, with_count
from rtmbs.limits.names import Keyed, selected
from rtmbs.model.strict_attributes import StrictAttributes
from rtmbs.results import file_formats, selection
from rtmbs.results.channel import TIME, Channel, Source, StoredValues
from rtmbs.results.exports import plot, result_html, to_pandas, to_xarray

if TYPE_CHECKING:
    from rtmbs.system.system import System

Array = NDArray[np.float64]
ATTRIBUTES = {"lam": "lambda"}  # names of channels that Python does not take as attributes


class Result(Keyed, StrictAttributes):
    """Channels by name: ``result["crank.position"]`` is the array, ``result.channel("crank.position")`` knows its unit.

    Runs of a Simulation, ``rtmbs.dae.integrate``, kinematic analyses, the recursion and files all give a Result.

    ``names()`` lists the channels. ``result["crank.*"]`` and ``result[["crank.angle", "crank.rate"]]`` are dicts.
    A channel is evaluated at its first use and kept. When two elements of a model claim one name, such as a
    body and a floating joint of the same name, each is listed with its kind in front: ``body:chassis.position`` and
    ``joint:chassis.position``.

    ``result[10:20]`` and ``result.between(0.5, 1.0)`` are Results of some samples, ``result.at(times)`` one of other
    times. A Result can be pickled; all channels are evaluated for it.

    ``report`` holds what the method or analysis says of its work, such as counts and wall time, and is None where there
    is none; its ``summary()`` stands in the repr. Its attributes and channels of one word are attributes of the Result
    too: ``result.counts`` and ``result.q``.
    """

    _remedy = "; result.to_pandas() and result.to_xarray() give tables that columns can be added to"

    def __init__(
        self,
        sources: Mapping[str, Source] | Callable[[], Mapping[str, Source]],
        name: str = "",
        fingerprint: str = "",
        outcomes: Mapping[str, int] | None = None,
        warnings: Callable[[], Mapping[str, int]] | Mapping[str, int] | None = None,
        system: "System | None" = None,
        report: Any = None,
    ) -> None:
        self._given = sources
        self._channels: dict[str, Channel] = {}
        self.name = name  # of the model
        self.fingerprint = fingerprint  # of the System
        self.outcomes = dict(outcomes or {})  # number of steps by the name of their Outcome
        self._warnings = warnings
        self.system = system  # of the run, for a viewer; None for a result of a file and for a pickled one
        self.report = report  # of the method or analysis; None for a result of a file, and for some samples of another

    @classmethod
    def _own_names(cls) -> set[str]:
        """Return the names that constructors write."""
        makers = [unwrap(vars(base)["__init__"]) for base in cls.__mro__ if "__init__" in vars(base)]
        return {name for maker in makers if hasattr(maker, "__code__") for name in maker.__code__.co_names}

    @cached_property
    def warnings(self) -> dict[str, int]:
        """Number of steps or samples by warning, such as samples that ring; evaluated at the first use."""
        return dict((self._warnings() if callable(self._warnings) else self._warnings) or {})

    @cached_property
    def _sources(self) -> dict[str, Source]:
        """Every channel by name; a function that lists them is called at the first use."""
        return dict(self._given() if callable(self._given) else self._given)

    def names(self) -> list[str]:
        """Return the names of all channels."""
        return list(self._sources)

    def keys(self) -> list[str]:
        """Return the names of all channels, as ``dict(result)`` calls for them."""
        return self.names()

    def channel(self, name: str) -> Channel:
        """Return a channel with its axes and unit; UnknownNameError lists the nearest names."""
        if not (isinstance(name, str) and name in self._channels):
            self._channels[name] = self.read(name)
        return self._channels[name]

    def about(self, name: str) -> tuple[tuple[str, ...], str]:
        """Return axes and unit of a channel without evaluating it."""
        source = self._source(name)
        return source.axes, source.unit

    def frame(self, name: str) -> str:
        """Return the frame of a channel: world, or the body whose axes its components are taken in."""
        return self._source(name).frame

    def read(self, name: str) -> Channel:
        """Return a channel without keeping it."""
        return self._source(name).channel(name)

    def _source(self, name: str) -> Source:
        if not (isinstance(name, str) and name in self._sources):
            raise unknown_name("channel", name, self._sources)
        return self._sources[name]

    @overload
    def __getitem__(self, name: str) -> Any: ...
    @overload
    def __getitem__(self, name: list[str] | tuple[str, ...]) -> dict[str, Array]: ...
    @overload
    def __getitem__(self, name: slice) -> "Result": ...

    def __getitem__(self, name: Any) -> Any:
        """Return the values of a channel, of several by name, or the samples of a slice as a Result: ``result[::10]``.

        A pattern of ``fnmatch`` and a list of names and patterns give a dict of name and array.

            result["crank.*"], result[["crank.angle", "*.energy"]]

        Raises UnknownNameError for a name that does not exist and for a pattern without a match.
        """
        if isinstance(name, slice):
            return self._with(selection.slice_of(self, name))
        if isinstance(name, int | np.integer):
            rows = f"{name}:" if name == -1 else f"{name}:{name + 1}"
            raise InputError(
                f"a Result takes the name of a channel or a slice, not {name}; result['NAME'][{name}] is a value, and "
                f"result[{rows}] a Result of one sample"
            )
        if (several := selected("channel", name, self._sources)) is not None:
            return {one: self.channel(one).values for one in several}
        return self.channel(name).values

    def __contains__(self, name: object) -> bool:
        return name in self._sources

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources)

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.t)

    @property
    def t(self) -> Array:
        """Times of the samples (samples,) [s]."""
        return self[TIME]

    def between(self, start: float, end: float) -> "Result":
        """Return the samples from ``start`` to ``end`` [s], both included; InputError when there is none.

        settled = result.between(2.0, 3.0)
        """
        return self._with(selection.between(self, start, end))

    def at(self, times: Sequence[float] | Array, kind: str = "linear") -> "Result":
        """Return the values at other times (k,) [s], between samples on straight lines or cubic splines.

        ``kind`` is "linear", which never overshoots, or "cubic", of order four for smooth channels and not to be used
        across jumps (METHODS 1.39). Orientations are normalised. Raises InputError for times outside of the record, for
        nothing is extrapolated.

            slow = result.at(np.arange(0.0, 1.0, 0.01))
        """
        return self._with(selection.at_times(self, times, kind))

    def _with(self, sources: Callable[[], Mapping[str, Source]]) -> "Result":
        """Return a Result of these channels and the head of this one."""
        return Result(sources, self.name, self.fingerprint, self.outcomes, lambda: self.warnings, self.system)

    def plot(self, *names: str, file: str | Path | None = None) -> Any:
        """Draw channels or components over time, one panel a unit; return the figure of matplotlib (extra ``plot``).

        ``file`` writes the picture as well (.png, .pdf, .svg). Raises UnknownNameError for a channel that does not
        exist, and InputError without a name, for a file that cannot be written and where matplotlib is missing.

            result.plot("crank.angle", "block.velocity", "block.x")
        """
        return plot(self, names, file)

    def to_pandas(self, *names: str) -> Any:
        """Return channels or components, all without a name, as a pandas DataFrame (extra ``tables``).

        The index is the time [s], a column is one component such as "block.velocity[x]", and ``attrs["units"]`` has the
        units by column. Raises UnknownNameError, and InputError where pandas is missing.
        """
        return to_pandas(self, names)

    def to_xarray(self, *names: str) -> Any:
        """Return channels or components, all without a name, as an xarray Dataset (extra ``tables``).

        Dimensions are ``t`` and, by kind of channel, ``xyz``, ``wrench``, ``quaternion`` or one of the channel's own.
        ``attrs["units"]`` of a variable is its unit. Raises UnknownNameError, and InputError where xarray is missing.
        """
        return to_xarray(self, names)

    def save(self, path: str | Path) -> None:
        """Write every channel with axes and unit, in the format that the name ends in; ``rtmbs.load_result`` reads it.

        ``.h5`` or ``.hdf5`` is HDF5 (extra ``hdf5``), ``.parquet`` a Parquet table (extra ``tables``), ``.csv`` a table
        for other programs, which is not read again, and ``.npz``, or no ending, an ``npz`` file without pickle.
        Raises InputError for a form that does not exist, WriteError for a full disk or a missing folder.
        """
        file_formats.save(self, path)

    def __getstate__(self) -> dict[str, Any]:
        """Return all channels, evaluated, for pickle."""
        state = {key: value for key, value in vars(self).items() if key not in ("_sources", "_given", "_warnings")}
        channels = {name: (source, StoredValues(self.read(name).values)) for name, source in self._sources.items()}
        state["_given"] = {name: Source(old.axes, old.unit, new, old.frame) for name, (old, new) in channels.items()}
        return {**state, "_channels": {}, "_warnings": self.warnings, "system": None, "report": None}

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Return an attribute of the report, or a channel of one word; AttributeError for any other name."""
            if not name.startswith("_"):
                report = self.__dict__.get("report")
                if report is not None and hasattr(report, name):
                    return getattr(report, name)
                channel = ATTRIBUTES.get(name, name)
                if "_given" in self.__dict__ and channel in self._sources:
                    return self[channel]
            raise AttributeError(f"a {type(self).__name__} has no attribute {name!r}", name=name, obj=self)

    def __repr__(self) -> str:
        said = [self.report.summary()] if self.report is not None else []
        doubtful = [
            f"{with_count(count, 'step')} {name}"
            for name, count in self.outcomes.items()
            if name != "CONVERGED" and count
        ]
        sizes = f"{with_count(len(self), 'sample')} of {with_count(len(self._sources), 'channel')}"
        words = [sizes, *said, *doubtful]
        words += [
            f"warning: {warning} ({with_count(count, 'time')})" for warning, count in self.warnings.items() if count
        ]
        return f"Result({self.name!r}, {'; '.join(words)})"

    def _repr_html_(self) -> str:
        """Return a summary for notebooks: the run, and every channel with axes and unit below its element."""
        return result_html(self)


def load_result(path: str | Path) -> Result:
    """Read a result file; it answers by name as the Result that wrote it, and needs no System.

    Raises ResultError naming the file, and the entry where there is one, when it does not exist, is truncated, changed
    by a byte, no result file or of another format.
    """
    contents = file_formats.load(path)
    return Result(contents.sources, contents.name, contents.fingerprint, contents.outcomes, contents.warnings)
