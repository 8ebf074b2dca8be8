"""``rtmbs sweep``: all runs of a study file, in one table."""

import sys

import numpy as np

from rtmbs.commands.arguments import FAILED, Parser, check_target, count
from rtmbs.errors import InputError
from rtmbs.sweeps.engines import Engine
from rtmbs.sweeps.result import SweepResult

SHOWN = 5  # failed runs that are printed


def run(words: list[str]) -> int:
    """Run a parameter study; a stopped one goes on from its finished rows: rtmbs sweep study.toml --workers 4"""
    from rtmbs.sweeps.result import ENDINGS, PARQUET, parquet
    from rtmbs.sweeps.study_file import read_study
    from rtmbs.sweeps.sweep import sweep

    parser = Parser(prog="rtmbs sweep", description=run.__doc__)
    parser.add_argument("file", metavar="FILE", help="a study (.toml)")
    parser.add_argument("--workers", type=count, help="processes on this machine; default: one for each core")
    parser.add_argument("--dask", metavar="ADDRESS", help="scheduler of a cluster, such as tcp://head:8786")
    parser.add_argument("--folder", metavar="PATH", help="folder of the finished rows; default: that of the study")
    parser.add_argument("--out", metavar="PATH", help="the table: .parquet or .csv")
    options = parser.read(words)
    if options.out:
        check_target(options.out, ENDINGS)
        if options.out.lower().endswith(PARQUET):
            parquet(options.out)
    study = read_study(options.file)
    if options.folder:
        study["folder"] = options.folder
    if "folder" not in study and not options.out:
        raise InputError(f"{options.file} names no folder; write folder = 'rows', or give --folder PATH or --out PATH")
    table = sweep(**study, engine=engine(options.workers, options.dask), progress=sys.stderr.isatty())
    if options.out:
        table.save(options.out)
    report(table, options.out or study["folder"])
    return FAILED if table.failed else 0


def engine(workers: int | None, address: str | None) -> Engine:
    """Return where the runs are made; InputError for both."""
    from rtmbs.sweeps.dask_engine import Dask
    from rtmbs.sweeps.engines import Processes

    if address is None:
        return Processes(workers)
    return Dask(address, workers)


def report(table: SweepResult, where: object) -> None:
    """Print how many runs there are, the range of each measure, and the failed runs."""
    print(f"{len(table)} runs, {table.effort.runs} of them made now; the table is in {where}")
    for name in table.measures:
        values = table[name]
        if np.isfinite(values).any():
            low, high = int(np.nanargmin(values)), int(np.nanargmax(values))
            ends = [f"{values[k]:.6g} in run {table['run'][k]}" for k in (low, high)]
            print(f"  {name}: {' to '.join(ends)}")
    failed = table.failed
    for number in list(failed)[:SHOWN]:
        print(f"run {number} failed: {failed[number]}", file=sys.stderr)
    if failed:
        print(f"{len(failed)} of {len(table)} runs failed; the column error says why", file=sys.stderr)
