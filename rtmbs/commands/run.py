"""``rtmbs run``: the analysis that a model file asks for, and its result in a file."""

from typing import TYPE_CHECKING, Any

from rtmbs.commands.arguments import Parser
from rtmbs.commands.model_file import add_large, refusals
from rtmbs.commands.target import check_target
from rtmbs.errors import InputError, RtmbsError
from rtmbs.language import Document
from rtmbs.results.forms import WRITTEN, check_form
from rtmbs.results.result import Result

if TYPE_CHECKING:
    from rtmbs.simulation import Simulation


def run(words: list[str]) -> int:
    """Make the analysis of a model file, or run a library mechanism: rtmbs run FILE --out result.npz"""
    from rtmbs import library
    from rtmbs.language import read

    if words and words[0] in library.names():
        return run_mechanism(words[0], words[1:])
    parser = Parser(prog="rtmbs run", description=run.__doc__)
    parser.add_argument("file", metavar="FILE", help="a model file, or a library mechanism with its options")
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


def run_mechanism(name: str, words: list[str]) -> int:
    """Run a mechanism of the library, from its start and with the steps of a Simulation."""
    from rtmbs import library
    from rtmbs.commands.view import option_parser
    from rtmbs.observers import EveryStep
    from rtmbs.simulation import Simulation

    parser = Parser(prog=f"rtmbs run {name}", description=run_mechanism.__doc__, add_help=False)
    parser.add_argument("--until", type=float, default=1.0, metavar="T", help="end of the run [s] (%(default)s)")
    parser.add_argument("--step", type=float, default=5e-3, metavar="H", help="step [s] (%(default)s)")
    parser.add_argument("--out", metavar="PATH", help="where the result is saved: .npz, .h5, .parquet or .csv")
    own, others = parser.parse_known_args(words)
    options = vars(option_parser(f"rtmbs run {name}", library.defaults(name), library.describe(name)).read(others))
    if own.out:
        check_target(own.out, WRITTEN)
        check_form(own.out)
    result = simulated(Simulation(library.build(name, **options).compile(), h=own.step), own.until, record=EveryStep())
    if own.out:
        result.save(own.out)
        print(f"{len(result)} samples of {len(list(result))} channels in {own.out}")
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
    from rtmbs.observers import Every

    return simulated(simulation(document), analysis.t1, record=Every(analysis.dt), channels=channels, file=file)


def simulated(sim: "Simulation", t_end: float, **recorded: Any) -> Result:
    """Return the result of a run to ``t_end`` [s], and print what it took."""
    from rtmbs.observers import IterationMeter

    meter = IterationMeter()
    print(sim.start_report)
    result = sim.run(t_end, observers=[meter], **recorded)
    print(f"{meter.steps} steps, {meter.total['iterations']} Newton iterations, at most {meter.most} in a step")
    for warning, count in result.warnings.items():
        print(f"warning: {warning} ({count} times)")
    return result
