"""``python -m rtmbs`` is the console script ``rtmbs``."""

import sys

from rtmbs.commands.cli import main

if __name__ == "__main__":
    sys.exit(main())
