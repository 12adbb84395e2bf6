"""``coactive-fast evaluate | replay``: what policies would have earned on a log of decisions.

The columns of a log belong to it, unless they are those of VW's table. So `replay --model` writes
beside the learner which columns it learned on, and both commands read a log by them.
"""

import contextlib
import inspect
import json
import math
import os
import re
import sys

import numpy as np

from coactive_fast import ArmBandit, Banditron, Confidit, LinearBandit, Newtron
from coactive_fast.learner import _store
from coactive_fast.logs import BanditLog, _vw, evaluate, replay

from . import Trouble, _learners, _streams, refuse_options, stoppable

KIND = "log"
REPLAYED = {_learners.kebab(cls.__name__): cls
            for cls in (LinearBandit, ArmBandit, Confidit, Banditron, Newtron)}
ARMS = ("n_arms", "n_classes")  # parameters that say how many actions a round has
TABLES = (b"PAR1", b"ARROW1")
HASHED = ("hash_bits", "context_bits", "chain_hash")
VW = (*HASHED, "unlabelled")  # for VW's formats only
TABLE = ("round", "chosen", "reward", "probability", "action", "n_actions", "features", "context",
         "group")
ESTIMATION = ("estimator", "folds", "max_weight", "reward_range", "force", "samples")


# --- the log --------------------------------------------------------------------------------------


def format_of(path):
    """"dsjson", "cb" or "table", by the first bytes."""
    start = _streams.start_of(path)
    form = _streams.form_of(start)
    if start.startswith(TABLES) or not form.vw and form.kind != "clicks":
        return "table"
    return "cb" if form.vw else "dsjson"


class Logs:
    """The log of the command line, by the columns of each model that asks for it."""

    def __init__(self, options):
        self.path, self.name = options.log, _streams.name_of(options.log)
        self.quiet = options.quiet  # else a bar is shown on a terminal
        self.progress = not self.quiet and sys.stderr is not None and sys.stderr.isatty()
        self.format = options.format or format_of(self.path)
        self.table = self.format == "table"
        own, other = (TABLE, VW) if self.table else (VW, TABLE)
        refuse_options(options, other, f"is not for {self.format}: {self.name}")
        given = {name: getattr(options, name) for name in own}
        self.given = {name: value for name, value in given.items() if value not in (None, False)}
        self.logs = {}  # by what was asked for, as JSON

    def of(self, columns, model):
        """The log as a model needs it; `columns` is what its file says, or None."""
        wanted = self.given if columns is None else {**self.given, **self._own(columns, model)}
        key = json.dumps(wanted, sort_keys=True)
        if key not in self.logs:
            if self.logs and _streams.is_stdin(self.path):
                raise Trouble("the models go by different columns, and standard input is read once")
            self.logs[key] = self._read(wanted)
        log = self.logs[key]
        if columns is not None and self.table:
            for found, name in ((log.feature_names, "names"), (log.context_names, "context_names")):
                if list(found or ()) != (columns[name] or []):
                    raise Trouble(f"{model} goes by other columns than {self.name} has")
        return log

    def _own(self, columns, model):
        """How a model's own columns are asked for."""
        if columns["table"] != self.table:
            raise Trouble(f"{model} has learned from {'a table' if columns['table'] else 'VW text'}"
                          f", and {self.name} is {self.format}")
        own = {name: columns[name] for name in HASHED if columns.get(name)}
        for name in own.keys() & self.given.keys():
            if own[name] != self.given[name]:
                raise Trouble(f"--{name.replace('_', '-')} is {own[name]} in {model}, got "
                              f"{self.given[name]}")
        for bits, names in (("hash_bits", "names"), ("context_bits", "context_names")):
            if not self.table and bits not in own:
                own[names] = columns[names] or []
                if bits in self.given:
                    raise Trouble(f"--{bits.replace('_', '-')} is not for {model}, which goes by "
                                  "names")
        return own

    def _read(self, wanted):
        stdin = _streams.is_stdin(self.path)
        with _streams.source(self.path) if stdin else contextlib.nullcontext(self.path) as file:
            if self.table:
                log = BanditLog.from_table(file, progress=self.progress, **wanted)
            else:
                log = BanditLog.from_vw(file, format=self.format, progress=self.progress, **wanted)
        more = f", {log.n_context:,} of context" if log.n_context else ""
        if not self.quiet:
            print(f"{self.name}: {len(log):,} rounds, {log.n_actions:,} actions, "
                  f"{log.n_features:,} features{more}{_vw.told(log.left_out)}", file=sys.stderr)
        return log

    def columns(self, log):
        """Which columns the log has, as `of` receives it."""
        names = {"names": () if "hash_bits" in self.given else log.feature_names,
                 "context_names": () if "context_bits" in self.given else log.context_names}
        return {"kind": KIND, "table": self.table,
                **{name: self.given.get(name) for name in HASHED},
                **{name: list(found) if found else None for name, found in names.items()}}


