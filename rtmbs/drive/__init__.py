"""A car that a person drives: controls, scenery, a window with the views of a driver, and scripts without a window."""
