"""rtmbs beside other programs, on one description of the multiple four-bar: ``python -m bench.peers``.

``mechanism.py`` describes the bars, pivots and loops; every other program has one file that builds them and runs. A
program that is not installed is skipped with a line. ``worker.py`` measures one run in a process of its own, on one
thread and one core unless the registry says otherwise; ``__main__.py`` asks the workers in turns and writes the table
and the plot.
"""
