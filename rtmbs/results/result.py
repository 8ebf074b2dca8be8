"""``Result``: everything a run recorded, by name."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from inspect import unwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, unknown_name
from rtmbs.limits.names import Keyed, selected
from rtmbs.model.strict_attributes import StrictAttributes
from rtmbs.results.channel import Channel, Kept, Source

if TYPE_CHECKING:
    from rtmbs.system.system import System

Array = NDArray[np.float64]
TIME = "t"


class Result(Keyed, StrictAttributes):
    """Channels by name: ``result["crank.position"]`` is the array, ``result.channel("crank.position")`` knows its unit.

    ``names()`` lists them all. ``result["crank.*"]`` and ``result[["crank.angle", "crank.rate"]]`` are dicts.
    A channel is worked out when it is first asked for and kept. When two elements of a model claim one name, such as a
    body and a floating joint of the same name, each is listed with its kind in front: ``body:chassis.position`` and
    ``joint:chassis.position``.

    ``result[10:20]`` and ``result.between(0.5, 1.0)`` are Results of some samples, ``result.at(times)`` one of other
    times. A Result can be pickled; all channels are worked out for it.
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
    ) -> None:
        self._given = sources
        self._channels: dict[str, Channel] = {}
        self.name = name  # of the model
        self.fingerprint = fingerprint  # of the System
        self.outcomes = dict(outcomes or {})  # how many steps ended how, by the name of the Outcome
        self._warnings = warnings
        self.system = system  # of the run, for a viewer; None for a result of a file and for a pickled one

    @classmethod
    def _own_names(cls) -> set[str]:
        """Return the names that constructors write."""
        makers = [unwrap(vars(base)["__init__"]) for base in cls.__mro__ if "__init__" in vars(base)]
        return {name for maker in makers if hasattr(maker, "__code__") for name in maker.__code__.co_names}

    @cached_property
    def warnings(self) -> dict[str, int]:
        """How many steps needed help, and how many samples ring, by what there is to say; worked out when asked for."""
        return dict((self._warnings() if callable(self._warnings) else self._warnings) or {})

    @cached_property
    def _sources(self) -> dict[str, Source]:
        """Every channel by name; a function that lists them is asked when somebody wants a channel."""
        return dict(self._given() if callable(self._given) else self._given)

    def names(self) -> list[str]:
        """Return the names of all channels."""
        return list(self._sources)

    def keys(self) -> list[str]:
        """Return what ``names`` does: a Result is a mapping of names to arrays, ``dict(result)``."""
        return self.names()

    def channel(self, name: str) -> Channel:
        """Return a channel with its axes and unit; UnknownNameError lists the nearest names."""
        if not (isinstance(name, str) and name in self._channels):
            self._channels[name] = self.read(name)
        return self._channels[name]

    def about(self, name: str) -> tuple[tuple[str, ...], str]:
        """Return axes and unit of a channel without working it out."""
        source = self._source(name)
        return source.axes, source.unit

    def frame(self, name: str) -> str:
        """Return whose axes the components of a channel are taken in, without working it out."""
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
            from rtmbs.results.selection import parsed  # selections build Results

            return parsed(self, name)
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
        from rtmbs.results.selection import between

        return between(self, start, end)

    def at(self, times: Sequence[float] | Array, kind: str = "linear") -> "Result":
        """Return the values at other times (k,) [s], between samples on straight lines or cubic splines.

        ``kind`` is "linear", which never overshoots, or "cubic", of order four for smooth channels and not to be used
        across jumps (METHODS 1.39). Orientations are normalised. Raises InputError for times outside of the record, for
        nothing is extrapolated.

            slow = result.at(np.arange(0.0, 1.0, 0.01))
        """
        from rtmbs.results.selection import at_times

        return at_times(self, times, kind)

    def plot(self, *names: str, file: str | Path | None = None) -> Any:
        """Draw channels or components over time, one panel a unit; return the figure of matplotlib (extra ``plot``).

        ``file`` writes the picture as well (.png, .pdf, .svg). Raises UnknownNameError for a channel that does not
        exist, and InputError without a name, for a file that cannot be written and where matplotlib is missing.

            result.plot("crank.angle", "block.velocity", "block.x")
        """
        from rtmbs.results.plotting import plot

        return plot(self, names, file)

    def to_pandas(self, *names: str) -> Any:
        """Return channels or components, all without a name, as a pandas DataFrame (extra ``tables``).

        The index is the time [s], a column is one component such as "block.velocity[x]", and ``attrs["units"]`` has the
        units by column. Raises UnknownNameError, and InputError where pandas is missing.
        """
        from rtmbs.results.frames import to_pandas

        return to_pandas(self, names)

    def to_xarray(self, *names: str) -> Any:
        """Return channels or components, all without a name, as an xarray Dataset (extra ``tables``).

        Dimensions are ``t`` and, by kind of channel, ``xyz``, ``wrench``, ``quaternion`` or one of the channel's own.
        ``attrs["units"]`` of a variable is its unit. Raises UnknownNameError, and InputError where xarray is missing.
        """
        from rtmbs.results.frames import to_xarray

        return to_xarray(self, names)

    def save(self, path: str | Path) -> None:
        """Write every channel with axes and unit, in the form that the name ends in; ``rtmbs.load_result`` reads it.

        ``.h5`` or ``.hdf5`` is HDF5 (extra ``hdf5``), ``.parquet`` a Parquet table (extra ``tables``), ``.csv`` a table
        for other programs, which is not read again, and ``.npz``, or no ending, an ``npz`` file without pickle.
        Raises InputError for a form that does not exist, WriteError for a full disk or a missing folder.
        """
        from rtmbs.results.forms import save  # those files build Results

        save(self, path)

    def __getstate__(self) -> dict[str, Any]:
        """Return all channels, worked out, for pickle."""
        state = {key: value for key, value in vars(self).items() if key not in ("_sources", "_given", "_warnings")}
        channels = {name: (source, Kept(self.read(name).values)) for name, source in self._sources.items()}
        state["_given"] = {name: Source(old.axes, old.unit, new, old.frame) for name, (old, new) in channels.items()}
        return {**state, "_channels": {}, "_warnings": self.warnings, "system": None}

    def __repr__(self) -> str:
        doubtful = [f"{count} steps {name}" for name, count in self.outcomes.items() if name != "CONVERGED" and count]
        words = [f"{len(self)} samples of {len(self._sources)} channels", *doubtful]
        words += [f"warning: {warning} ({count} times)" for warning, count in self.warnings.items() if count]
        return f"Result({self.name!r}, {'; '.join(words)})"

    def _repr_html_(self) -> str:
        """Return a summary for notebooks: the run, and every channel with axes and unit below its element."""
        from rtmbs.results.notebook import result_html

        return result_html(self)
