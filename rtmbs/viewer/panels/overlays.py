"""What lies over the picture: where info, help, banner and the waiting sentence stand in the canvas."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rtmbs.viewer.window import Window

LOW = 14  # [pixels] from the lower border to a banner that is not grave
MARGINS, WIDEST, NARROWEST = 40, 860, 260  # [pixels] beside a banner, and its own width


def place_overlays(window: "Window") -> None:
    """Put the overlays of a window where they belong; help takes the place of info."""
    width, height = window.canvas.width(), window.canvas.height()
    banner, waiting = window.banner, window.waiting
    window.info.setVisible(window.info_wanted and window.frame is not None and not window.help.isVisible())
    window.help.center_in(window.width(), window.height())  # over the panels too
    window.help.raise_()
    banner.fit(max(min(width - MARGINS, WIDEST), NARROWEST))
    room = height - banner.height()
    banner.move((width - banner.width()) // 2, max(room // 2 if banner.grave else room - LOW, 0))
    waiting.adjustSize()
    waiting.move((width - waiting.width()) // 2, height // 2)
