"""One four-bar in four programs, for docs/coming-from.md."""
