"""A session that was opened and takes the place of the present one once it stands."""

import threading

from rtmbs.viewer.connection import Connection, Message


class Opening:
    """Waits for the first frame of one connection at a time, without blocking."""

    def __init__(self) -> None:
        self.coming: Connection | None = None

    def begin(self, connection: Connection) -> None:
        """Wait for this one; one that was waited for is closed."""
        if self.coming is not None:
            close_soon(self.coming)
        self.coming = connection

    def look(self) -> tuple[Connection | None, list[Message]]:
        """Return the connection when its first frame is there, and what it failed by when none will come."""
        coming = self.coming
        if coming is None:
            return None, []
        if coming.latest() is not None:
            self.coming = None
            return coming, []
        if not coming.ended:
            return None, []
        self.coming = None
        failures = [message for message in coming.messages() if message.kind == "failure"]
        close_soon(coming)
        return None, failures

    def close(self) -> None:
        """Wait for nothing any more."""
        if self.coming is not None:
            self.coming.close()
            self.coming = None


def close_soon(connection: Connection) -> None:
    """Close a connection without waiting for the step under way."""
    threading.Thread(target=connection.close, name="rtmbs closing").start()
