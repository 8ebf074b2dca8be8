"""Window of a drive on the screen, from its session in another process to the end of the window."""

from pathlib import Path

from rtmbs.drive.origin import DriveOrigin
from rtmbs.drive.person import GamePad, write_script
from rtmbs.viewer.qt.application import application, collected_here, ended_by_interrupt
from rtmbs.viewer.qt.requirements import check_display, check_opengl, check_qt
from rtmbs.viewer.scene.theme import theme_named
from rtmbs.viewer.session.commands import Play
from rtmbs.viewer.session.worker import ProcessConnection


def drive(origin: DriveOrigin, *, pad: bool = False, theme: str = "white", record: str | Path | None = None) -> int:
    """Open the window of a drive and return its exit code.

    The session steps in a process of its own, against the wall clock. ``pad`` adds the first game pad. ``record`` is
    a file that gets the wishes of the person, as a script.

    Raises InputError where there is no Qt, no screen or no game pad.
    """
    check_qt()
    check_display()
    pads = (GamePad(),) if pad else ()
    connection = ProcessConnection(origin)
    try:
        application()
        check_opengl()
    except BaseException:
        connection.close()
        raise
    from rtmbs.drive.window import DriveWindow

    with ended_by_interrupt(application()), collected_here():
        window = DriveWindow(connection, theme_named(theme), pads)
        window.resize(1280, 760)
        window.show()
        connection.send(Play())
        code = int(application().exec())
        window.close()
        window.deleteLater()
    if record is not None:
        write_script(record, increasing(window.log))
    return code


def increasing(rows: list[tuple[float, ...]]) -> list[tuple[float, ...]]:
    """Return the rows whose times increase: those of before a return to the start are left out."""
    found: list[tuple[float, ...]] = []
    for row in rows:
        found = [*(one for one in found if one[0] < row[0]), row]
    return found