# --- policies and learners ------------------------------------------------------------------------


def saved(path):
    """A model, and the columns it has learned on; None where its file does not say."""
    learner, beside = _store.loaded(path)
    head = None if beside is None else beside[0]
    if head is None or head.get("kind") == "rows" and head.get("features") == "indices":
        return learner, None
    if head.get("kind") != KIND:
        what = {"rows": "names of features"}.get(head.get("kind"), head.get("kind"))
        raise Trouble(f"{path} was trained on {what}, not on rows of a log")
    if not isinstance(head.get("table"), bool) or any(
            not isinstance(head.get(name), list | None) for name in ("names", "context_names")):
        raise Trouble(f"{path}: what it says of its columns is damaged")
    return learner, head


def class_of(text):
    """The class that a LEARNER names; None of a file."""
    cls = REPLAYED.get(text.partition(":")[0])
    if cls is None and not os.path.exists(text):
        raise Trouble(f"LEARNER {text}: there is no such file, and it is none of "
                      f"{', '.join(REPLAYED)}")
    return cls


def made(cls, text, options, log):
    """A new learner from ``name:parameter=value,...`` and what --set says; sizes are the log's."""
    known, own = inspect.signature(cls).parameters, text.partition(":")[2]
    given = [one for one in options.set if one.partition("=")[0] in known]
    found = {name: int(np.diff(log.offsets).max()) for name in ARMS if name in known}
    if "seed" in known:
        found["seed"] = options.seed
    found |= _learners.parameters(cls, [*given, *filter(None, own.split(","))])
    return _learners.build(cls, found)


@contextlib.contextmanager
def fitting(columns, before=""):
    """Errors say what may help where a model whose columns are not known does not fit the log."""
    try:
        yield
    except (TypeError, ValueError) as error:
        hint = ""
        if columns is None and re.search("(features|context) of log", str(error)):
            hint = (" (its file does not say which columns it goes by: read the log as the one it "
                    "learned from was read, by --hash-bits say)")
        raise Trouble(f"{before}{error}{hint}") from error


def print_object(**found):
    """JSON, which has no NaN."""
    def plain(value):
        if isinstance(value, tuple):
            return [plain(one) for one in value]
        return value if isinstance(value, str) or math.isfinite(value) else None

    print(json.dumps({name: plain(value) for name, value in found.items()}), flush=True)


# --- evaluate -------------------------------------------------------------------------------------


