"""The command line: ``coactive-fast`` or ``python -m coactive_fast``."""

import argparse
import contextlib
import inspect
import math
import os
import subprocess
import sys
import warnings

from ._config import show_config
from ._version import __version__

__all__ = ["main"]

FAILED = 1  # exit code; argparse's own is 2, that of a signal 128 and its number


# --- commands: each imports what it needs when it is called; its docstring is its --help ----------


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


def train(options):
    """Trains a learner on a stream and prints how it does, each row being predicted before it is
    learned from: the mean so far, the mean since the last line, rows a second, at doubling
    intervals. The model is saved twice a minute and at the end.

      ranking     pdgd, pairwise-perceptron, dueling-bandit, preference-perceptron,
                  exponentiated-preference-perceptron, convex-preference-perceptron,
                  second-order-preference-perceptron: LETOR text (grades and qid:), answered by a
                  simulated user; or (not the first three) a log of clicks, a line a query:
                  {"query": id, "features": [[...], ...], "presented": [i, ...], "clicked": [i,
                  ...]}, documents counted from 0; without features it goes by the query's documents
                  in --documents FILE. Counted is the regret; or, of pairs of a clicked and an
                  unclicked document that were shown, the share that the learner has the wrong way
                  round. --held-out FILE adds the NDCG@10 of other queries.
      multiclass  confidit, banditron, newtron, multiclass-perceptron,
                  multiclass-second-order-perceptron, multiclass-arow: svmlight text (label
                  index:value ...) with whole labels or names (sport 3:0.5 ...). Counted are
                  mistakes.
      filtering   simple-filter, ridge-filter, probabilistic-ridge-filter, perceptron-filter:
                  svmlight text; relevant is what has a positive label, or --relevant LABEL where
                  rows have many (1,7,9 index:value ...). Counted are wrong decisions.
      convex      onseg, ogdeg, ons, ogd, dikin-ftrl: svmlight text; labels -1 and 1 (or 0 and 1)
                  mean the logistic loss, others the squared loss. Counted is the loss.

    FILE may be packed (gzip, bzip2, xz), converted, or - for standard input. Ctrl-C (and SIGTERM)
    save the model before they end; --from goes on with a saved one. --held-out FILE adds how the
    learner does on rows that it does not learn from.

    Features may have names (sport goal:2 ball); the first lines tell, or --names. Each name gets a
    column, which the model's file keeps, or with --hash-bits B one of VW's 2^B. Text of Vowpal
    Wabbit (label [weight] ['tag] |namespace name:value ...) is recognised by its |, or --format vw:
    rows for multiclass learners, filters and losses, and for rankings a line a document, a blank
    line behind each query. The model remembers names, labels and where they count from: choose,
    forward, rank and --from go by it.

    With --by KEY_COLUMN, online-ridge, linear-bandit and ridge-filter learn a model for each key,
    all in one file (a fleet): of a table (CSV, Parquet, Arrow), of JSON objects a line, or of
    svmlight text with --by qid. The target, reward or label stands in the column --label; the
    others are features, or those of --columns. --from FILE goes on with such a file, in place.

    With --text, multiclass learners and filters read plain text, a JSON object a line: {"text":
    "...", "label": 3}, where a label is a number, true or false, a name, or a list of these. Words
    are hashed to columns and weighted by TF-IDF, which counts the documents so far; how is kept in
    the model's file, and choose, forward and --from go by it. This needs scikit-learn.

    examples:
      coactive-fast train preference-perceptron queries.txt --user alpha:0.5 --passes 3
      coactive-fast train pdgd queries.txt --user clicks:navigational --k 10 --held-out test.txt
      coactive-fast train confidit news.svm.gz --shuffle --set eta=0.01 --model news.cf
      coactive-fast train ridge-filter articles.svm --relevant 36
      coactive-fast train ridge-filter docs.jsonl --text title,body --label topics --relevant grain
      coactive-fast train onseg abalone.svm --passes 150
      coactive-fast train confidit spam.vw --held-out later.vw --model spam.cf
      coactive-fast train online-ridge ratings.csv --by user --label rating --model users.fleet
      zcat clicks.gz | coactive-fast train preference-perceptron - --model clicks.cf
    """
    from .commands._train import train

    train(options)


