"""What a session is published to in tests of the session alone."""

from rtmbs.viewer.scene.frame import Strip


class Silent:
    """Shows nothing to anybody."""

    def present(self, description):
        return Strip()

    def publish(self, frame):
        """Nobody looks."""

    taken = False

    def tell(self, message):
        """Nobody listens."""
