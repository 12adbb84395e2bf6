"""The command line: ``coactive-fast`` or ``python -m coactive_fast``."""

import argparse
import contextlib
import inspect
import itertools
import math
import os
import signal
import subprocess
import sys
import warnings

from ._config import show_config
from ._version import __version__
from .commands import _fleet, _learners, warn
from .commands._answer import choose, forward, rank
from .commands._logs import judge, live
from .commands._rows import convert
from .commands._train import train
from .data._tables import number

__all__ = ["main"]

FAILED = 1  # exit code; argparse's own is 2, that of a signal 128 and its number


# --- commands that are not in `commands`; the docstring of each command is its --help -------------


def tour(options):
    # in a process of its own, since NumPy's BLAS reads its number of threads when it is loaded
    from .experiments._run import one_blas_thread

    code = (f"import sys; sys.path[:] = {sys.path!r}; "
            f"from coactive_fast import _tour; _tour.main({options.seconds!r})")
    with one_blas_thread():
        return subprocess.run([sys.executable, "-I", "-c", code]).returncode


def config(options):
    show_config()


def reproduce(options):
    """Runs the papers' figures and tables and writes, for each, its curves (CSV), pictures (PNG,
    SVG) and all of its parameters (JSON), and one page about everything, report.html.

    Without --data it runs on generated data and, where they fit, on sets that scikit-learn brings
    along (diabetes, breast cancer, digits). With --data it reads real sets: a folder with mq2008/,
    ml-1m/, 20newsgroups/, reuters21578/, amazon_reviews/, tabular/, stocks/. A run that was
    interrupted goes on where it stopped when the same command is given again. Results depend on
    --scale, --data and --seed only, never on --jobs or --cluster.

    examples:
      coactive-fast reproduce
      coactive-fast reproduce coactive-alpha onseg --jobs 2
      coactive-fast reproduce --scale paper --data ./data --out ./paper --jobs 4
    """
    from .experiments._reproduce import reproduce

    workers = None
    if options.cluster is not None:
        from .adapters.dask import Workers

        workers = Workers(options.cluster)
    reproduce(options.names, scale=options.scale, data=options.data, out=options.out,
              jobs=options.jobs, seed=options.seed, workers=workers)


def list_experiments(options):
    """Names every experiment with its paper, its figure or table, and its cost in seconds; then,
    for each, the paper's own set and what stands in for it; then every set with its title, authors,
    year, the address of its page, the files that are looked for below --data, and what reads them.
    A file may be packed. None of the sets is part of this package: most may not be handed on.
    """
    from .experiments import _sources, experiments
    from .experiments._folder import Sets

    print(f"{'experiment':28} {'paper':10} {'shows':24} {'quick':>6} {'paper':>7}  data")
    for e in experiments().values():
        quick, full = (f"{seconds:g} s" for seconds in e.cost)
        print(f"{e.name:28} {e.paper:10} {e.shows:24} {quick:>6} {full:>7}  {e.data}")
    print()
    sets = None if options.data is None else Sets(options.data)
    for line in _sources.listing(experiments().values(), sets):
        print(line)


# --- what may be typed ----------------------------------------------------------------------------

def whole(least, most=math.inf):
    def parse(text):
        with contextlib.suppress(ValueError):
            if least <= (value := int(text)) <= most:
                return value
        what = f">= {least}" if most == math.inf else f"from {least} to {most}"
        raise argparse.ArgumentTypeError(f"expected a whole number {what}, got {text!r}")
    return parse


def finite(text):
    value = number(text)
    if value is None or not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"expected a number, got {text!r}")
    return value


def names(text):
    return [name for name in text.split(",") if name]


def label(text):
    """A number, or a name."""
    return text if text and number(text) is None else finite(text)