def rank(options):
    """Reads LETOR text, text of names or VW's, as the model was trained on, or a log of clicks
    (only its documents count) and prints a line a query, {"query": id, "ranking": [i, ...]}: its
    documents, counted from 0, best first, without chance.

      coactive-fast rank queries.cf queries.txt --k 10
    """
    from .commands import _answer

    _answer.rank(options)


def choose(options):
    """Reads rows, as the model was trained on, and prints the guessed label of each; nothing is
    explored. Labels in the text, none or many, count for nothing; with --score they are compared,
    and what is printed is how many were guessed right.

      coactive-fast choose news.cf news.svm.gz
      coactive-fast choose news.cf later.svm.gz --score

    A model that was trained on plain text reads plain text, a JSON object a line, and prints the
    names of the classes, if they had any.
    """
    from .commands import _answer

    _answer.choose(options)


def forward(options):
    """Reads svmlight text and prints, for each row, 1 where it is forwarded or 0, and its margin.
    Labels in the text, none or many, count for nothing.

      coactive-fast forward filter.cf articles.svm

    A model that was trained on plain text reads plain text, a JSON object a line.
    """
    from .commands import _answer

    _answer.forward(options)


def evaluate(options):
    """Says what policies would have earned in the rounds of a log of decisions: the value with its
    standard error and 95 % interval, how many rounds of the policy itself would tell as much, and
    bounds that hold at all times at once (rewards must lie in --reward-range for them).

    LOG is dsjson or cb_adf text of Vowpal Wabbit's, or a table (CSV, Parquet, Arrow) with a row an
    action, or with --action a row a round; packed or not, or - for standard input. A POLICY is a
    model that `replay --model` or `save` wrote, or the word uniform.

    A model of `replay --model` knows its columns, and the log is read by them: features that it has
    not are left out. Another one fits the log whose columns it learned on: those of --hash-bits are
    always the same, those by name depend on the log.

    examples:
      coactive-fast evaluate log.json.gz --policy bandit.cf uniform --estimator snips
      coactive-fast evaluate log.csv --action arm --policy arms.cf --reward-range 0 10 --json
    """
    from .commands import _logs

    _logs.judge(options)


def replay(options):
    """Lets learners live through a log of decisions (see evaluate): each chooses round by round,
    and learns where it chose what the log did and a coin says so, by which the rounds that count
    are those it would have met. A LEARNER is linear-bandit, arm-bandit, confidit, banditron or
    newtron, with parameters if wanted (linear-bandit:explore=ucb,width=2), or a saved model. All
    but the first go by the context; how many arms or classes there are tells the log.

    examples:
      coactive-fast replay log.json linear-bandit linear-bandit:explore=squarecb
      coactive-fast replay log.json linear-bandit --set context_features=7 --model bandit.cf
    """
    from .commands import _logs

    _logs.live(options)


def convert(options):
    """Puts svmlight or LETOR text into one file of arrays, which train, rank, choose and forward
    take in the place of the text: it is mapped into memory, where text is parsed. Also a log of
    clicks that names documents instead of repeating their features, for train.

      coactive-fast convert queries.txt.gz queries.cf
    """
    from .commands._rows import convert

    convert(options)


def fleet(options):
    """Tells how many models the file of a fleet (coactive_fast.Fleet) holds, how large it is, and
    whether all records are whole; a writer may be at work meanwhile. With --key it shows the model
    of that key.

      coactive-fast fleet users.fleet
      coactive-fast fleet users.fleet --key 1729
    """
    from .commands._fleet import show

    show(options)


# --- what may be typed ----------------------------------------------------------------------------

def whole(least, most=None):
    def parse(text):
        try:
            value = int(text)
        except ValueError:
            value = None
        if value is None or value < least or most is not None and value > most:
            what = f">= {least}" if most is None else f"from {least} to {most}"
            raise argparse.ArgumentTypeError(f"expected a whole number {what}, got {text!r}")
        return value
    return parse


def finite(text):
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"expected a number, got {text!r}")
    return value


def names(text):
    return [name for name in text.split(",") if name]


