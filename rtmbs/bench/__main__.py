"""``python -m rtmbs.bench PROBLEM ...`` is ``rtmbs bench PROBLEM ...``."""

import sys

from rtmbs.bench.command import main

if __name__ == "__main__":
    sys.exit(main())
