"""Recursion over closed loops: growth with the length of a loop, ranks and threads, the slider-crank of the paper."""