def label(text):
    """A number, or a name."""
    try:
        return finite(text)
    except argparse.ArgumentTypeError:
        if not text or text.lower().strip("+-") in ("nan", "inf", "infinity"):
            raise
        return text


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
        self._mark(parser, shtab)
        print(shtab.complete(parser, values))
        parser.exit()

    def _mark(self, parser, shtab):
        """Says of each argument what may stand there."""
        from .commands import _by, _learners

        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                for command in action.choices.values():
                    self._mark(command, shtab)
            elif action.dest == "learner":
                action.choices = sorted({*_learners.CLASSES, *_by.CLASSES})
            elif action.metavar in ("FILE", "MODEL", "OUT", "LOG", "POLICY"):
                action.complete = shtab.FILE
            elif action.metavar == "DIR":
                action.complete = shtab.DIRECTORY


def text_argument(command):
    option(command, "--text", "FIELD,...",
           "FILE is plain text, a JSON object a line; its words are in these fields (default: "
           "text, or those the model was trained on)", nargs="?", const="")


def stream_arguments(command, clicks):
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


def by_arguments(command):
    group = command.add_argument_group("a model for each key")
    option(group, "--by", "KEY_COLUMN",
           "the column of a table or of JSON that says whose row it is; or qid")
    option(group, "--columns", "NAME,...", "the features (default: all others)")
    option(group, "--keys", None, "what keys are (default: the first rows tell)",
           choices=("number", "text"))
    option(group, "--skip", "N", "rows at the beginning that are left out, as learned before",
           whole(0))


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


def log_commands(commands):
    command = add(commands, "evaluate", evaluate, "say what a policy would have earned on a log")
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

    command = add(commands, "replay", replay, "let learners live through a log")
    log_arguments(command)
    option(command, "learners", "LEARNER", "a name, or a saved model", nargs="+")
    option(command, "--set", "NAME=VALUE", "a parameter of the new learners; may be given again",
           action="append", default=[])
    option(command, "--p-min", "P", "the least probability of any action (default: that in LOG)",
           finite)
    option(command, "--seed", "S", "of what is accepted, and of new learners (default: 0)",
           whole(0), default=0)
    option(command, "--model", "OUT", "where the learner is saved")


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
    stream_arguments(command, clicks=True)
    text_argument(command)
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
    by_arguments(command)
    flag(command, "--quiet", "no table and no notes; warnings and errors remain")
    option(command, "--radius", "R", "convex: of the ball of weights (default: 1)", finite)
    flag(command, "--no-scale", "convex: leave the columns as they are")

    for run, name, text in (
            (rank, "a ranking model", "order the documents of each query, a JSON object a line"),
            (choose, "a multiclass model", "guess the class of each row, a label a line"),
            (forward, "a filter", "say for each row whether it is forwarded (1, 0), "
                                    "and its margin")):
        command = add(commands, run.__name__, run, text)
        option(command, "model", "MODEL", f"{name} that train saved")
        stream_arguments(command, clicks=run is rank)
        if run is rank:
            command.set_defaults(text=None)
            option(command, "--k", "K", "only the first K places (default: all)", whole(1))
            flag(command, "--average", "by the mean of the weights after each round")
        else:
            text_argument(command)
        if run is choose:
            option(command, "--first-label", None,
                   "where classes count from (default: what the model remembers, of an old file 0)",
                   int, choices=(0, 1))
            flag(command, "--score", "instead of the labels, how many are right")
            option(command, "--label", "FIELD",
                   "with --score, of plain text: the field of the label (default: label)")

    log_commands(commands)

    command = add(commands, "convert", convert,
                  "put svmlight or LETOR text into a file that is mapped instead of parsed")
    option(command, "file", "FILE", "text, packed or not")
    option(command, "out", "OUT", "a new file, or a converted one to replace")
    flag(command, "--multilabel", "rows have any number of labels")
    flag(command, "--zero-based", "feature indices count from 0 (default: from 1)")

    command = add(commands, "fleet", fleet, "what is in a file of very many models")
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

    def warn(message, *where):
        print(f"coactive-fast {command}: warning: {message}", file=sys.stderr)

    try:
        with warnings.catch_warnings():
            warnings.showwarning = warn
            status = options.run(options) or 0
            if sys.stdout is not None:
                sys.stdout.flush()  # here an error of the last lines still counts
            return status
    except KeyboardInterrupt as signal:
        print(f"\ncoactive-fast {command}: interrupted", file=sys.stderr)
        return 128 + getattr(signal, "number", 2)
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
