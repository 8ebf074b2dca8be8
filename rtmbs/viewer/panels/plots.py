"""The plots (F4): energy balance, loop violations, and any channel picked from a tree."""

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLineEdit, QSplitter, QTreeWidget, QTreeWidgetItem, QVBoxLayout, QWidget

from rtmbs.viewer.description import ChannelDescription, SceneDescription
from rtmbs.viewer.frame import PLOTS, Frame
from rtmbs.viewer.panels.series import Fresh, Series
from rtmbs.viewer.panels.style import axis_style, styled
from rtmbs.viewer.theme import Theme

ENERGY, VIOLATION = "Energy balance", "Loop violation"
ENERGY_CURVES = ("kinetic", "gravity", "elastic", "total, change")
VIOLATION_CURVES = ("position [m]", "velocity [m/s]", "acceleration [m/s\N{SUPERSCRIPT TWO}]")
LEAST_VIOLATION = 1e-18  # what a logarithmic axis shows of a zero
COLUMNS = 2  # of plots, from the third on


class Plots(QSplitter):
    """A tree of channels, and one plot for each that is ticked; ``wanted`` asks for their numbers."""

    wanted = Signal(tuple, int)  # names, ticket

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self.filter, self.tree, self.area = QLineEdit(), QTreeWidget(), pg.GraphicsLayoutWidget()
        self.filter.setPlaceholderText("find a channel")
        self.filter.setClearButtonEnabled(True)
        self.tree.setHeaderHidden(True)
        self.tree.setUniformRowHeights(True)
        side, column = QWidget(), QVBoxLayout()
        column.setContentsMargins(4, 4, 4, 4)
        column.addWidget(self.filter)
        column.addWidget(self.tree)
        side.setLayout(column)
        self.addWidget(side)
        self.addWidget(self.area)
        self.setSizes([230, 900])
        self._plots: dict[str, pg.PlotItem] = {}
        self._curves: dict[str, list[pg.PlotDataItem]] = {}
        self._columns: tuple[str, ...] = ()  # subscribed components, in the order of the columns
        self._channels: dict[str, ChannelDescription] = {}
        self._energy, self._violation, self._picked = Series(4), Series(3), Series(PLOTS)
        self._fresh = Fresh()
        self._start_energy = np.nan
        self.filter.textChanged.connect(self._filter)
        self.tree.itemChanged.connect(self._ticked)
        self.set_theme(theme)

    def set_theme(self, theme: Theme) -> None:
        """Take the colours of a theme."""
        self._theme = theme
        self.area.setBackground(theme.panel)
        self._lay_out()

    # ---- choosing ---------------------------------------------------------------------------------------------------

    def describe(self, description: SceneDescription) -> None:
        """Offer the channels of a mechanism; ticks that it still has are kept."""
        kept = [name for name in self.chosen() if name in {channel.name for channel in description.channels}]
        built_in = [name for name in (ENERGY, VIOLATION) if name in self.chosen() or not self._channels]
        self._channels = {channel.name: channel for channel in description.channels}
        self.tree.blockSignals(True)
        self.tree.clear()
        for name in (ENERGY, VIOLATION) if description.live else ():
            self._leaf(self.tree.invisibleRootItem(), name, name, name in built_in)
        parents: dict[str, QTreeWidgetItem] = {}
        for name in self._channels:
            owner, _, word = name.rpartition(".")
            if owner and owner not in parents:
                parents[owner] = QTreeWidgetItem(self.tree, [owner])
            above = parents[owner] if owner else self.tree.invisibleRootItem()
            self._leaf(above, word or name, name, name in kept)
        self.tree.blockSignals(False)
        self._energy.clear()
        self._violation.clear()
        self._start_energy = np.nan
        self._lay_out()

    def _leaf(self, parent: QTreeWidgetItem, text: str, name: str, ticked: bool) -> None:
        item = QTreeWidgetItem(parent, [text])
        item.setData(0, Qt.ItemDataRole.UserRole, name)
        item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
        item.setCheckState(0, Qt.CheckState.Checked if ticked else Qt.CheckState.Unchecked)

    def _leaves(self) -> list[QTreeWidgetItem]:
        """Return all items that stand for a channel."""
        return [leaf for top in children(self.tree.invisibleRootItem()) for leaf in children(top) or [top]]

    def chosen(self) -> list[str]:
        """Return the names that are ticked, in the order of the tree."""
        checked = [item for item in self._leaves() if item.checkState(0) == Qt.CheckState.Checked]
        return [item.data(0, Qt.ItemDataRole.UserRole) for item in checked]

    def choose(self, name: str, ticked: bool = True) -> None:
        """Tick a channel, or take its tick away."""
        for item in self._leaves():
            if item.data(0, Qt.ItemDataRole.UserRole) == name:
                item.setCheckState(0, Qt.CheckState.Checked if ticked else Qt.CheckState.Unchecked)

    def _ticked(self, item: QTreeWidgetItem) -> None:
        """A tick changed; one too many is taken back."""
        if item.data(0, Qt.ItemDataRole.UserRole) is None:
            return
        if len(self._components(self.chosen())) > PLOTS and item.checkState(0) == Qt.CheckState.Checked:
            item.setCheckState(0, Qt.CheckState.Unchecked)
            return
        self._lay_out()

    def _filter(self, text: str) -> None:
        """Show the channels whose names hold every word of ``text``."""
        words = text.lower().split()
        for top in children(self.tree.invisibleRootItem()):
            leaves = children(top)
            for item in leaves:
                item.setHidden(not all(word in str(item.data(0, Qt.ItemDataRole.UserRole)).lower() for word in words))
            own = not leaves and all(word in top.text(0).lower() for word in words)
            top.setHidden(not own and all(item.isHidden() for item in leaves))
            top.setExpanded(bool(words) and len(words[0]) > 2)

    def _components(self, names: list[str]) -> tuple[str, ...]:
        """Return the columns that ``names`` need: "name" or "name[axis]"."""
        channels = [self._channels[name] for name in names if name in self._channels]
        return tuple(part for channel in channels for part in components(channel))

    # ---- drawing ----------------------------------------------------------------------------------------------------

    def _lay_out(self) -> None:
        """Make one plot for each chosen name, and ask for the numbers."""
        self.area.clear()
        self._plots, self._curves = {}, {}
        names = self.chosen()
        columns = COLUMNS if len(names) > 2 else max(len(names), 1)
        for number, name in enumerate(names):
            self._add_plot(name, number // columns, number % columns)
        asked = self._components(names)
        if asked != self._columns:
            self._columns = asked
            self._picked = Series(len(asked))
            self.wanted.emit(asked, self._fresh.begin())

    def _add_plot(self, name: str, row: int, column: int) -> None:
        plot = self.area.addPlot(row=row, col=column)
        axis_style(plot, self._theme)
        plot.setClipToView(True)
        plot.setDownsampling(auto=True, mode="peak")
        plot.setLogMode(y=name == VIOLATION)
        names = {ENERGY: ENERGY_CURVES, VIOLATION: VIOLATION_CURVES}.get(name) or self._channels[name].axes
        colors = [self._theme.plots[k % len(self._theme.plots)] for k in range(max(len(names), 1))]
        self._curves[name] = [plot.plot([], [], pen=pg.mkPen(color, width=1.4)) for color in colors]
        # The legend is the title: over the curves it would hide some of them.
        legend = [
            f'<span style="color: {color}"><b>{label}</b></span>' for color, label in zip(colors, names, strict=False)
        ]
        plot.setTitle(styled(" &nbsp; ".join([f"{name}{self._unit(name)}", *legend]), self._theme))
        self._plots[name] = plot

    def _unit(self, name: str) -> str:
        if name in (ENERGY, VIOLATION):
            return " [J]" if name == ENERGY else ""
        return f" [{self._channels[name].unit}]" if self._channels[name].unit not in ("", "1") else ""

    def gather(self, frame: Frame) -> None:
        """Keep the numbers of a frame; cheap, for every picture."""
        if np.isnan(self._start_energy):
            self._start_energy = frame.energy
        change = frame.energy - self._start_energy
        self._energy.add(np.array([[frame.t, frame.kinetic, frame.gravity, frame.elastic, change]]))
        sizes = (frame.position_violation, frame.velocity_violation, frame.acceleration_violation)
        self._violation.add(np.array([[frame.t, *np.maximum(sizes, LEAST_VIOLATION)]]))
        if self._columns:
            self._picked.add(self._fresh.of(frame, len(self._columns)))

    def redraw(self) -> None:
        """Draw what was gathered; a few times a second."""
        for name, curves in self._curves.items():
            if name in (ENERGY, VIOLATION):
                rows = (self._energy if name == ENERGY else self._violation).rows
                columns = list(range(1, 1 + len(curves)))
            else:
                rows = self._picked.rows
                columns = [1 + self._columns.index(part) for part in components(self._channels[name])]
            for curve, column in zip(curves, columns, strict=True):
                curve.setData(rows[:, 0].copy(), rows[:, column].copy())


def components(channel: ChannelDescription) -> tuple[str, ...]:
    """Return the names of the numbers of a channel."""
    return tuple(f"{channel.name}[{axis}]" for axis in channel.axes) or (channel.name,)


def children(item: QTreeWidgetItem) -> list[QTreeWidgetItem]:
    """Return the items right below one."""
    return [child for k in range(item.childCount()) if (child := item.child(k)) is not None]
