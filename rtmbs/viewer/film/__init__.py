"""Films: pictures of a mechanism without a window, captions, and video files."""