def add(commands, name, run, text):
    """One command: its line in the list of all, and what runs it."""
    command = commands.add_parser(name, help=text, description=inspect.getdoc(run) or text,
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
    command.add_argument("--debug", action="store_true", default=argparse.SUPPRESS,
                         help="show where an error came from")
    command.set_defaults(run=run)
    return command


def option(command, name, metavar, text, kind=str, **more):
    command.add_argument(name, metavar=metavar, help=text, type=kind, **more)


def flag(command, name, text):
    command.add_argument(name, action="store_true", help=text)


class Completion(argparse.Action):
    """Prints the script of a shell (by shtab) that completes commands, options, learners and files.
    """

    def __call__(self, parser, namespace, values, option_string=None):
        from .learner._extras import require

        try:
            shtab = require("shtab", "completion", "--print-completion")
        except ImportError as error:
            parser.exit(FAILED, f"{parser.prog}: {error}\n")
        commands = next(action for action in parser._actions if action.dest == "command")
        for action in itertools.chain.from_iterable(
                command._actions for command in commands.choices.values()):
            if action.dest == "learner":
                action.choices = sorted({*_learners.CLASSES, *_fleet.CLASSES})
            elif action.metavar in ("FILE", "MODEL", "OUT", "LOG", "POLICY"):
                action.complete = shtab.FILE
            elif action.metavar == "DIR":
                action.complete = shtab.DIRECTORY
        print(shtab.complete(parser, values))
        parser.exit()


def stream_arguments(command, clicks=True, text=True):
    """What every command that reads a stream takes."""
    option(command, "file", "FILE",
           "text, packed or not, a converted file, or - for standard input")
    flag(command, "--zero-based", "feature indices count from 0 (default: from 1)")
    option(command, "--format", None,
           "of text that is neither JSON nor converted (default: its first line tells)",
           choices=("svmlight", "vw"))
    flag(command, "--names", "features have names, even if they look like indices")
    option(command, "--hash-bits", "B",
           "names of features are hashed to the 2^B columns of VW's table (default: a column a "
           "name)", whole(1, 31))
    if clicks:
        flag(command, "--clicks", "FILE is a log of clicks, even if it does not look like one")
    command.set_defaults(text=None)
    if text:
        option(command, "--text", "FIELD,...",
               "FILE is plain text, a JSON object a line; its words are in these fields (default: "
               "text, or those the model was trained on)", nargs="?", const="")


def log_arguments(command):
    """What evaluate and replay take: a log, and how it is read."""
    option(command, "log", "LOG", "the log, or - for standard input")
    option(command, "--format", None, "of LOG (default: its beginning tells)",
           choices=("dsjson", "cb", "table"))
    flag(command, "--json", "print a JSON object a line")
    flag(command, "--quiet", "results alone: no bar and no notes; warnings and errors remain")
    group = command.add_argument_group("columns of dsjson and cb")
    option(group, "--hash-bits", "B", "the 2^B columns of VW's table (default: a column a name)",
           whole(1))
    option(group, "--context-bits", "B", "the same for the shared features", whole(1))
    flag(group, "--chain-hash", "as vw has it")
    option(group, "--unlabelled", None, "rounds without a label (default: refuse)",
           choices=("refuse", "skip"))
    group = command.add_argument_group("columns of a table")
    for name in ("round", "chosen", "reward", "probability"):
        option(group, f"--{name}", "NAME", f"(default: {name})")
    option(group, "--action", "NAME",
           "a row is a round, and this column says what was chosen, from 0")
    option(group, "--n-actions", "N", "with --action (default: those up to the largest)", whole(1))
    option(group, "--features", "NAME,...", "(default: all others)", names)
    option(group, "--context", "NAME,...", "(default: none; with --action all others)", names)
    option(group, "--group", "NAME", "which rounds belong together")


def parser():
    top = argparse.ArgumentParser(
        prog="coactive-fast", description="A compiled engine for learning from weak feedback.",
        epilog="exit codes: 0 done, 1 failed, 2 a wrong command line, 130 interrupted, 143 ended")
    top.add_argument("--version", action="version", version=__version__)
    top.add_argument("--debug", action="store_true", help="show where an error came from")
    top.add_argument("--print-completion", action=Completion, default=argparse.SUPPRESS,
                     choices=("bash", "zsh", "tcsh"),
                     help="what makes this shell complete commands (needs shtab)")
    commands = top.add_subparsers(dest="command", metavar="command", required=True)

    command = add(commands, "reproduce", reproduce,
                  "run the papers' experiments and write a report")
    option(command, "names", "NAME",
           "experiments or families, see `coactive-fast list` (default: all)", nargs="*")
    option(command, "--scale", None,
           "quick: a minute for all; paper: the papers' sizes (default: quick)",
           choices=("quick", "paper"), default="quick")
    option(command, "--data", "DIR", "real data (default: generated, or scikit-learn's)")
    option(command, "--out", "DIR", "where everything goes (default: %(default)s)",
           default="./coactive-fast-report")
    option(command, "--jobs", "N", "processes (default: 1)", whole(1), default=1)
    option(command, "--cluster", "ADDRESS",
           "a Dask scheduler, tcp://host:port, whose workers run the tasks")
    option(command, "--seed", "S", "(default: 0)", whole(0), default=0)

    command = add(commands, "train", train, "train a learner on a stream of text")
    option(command, "learner", "LEARNER",
           "the class in kebab case, as preference-perceptron or confidit")
    stream_arguments(command)
    option(command, "--features", "N",
           "columns (default: those of the file; of plain text 262,144)", whole(1))
    option(command, "--model", "OUT", "where the model is saved")
    option(command, "--from", "MODEL", "go on with a saved model instead of a new one",
           dest="start")
    option(command, "--passes", "N", "how often the file is gone through (default: 1)", whole(1),
           default=1)
    option(command, "--shuffle", "SEED",
           "mix the rows in each pass; they are then read into memory", whole(0), nargs="?",
           const=0)
    option(command, "--set", "NAME=VALUE",
           "a parameter of the learner, by its name in Python (a wrong one lists them all); may be "
           "given again", action="append", default=[])
    option(command, "--first-label", None,
           "multiclass: where labels count from (default: the smallest in the file; 0 where "
           "standard input is learned as it comes)", int, choices=(0, 1))
    option(command, "--label", "FIELD",
           "plain text: the field of the label, or of the list of labels; with --by the column of "
           "the target (default: label)")
    option(command, "--relevant", "LABEL",
           "filtering: rows with this label are relevant, rows may have many", label)
    option(command, "--user", "USER",
           "rankings: alpha:A, an A-informative user; noisy:DEPTH, who sorts the first DEPTH by "
           "grade; clicks:PRESET, who clicks (perfect, navigational, informational, random) "
           "(default: alpha:1; for pdgd and pairwise-perceptron clicks:navigational)")
    option(command, "--held-out", "FILE",
           "rows that are not learned from: the share that is wrong is shown, or of rankings the "
           "NDCG@10")
    option(command, "--documents", "FILE",
           "rankings: LETOR text, or converted, whose documents a log of clicks names by query and "
           "number")
    option(command, "--k", "K", "rankings: places that count (default: 5)", whole(1))
    group = command.add_argument_group("a model for each key")
    option(group, "--by", "KEY_COLUMN",
           "the column of a table or of JSON that says whose row it is; or qid")
    option(group, "--columns", "NAME,...", "the features (default: all others)")
    option(group, "--keys", None, "what keys are (default: the first rows tell)",
           choices=("number", "text"))
    option(group, "--skip", "N", "rows at the beginning that are left out, as learned before",
           whole(0))
    flag(command, "--quiet", "no table and no notes; warnings and errors remain")
    option(command, "--radius", "R", "convex: of the ball of weights (default: 1)", finite)
    flag(command, "--no-scale", "convex: leave the columns as they are")

    command = add(commands, "rank", rank,
                  "order the documents of each query, a JSON object a line")
    option(command, "model", "MODEL", "a ranking model that train saved")
    stream_arguments(command, text=False)
    option(command, "--k", "K", "only the first K places (default: all)", whole(1))
    flag(command, "--average", "by the mean of the weights after each round")

    command = add(commands, "choose", choose, "guess the class of each row, a label a line")
    option(command, "model", "MODEL", "a multiclass model that train saved")
    stream_arguments(command, clicks=False)
    option(command, "--first-label", None,
           "where classes count from (default: what the model remembers, of an old file 0)", int,
           choices=(0, 1))
    flag(command, "--score", "instead of the labels, how many are right")
    option(command, "--label", "FIELD",
           "with --score, of plain text: the field of the label (default: label)")

    command = add(commands, "forward", forward,
                  "say for each row whether it is forwarded (1, 0), and its margin")
    option(command, "model", "MODEL", "a filter that train saved")
    stream_arguments(command, clicks=False)

    command = add(commands, "evaluate", judge, "say what a policy would have earned on a log")
    log_arguments(command)
    option(command, "--policy", "POLICY", "a saved bandit, or uniform", nargs="+", required=True)
    option(command, "--estimator", None, "(default: ips)", choices=("ips", "snips", "dr"),
           default="ips")
    option(command, "--folds", "N", "of dr (default: 2)", whole(2), default=2)
    option(command, "--max-weight", "W", "clips the weights", finite)
    option(command, "--reward-range", ("A", "B"),
           "where rewards lie, known beforehand (default: 0 1)", finite, nargs=2)
    flag(command, "--force", "a value even where it is that of fewer than 30 rounds")
    option(command, "--samples", "N", "draws a round, for thompson", whole(1))

    command = add(commands, "replay", live, "let learners live through a log")
    log_arguments(command)
    option(command, "learners", "LEARNER", "a name, or a saved model", nargs="+")
    option(command, "--set", "NAME=VALUE", "a parameter of the new learners; may be given again",
           action="append", default=[])
    option(command, "--p-min", "P", "the least probability of any action (default: that in LOG)",
           finite)
    option(command, "--seed", "S", "of what is accepted, and of new learners (default: 0)",
           whole(0), default=0)
    option(command, "--model", "OUT", "where the learner is saved")

    command = add(commands, "convert", convert,
                  "put svmlight or LETOR text into a file that is mapped instead of parsed")
    option(command, "file", "FILE", "text, packed or not")
    option(command, "out", "OUT", "a new file, or a converted one to replace")
    flag(command, "--multilabel", "rows have any number of labels")
    flag(command, "--zero-based", "feature indices count from 0 (default: from 1)")

    command = add(commands, "fleet", _fleet.show, "what is in a file of very many models")
    option(command, "file", "FILE", "written by a Fleet")
    option(command, "--key", "KEY", "show the model of this key")

    command = add(commands, "list", list_experiments,
                  "every experiment: its paper, figure or table, data, and cost in seconds")
    option(command, "--data", "DIR", "mark the sets that this folder holds")

    command = add(commands, "tour", tour,
                  "what each kernel does on a small example, and how fast it is")
    option(command, "--seconds", None, "time spent on each figure (default: 0.15)", finite,
           default=0.15)
    add(commands, "config", config, "the version, the instruction sets and the build")
    return top


def main(arguments=None):
    """Run one command; returns the exit status.

    Parameters
    ----------
    arguments : list of str, optional
        What stands behind the program's name; by default that of the process.

    Returns
    -------
    int
        0 done, 1 failed, 130 interrupted (143 by SIGTERM); a wrong command line is a `SystemExit`
        with 2.
    """
    options = parser().parse_args(arguments)
    command = options.command

    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *where: warn(command, message)
            status = options.run(options) or 0
            if sys.stdout is not None:
                sys.stdout.flush()  # here an error of the last lines still counts
            return status
    except KeyboardInterrupt as error:
        print(f"\ncoactive-fast {command}: interrupted", file=sys.stderr)
        return 128 + (error.args[0] if error.args else signal.SIGINT)
    except BrokenPipeError:  # whoever read our output has gone
        _drop_output()
        return FAILED
    except Exception as error:
        try:
            print(end="", flush=True)  # what was printed before the error
        except OSError:
            _drop_output()
        if options.debug:
            raise
        print(f"coactive-fast {command}: {message_of(error)}", file=sys.stderr)
        return FAILED


def _drop_output():
    """What Python would write at its end goes nowhere: it could only fail again."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def message_of(error):
    """An error in one line."""
    if isinstance(error, MemoryError):
        return f"not enough memory: {error}" if str(error) else "not enough memory"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error) or type(error).__name__
