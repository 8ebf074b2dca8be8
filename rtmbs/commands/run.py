"""``rtmbs run``: the analysis that a model file asks for, and its result in a file."""

from rtmbs.commands.arguments import Parser
from rtmbs.commands.model_file import add_large, refusals
from rtmbs.commands.target import check_target
from rtmbs.errors import InputError, RtmbsError
from rtmbs.language import Document
from rtmbs.results.forms import WRITTEN, check_form
from rtmbs.results.result import Result


def run(words: list[str]) -> int:
    """Make the analysis of a model file and save its result: rtmbs run FILE --out result.npz"""
    from rtmbs.language import read

    parser = Parser(prog="rtmbs run", description=run.__doc__)
    parser.add_argument("file", metavar="FILE", help="a model file")
    parser.add_argument("--out", metavar="PATH", help="where the result is saved: .npz, .h5, .parquet or .csv")
    parser.add_argument(
        "--blocks", action="store_true", help="write --out (.h5, .csv) while the run goes on: a kill loses little"
    )
    parser.add_argument("--channels", nargs="+", metavar="NAME", help="record these channels only")
    add_large(parser)
    options = parser.read(words)
    if options.blocks and not options.out:
        raise InputError("--blocks needs --out PATH, such as --out run.h5")
    if options.out:
        check_target(options.out, WRITTEN)
        check_form(options.out)
    document = read(options.file, options.large)
    try:
        with refusals(options.file, document):
            result = analysed(document, options.channels, options.out if options.blocks else None)
    except (RtmbsError, KeyboardInterrupt) as error:
        kept = getattr(error, "result", None)
        if options.out and kept is not None and len(kept):
            if not options.blocks:
                kept.save(options.out)
            print(f"the result so far is in {options.out}")
        raise
    if options.out:
        if not options.blocks:
            result.save(options.out)
        print(f"{len(result)} samples of {len(list(result))} channels in {options.out}")
    return 0


def analysed(document: Document, channels: list[str] | None, file: str | None) -> Result:
    """Return the result of the analysis, and print what it took; a simulation may write its ``file`` on the way."""
    from rtmbs.commands.analyses import kinematics, simulation

    analysis = document.analysis
    if analysis.kind == "kinematic":
        if channels or file:
            raise InputError("--channels and --blocks belong to a DYNAMIC ANALYSIS, and the file asks for another")
        motion = kinematics(document).run(analysis.t0, analysis.t1, analysis.dt)
        print(motion.assembly)
        print(motion.counters)
        for warning in motion.warnings:
            print(f"note: {warning}")
        return motion
    from rtmbs.observers import Every, IterationMeter

    sim, meter = simulation(document), IterationMeter()
    print(sim.start_report)
    result = sim.run(analysis.t1, record=Every(analysis.dt), channels=channels, file=file, observers=[meter])
    print(f"{meter.steps} steps, {meter.total['iterations']} Newton iterations, at most {meter.most} in a step")
    for warning, count in result.warnings.items():
        print(f"warning: {warning} ({count} times)")
    return result
