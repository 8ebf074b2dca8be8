"""``Result``: the channels of a run, an analysis or a file, by name, and selections of its samples.

``Result``: the channels of a run, an analysis or a file, by name.

Parts of a result: some samples, a span of time, values between samples (METHODS 1.39).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from importlib import import_module  # for the viewer, which stands above
from inspect import unwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from rtmbs.core.names import Keyed, StrictAttributes, selected
from rtmbs.errors import InputError, shown, unknown_name, with_count
from rtmbs.results import file_formats
from rtmbs.results.channel import QUATERNION, TIME, Channel, Record, Source, StoredValues
from rtmbs.results.figure import Look, plot
from rtmbs.results.tables import result_html, to_pandas, to_xarray

if TYPE_CHECKING:
    from rtmbs.system.system import System

Array = NDArray[np.float64]
KINDS = ("linear", "cubic")
Sources = Callable[[], Mapping[str, Source]]
FLAG = "_doubtful"  # how the names of channels end that are 0 or 1


def rows_of(record: Record, rows: slice) -> Sources:
    """Return the samples that a slice means."""
    if not len(range(*rows.indices(len(record)))):
        raise InputError(f"samples {shown(rows)} of {len(record)} are none; give a slice that holds one at least")
    return derived(record, lambda name: record.read(name).values[rows])


def between(record: Record, start: float, end: float) -> Sources:
    """Return the samples from ``start`` to ``end`` [s], both included."""
    for bound in (start, end):
        if not (isinstance(bound, int | float | np.floating) and np.isfinite(bound)):
            raise InputError(f"between takes two times in seconds; {shown(bound)} is none")
    first, last = np.searchsorted(record.t, start), np.searchsorted(record.t, end, side="right")
    if first >= last:
        raise InputError(
            f"no sample lies between t = {start:g} s and t = {end:g} s; the result goes from {span(record)}"
        )
    return rows_of(record, slice(int(first), int(last)))


def at_times(record: Record, times: Sequence[float] | Array, kind: str) -> Sources:
    """Return the values at ``times`` (k,) [s]."""
    if kind not in KINDS:
        raise InputError(f"kind is {shown(kind)}; it must be one of {', '.join(map(repr, KINDS))}")
    try:
        t = np.array(times, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"times is {shown(times)}; it must be a list of times in seconds") from None
    if t.ndim != 1 or not len(t) or not np.all(np.isfinite(t)) or np.any(np.diff(t) <= 0.0):
        raise InputError(f"times is {shown(times)}; they must be finite and ascend")
    if t[0] < record.t[0] or t[-1] > record.t[-1]:
        raise InputError(
            f"times go from {t[0]:g} s to {t[-1]:g} s, and the result from {span(record)}; nothing is extrapolated"
        )
    if len(record) < 2:
        return rows_of(record, slice(None))
    return derived(record, partial(interpolated, record, t, kind))


def interpolated(record: Record, t: Array, kind: str, name: str) -> Array:
    """Return a channel at times ``t`` (k,); a sample that is met keeps its bytes."""
    if name == TIME:
        return t
    channel, known = record.read(name), record.t
    right = np.clip(np.searchsorted(known, t), 1, len(known) - 1)
    met = np.where(known[right - 1] == t, right - 1, np.where(known[right] == t, right, -1))
    if name.endswith(FLAG):  # doubtful between samples when one of them is
        before, behind = (channel.values[k].astype(np.int64) for k in (right - 1, right))
        values = (before | behind).astype(np.float64)
    elif kind == "cubic" and len(known) > 3:
        values = cubic(known, channel.values, t)
    else:
        share = ((t - known[right - 1]) / (known[right] - known[right - 1])).reshape(-1, *(1,) * len(channel.axes[:1]))
        values = (1.0 - share) * channel.values[right - 1] + share * channel.values[right]
    if channel.axes == QUATERNION:
        values = values / np.linalg.norm(values, axis=1, keepdims=True)
    values[met >= 0] = channel.values[met[met >= 0]]
    return values


def cubic(known: Array, values: Array, t: Array) -> Array:
    """Return the cubic spline through samples at times ``t``."""
    from scipy.interpolate import CubicSpline

    return np.array(CubicSpline(known, values)(t), np.float64)


def derived(record: Record, values: Callable[[str], Array]) -> Sources:
    """Return a function that lists the channels of a record, with values that a function of the name gives."""

    def sources() -> dict[str, Source]:
        found = {}
        for name in record.names():
            axes, unit = record.about(name)
            found[name] = Source(axes, unit, partial(values, name), record.frame(name))
        return found

    return sources


def span(record: Record) -> str:
    """Return the first and the last time in words."""
    return f"{record.t[0]:g} s to {record.t[-1]:g} s"


def slice_of(record: Record, key: Any) -> Sources:
    """Return the samples of a slice in brackets: whole numbers count samples."""
    bounds = (key.start, key.stop, key.step)
    if not all(bound is None or isinstance(bound, int | np.integer) for bound in bounds):
        raise InputError(
            f"{shown(key)} is no slice of samples; whole numbers count samples, and result.between(0.5, 1.0) takes "
            "times in seconds"
        )
    if key.step is not None and key.step <= 0:
        raise InputError(f"{shown(key)} goes backwards; time must ascend, so the step must be positive")
    return rows_of(record, key)


ATTRIBUTES = {"lam": "lambda"}  # names of channels that Python does not take as attributes


class Result(Keyed, StrictAttributes):
    """Channels by name: ``result["crank.position"]`` is the array, ``result.channel("crank.position")`` knows its unit.

    Runs of a Simulation, ``rtmbs.dae.integrate``, kinematic analyses, the recursion and files all give a Result.

    ``events`` are those of a run with ``when``, in their order, each with its time ``t`` and its ``event``; none of
    other results. ``impacts`` are those of rigid contacts: time, contacts, normal impulses and loss of energy.

    ``names()`` lists the channels. ``result["crank.*"]`` and ``result[["crank.angle", "crank.rate"]]`` are dicts. A
    channel is evaluated at its first use and kept. Two elements of a model may have one name, such as a body and a
    floating joint. Each of their channels is then listed with its kind in front: ``body:chassis.position`` and
    ``joint:chassis.position``.

    ``result[10:20]`` and ``result.between(0.5, 1.0)`` are Results of some samples. ``result.at(times)`` is a Result at
    other times. A Result can be pickled; all channels are evaluated for it.

    Attributes of the report and channels of one word are attributes of the Result too: ``result.counts`` and
    ``result.q``. The ``summary()`` of the report stands in the repr.

    Parameters
    ----------
    sources : Mapping[str, Source] or callable
        Axes, unit and values of every channel by name, or a function without arguments that returns them.
    name : str, default ""
        Name of the model.
    fingerprint : str, default ""
        Fingerprint of the System.
    outcomes : Mapping[str, int], optional
        Number of steps by the name of their Outcome.
    warnings : Mapping[str, int] or callable, optional
        Number of steps or samples by warning, or a function without arguments that returns them.
    system : System, optional
        System of the run, for a viewer. It is None for a result of a file and for a pickled one.
    report : object, optional
        Report of the method or analysis, with counts and wall time. It is None for a result of a file, for a pickled
        one and for samples of another result.

    Examples
    --------
    >>> model = rtmbs.library.build("pendulum")
    >>> result = rtmbs.Simulation(model.compile(), h=1e-3).run(0.1)
    >>> result["bob.position"].shape, result.channel("bob.position").unit
    ((101, 3), 'm')
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
        self.events: tuple[Any, ...] = ()  # Occurrences of a run with ``when``, in their order
        self.impacts: tuple[Any, ...] = ()  # Impacts of rigid contacts, in their order

    @classmethod
    def _own_names(cls) -> set[str]:
        """Return the names that constructors write."""
        makers = [unwrap(vars(base)["__init__"]) for base in cls.__mro__ if "__init__" in vars(base)]
        return {name for maker in makers if hasattr(maker, "__code__") for name in maker.__code__.co_names}

    @cached_property
    def warnings(self) -> dict[str, int]:
        """Number of steps or samples by warning, such as samples that ring; evaluated at the first use.

        The first use also issues an RtmbsWarning for each, as a repr of the Result does.
        """
        return dict((self._warnings() if callable(self._warnings) else self._warnings) or {})

    @cached_property
    def _sources(self) -> dict[str, Source]:
        """Every channel by name; a function that lists them is called at the first use."""
        return dict(self._given() if callable(self._given) else self._given)

    def extended(self, sources: Mapping[str, Source]) -> "Result":
        """Return this Result with more channels; one of a name that is there already takes its place.

        Parameters
        ----------
        sources : Mapping[str, Source]
            Channels by name.

        Returns
        -------
        Result
            All channels.
        """
        known = (self.name, self.fingerprint, self.outcomes, lambda: self.warnings, self.system, self.report)
        return Result(lambda: {**self._sources, **sources}, *known)

    def names(self) -> list[str]:
        """Return the names of all channels.

        Returns
        -------
        list[str]
            Names of all channels, the time ``t`` among them.
        """
        return list(self._sources)

    def keys(self) -> list[str]:
        """Return the names of all channels, so that ``dict(result)`` works.

        Returns
        -------
        list[str]
            Names as ``names`` returns them.
        """
        return self.names()

    def channel(self, name: str) -> Channel:
        """Return a channel with its axes, its unit and its frame, and keep it.

        Parameters
        ----------
        name : str
            Name of the channel.

        Returns
        -------
        Channel
            Values (samples,) or (samples, components), read-only, with axes, unit and frame.

        Raises
        ------
        UnknownNameError
            For a channel that does not exist; the message lists the nearest names.

        Examples
        --------
        >>> model = rtmbs.library.build("pendulum")
        >>> result = rtmbs.Simulation(model.compile(), h=1e-3).run(0.1)
        >>> speed = result.channel("bob.velocity")
        >>> speed.axes, speed.unit, speed.frame
        (('x', 'y', 'z'), 'm/s', 'world')
        """
        if not (isinstance(name, str) and name in self._channels):
            self._channels[name] = self.read(name)
        return self._channels[name]

    def about(self, name: str) -> tuple[tuple[str, ...], str]:
        """Return axes and unit of a channel without evaluating it.

        Parameters
        ----------
        name : str
            Name of the channel.

        Returns
        -------
        tuple[tuple[str, ...], str]
            Labels of the components, empty for a channel of one number a sample, and the unit. The unit lists one for
            each component, separated by ``", "``, where they differ.

        Raises
        ------
        UnknownNameError
            For a channel that does not exist; the message lists the nearest names.
        """
        source = self._source(name)
        return source.axes, source.unit

    def frame(self, name: str) -> str:
        """Return the frame of a channel: the world, or a body.

        Parameters
        ----------
        name : str
            Name of the channel.

        Returns
        -------
        str
            ``"world"``, or the name of the body in whose axes the components are taken. It is "" for a channel without
            a frame.

        Raises
        ------
        UnknownNameError
            For a channel that does not exist; the message lists the nearest names.
        """
        return self._source(name).frame

    def read(self, name: str) -> Channel:
        """Return a channel without keeping it.

        Parameters
        ----------
        name : str
            Name of the channel.

        Returns
        -------
        Channel
            Values with axes, unit and frame, as ``channel`` returns them.

        Raises
        ------
        UnknownNameError
            For a channel that does not exist; the message lists the nearest names.
        """
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
            return self._with(slice_of(self, name))
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
        """Return the samples from ``start`` to ``end``, both included.

        Parameters
        ----------
        start : float
            First time [s].
        end : float
            Last time [s].

        Returns
        -------
        Result
            All channels at these samples, without the report.

        Raises
        ------
        InputError
            For a time that is no finite number, and where no sample lies between the two.

        Examples
        --------
        >>> model = rtmbs.library.build("pendulum")
        >>> result = rtmbs.Simulation(model.compile(), h=1e-3).run(0.1)
        >>> len(result.between(0.05, 0.1))
        51
        """
        return self._with(between(self, start, end))

    def at(self, times: Sequence[float] | Array, kind: str = "linear") -> "Result":
        """Return the values at other times, between samples on straight lines or cubic splines.

        Orientations are normalised. A time that is one of a sample keeps the bytes of the sample.

        Parameters
        ----------
        times : sequence of float
            Times (k,) [s], ascending, within the record: nothing is extrapolated.
        kind : str, default "linear"
            "linear" never overshoots. "cubic" is of order four for smooth channels, and is not to be used across jumps
            (METHODS 1.39).

        Returns
        -------
        Result
            All channels at the k times, without the report.

        Raises
        ------
        InputError
            For times that are no list of finite numbers, do not ascend or lie outside of the record. Another ``kind``
            raises it too.

        Examples
        --------
        >>> model = rtmbs.library.build("pendulum")
        >>> result = rtmbs.Simulation(model.compile(), h=1e-3).run(0.1)
        >>> slow = result.at(np.arange(0.0, 0.1, 0.01))
        >>> slow["pivot.angle"].shape
        (10,)
        """
        return self._with(at_times(self, times, kind))

    def _with(self, sources: Callable[[], Mapping[str, Source]]) -> "Result":
        """Return a Result of these channels and the head of this one."""
        return Result(sources, self.name, self.fingerprint, self.outcomes, lambda: self.warnings, self.system)

    def plot(
        self,
        *names: str,
        x: str | None = None,
        ax: Any = None,
        degrees: bool = False,
        window: float | tuple[float, float] | None = None,
        file: str | Path | None = None,
        size: str | tuple[float, float] | None = None,
        style: str = "white",
        label: str = "",
    ) -> Any:
        """Draw channels or components over time or over another one, one panel for each unit (extra ``plot``).

        A notebook shows the figure once, where the call is the last line of its cell.

        Parameters
        ----------
        *names : str
            Channels or components, one at least: "block.velocity" has three lines, "block.x" one.
        x : str, optional
            Component that is drawn over in place of time, for coupler curves and phase planes; "frequency" draws
            amplitudes of the spectrum. Two lengths of like spans have one scale.
        ax : matplotlib.axes.Axes or sequence of them, optional
            Axes of your own figure, one for each unit, which may hold lines already.
        degrees : bool, default False
            Angles, rates and accelerations of angles in degrees.
        window : float or tuple of float, optional
            The last seconds, or two times [s]; the whole run unless given.
        file : str or Path, optional
            File of the picture as well: .png, .pdf or .svg.
        size : str or tuple of float, optional
            "column" (89 x 67 mm), "page" (183 x 120 mm), "slide" (254 x 143 mm), or width and height [mm]. Letters then
            have 8 points, and the figure has no title. As high as the panels need unless given.
        style : str, default "white"
            "white", "dark", or "grey" for print without colours.
        label : str, default ""
            Name of the run in the legend, where several share axes.

        Returns
        -------
        matplotlib.figure.Figure
            Figure of matplotlib; ``ax`` where it is given.

        Raises
        ------
        UnknownNameError
            For a channel, size or style that does not exist.
        InputError
            Without a name, for an ``x`` of several numbers, a window or size that is none, another number of axes than
            of units, a file that cannot be written, and where matplotlib is missing.

        Examples
        --------
        >>> model = rtmbs.library.build("pendulum")
        >>> result = rtmbs.Simulation(model.compile(), h=1e-3).run(0.1)
        >>> figure = result.plot("pivot.angle", "P.velocity", "P.x", file="motion.png")
        >>> figure = result.plot("pivot.rate", x="pivot.angle", degrees=True, size="column", file="phase.pdf")
        """
        given = {"x": x, "ax": ax, "degrees": degrees, "window": window, "label": label}
        return plot(self, names, file, look=Look(size, style), **given)

    def show(self, *, model: Any = None, **options: Any) -> Any:
        """Play the run below the cell of a notebook.

        Parameters
        ----------
        model : Model, optional
            Model of a result that was loaded, for shapes and joints.
        **options : object
            Those of ``rtmbs.show``, such as ``height``.

        Returns
        -------
        object
            Picture that a notebook draws as the last line of a cell; ``close`` ends a live session.

        Raises
        ------
        InputError
            For options that ``rtmbs.show`` refuses.

        Examples
        --------
        >>> result = rtmbs.Simulation(rtmbs.library.build("pendulum").compile()).run(0.1)
        >>> picture = result.show()
        """
        return import_module("rtmbs").show(self, model=model, **options)

    def to_pandas(self, *names: str) -> Any:
        """Return channels or components as a pandas DataFrame (extra ``tables``).

        Parameters
        ----------
        *names : str
            Channels or components; all channels without a name.

        Returns
        -------
        pandas.DataFrame
            The index is the time ``t`` [s]. A column is one component such as "block.velocity[x]". ``attrs["units"]``
            has the units by column.

        Raises
        ------
        UnknownNameError
            For a channel that does not exist.
        InputError
            Where pandas is missing.

        Examples
        --------
        >>> model = rtmbs.library.build("pendulum")
        >>> result = rtmbs.Simulation(model.compile(), h=1e-3).run(0.1)
        >>> frame = result.to_pandas("P.velocity", "pivot.angle")
        >>> list(frame), frame.attrs["units"]["pivot.angle"]
        (['P.velocity[x]', 'P.velocity[y]', 'P.velocity[z]', 'pivot.angle'], 'rad')
        """
        return to_pandas(self, names)

    def to_xarray(self, *names: str) -> Any:
        """Return channels or components as an xarray Dataset (extra ``tables``).

        Parameters
        ----------
        *names : str
            Channels or components; all channels without a name.

        Returns
        -------
        xarray.Dataset
            Dimensions are ``t`` [s] and, by kind of channel, ``xyz``, ``wrench``, ``quaternion`` or one of the
            channel's own. ``attrs["units"]`` of a variable is its unit.

        Raises
        ------
        UnknownNameError
            For a channel that does not exist.
        InputError
            Where xarray is missing.

        Examples
        --------
        >>> model = rtmbs.library.build("pendulum")
        >>> result = rtmbs.Simulation(model.compile(), h=1e-3).run(0.1)
        >>> data = result.to_xarray("P.velocity")
        >>> data["P.velocity"].sel(xyz="x").shape
        (101,)
        """
        return to_xarray(self, names)

    def save(self, path: str | Path) -> None:
        """Write every channel with axes and unit to a file, which ``rtmbs.load_result`` reads.

        Parameters
        ----------
        path : str or Path
            File; its ending chooses the format. ``.npz``, or no ending, is an ``npz`` file without pickle. ``.h5`` or
            ``.hdf5`` is HDF5 (extra ``hdf5``). ``.parquet`` is a Parquet table (extra ``tables``). ``.csv`` is a table
            for other programs, which is not read again.

        Raises
        ------
        InputError
            For a format that does not exist, and where the package of a format is missing.
        ResultError
            For a channel whose name the ``npz`` file keeps for itself.
        WriteError
            For a full disk or a missing folder.

        Examples
        --------
        >>> model = rtmbs.library.build("pendulum")
        >>> result = rtmbs.Simulation(model.compile(), h=1e-3).run(0.1)
        >>> result.save("motion.npz")
        >>> rtmbs.load_result("motion.npz")["pivot.angle"].shape
        (101,)
        """
        file_formats.save(self, path)

    def __getstate__(self) -> dict[str, Any]:
        """Return all channels, evaluated, for pickle."""
        state = {key: value for key, value in vars(self).items() if key not in ("_sources", "_given", "_warnings")}
        channels = {name: (source, StoredValues(self.read(name).values)) for name, source in self._sources.items()}
        state["_given"] = {name: Source(old.axes, old.unit, new, old.frame) for name, (old, new) in channels.items()}
        state["events"] = tuple(one.without_functions() for one in self.events)
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
    """Read a result file; the Result answers by name as the saved one does, and needs no System.

    Parameters
    ----------
    path : str or Path
        File that ``Result.save`` or a ChannelRecorder has written: ``.npz``, ``.h5``, ``.hdf5`` or ``.parquet``.

    Returns
    -------
    Result
        All channels, with outcomes and warnings of the run.

    Raises
    ------
    ResultError
        When the file does not exist, is truncated, changed by a byte, no result file or of another format. The message
        names the file, and the entry where there is one.

    Examples
    --------
    >>> model = rtmbs.library.build("pendulum")
    >>> result = rtmbs.Simulation(model.compile(), h=1e-3).run(0.1)
    >>> result.save("motion.npz")
    >>> rtmbs.load_result("motion.npz").names() == result.names()
    True
    """
    contents = file_formats.load(path)
    return Result(contents.sources, contents.name, contents.fingerprint, contents.outcomes, contents.warnings)