def judge(options):
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
    logs = Logs(options)
    policies = [(name, *((None, None) if name == "uniform" else saved(name)))
                for name in options.policy]
    other = next(((columns, name) for name, _, columns in policies if columns is not None),
                 (None, None))  # by which the uniform policy reads the log
    for number, (name, policy, columns) in enumerate(policies):
        log = logs.of(*(other if policy is None else (columns, name)))
        if policy is None:
            lengths = np.diff(log.offsets)
            policy = np.repeat(1.0 / lengths, lengths)
        with fitting(columns, f"{name}: "):
            found = evaluate(policy, log, progress=logs.progress,
                             **{option: getattr(options, option) for option in ESTIMATION})
        low, high = found.interval
        lowest, highest = found.running.lower[-1], found.running.upper[-1]
        if options.json:
            print_object(policy=name, estimator=found.estimator, value=found.value,
                         standard_error=found.standard_error, interval=(low, high),
                         effective_sample_size=found.effective_sample_size, rounds=found.rounds,
                         logged=float(log.reward.mean()), at_all_times=(lowest, highest))
            continue
        if number == 0:
            print(f"{'policy':24} {'value':>10} {'error':>9} {'95 % from':>10} {'to':>10} "
                  f"{'as good as':>11} {'always from':>12} {'to':>10}")
        print(f"{name[-24:]:24} {found.value:>10.5g} {found.standard_error:>9.2g} {low:>10.5g} "
              f"{high:>10.5g} {found.effective_sample_size:>11,.0f} {lowest:>12.5g} "
              f"{highest:>10.5g}", flush=True)
    if not options.json:
        print(f"the log's own policy: {log.reward.mean():.5g} in {len(log):,} rounds")


# --- replay ---------------------------------------------------------------------------------------


def live(options):
    """Lets learners live through a log of decisions (see evaluate): each chooses round by round,
    and learns where it chose what the log did and a coin says so, by which the rounds that count
    are those it would have met. A LEARNER is linear-bandit, arm-bandit, confidit, banditron or
    newtron, with parameters if wanted (linear-bandit:explore=ucb,width=2), or a saved model. All
    but the first go by the context; how many arms or classes there are tells the log.

    examples:
      coactive-fast replay log.json linear-bandit linear-bandit:explore=squarecb
      coactive-fast replay log.json linear-bandit --set context_features=7 --model bandit.cf
    """
    classes = [class_of(text) for text in options.learners]
    for one in options.set:
        name = one.partition("=")[0]
        if not any(cls and name in inspect.signature(cls).parameters for cls in classes):
            raise Trouble(f"--set {one}: no new learner here has a parameter {name}")
    if options.model is not None:
        if len(options.learners) > 1:
            raise Trouble("--model takes one learner")
        _streams.check_target("--model", options.model, options.log)
    logs = Logs(options)
    pairs = [(None, None) if cls else saved(text)
             for cls, text in zip(classes, options.learners, strict=True)]
    known = [columns for _, columns in pairs if columns is not None]
    columns = known[0] if known else None
    if any(one != columns for one in known):
        raise Trouble("the models go by different columns: replay them one by one")
    log = logs.of(columns, "the model")
    learners = [made(cls, text, options, log) if cls else learner for cls, text, (learner, _)
                in zip(classes, options.learners, pairs, strict=True)]
    with fitting(columns), stoppable():
        histories = replay(learners, log, p_min=options.p_min, seed=options.seed,
                           progress=logs.progress)
    if options.model is not None:
        _store.save(learners[0], options.model, (columns or logs.columns(log), {}))
    if not options.json:
        print(f"{'learner':32} {'mean reward':>12} {'error':>9} {'accepted':>10} {'of':>12}")
    for text, history in zip(options.learners, histories, strict=True):
        if options.json:
            print_object(learner=text, mean_reward=history.mean_reward,
                         standard_error=history.standard_error, accepted=len(history),
                         rounds=history.rounds)
        else:
            print(f"{text[-32:]:32} {history.mean_reward:>12.5g} {history.standard_error:>9.2g} "
                  f"{len(history):>10,} {history.rounds:>12,}")
    if options.model is not None and not options.quiet:
        print(f"saved: {options.model}", file=sys.stderr if options.json else sys.stdout)
