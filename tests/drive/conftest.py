"""The display of the viewer's tests."""

from tests.viewer.conftest import display, qapp, windows_are_gone

__all__ = ["display", "qapp", "windows_are_gone"]
