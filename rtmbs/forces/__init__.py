"""Forces between two frames: the register of their kinds, and a file for each with all its kernels."""
