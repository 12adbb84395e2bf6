"""``coactive-fast evaluate | replay``: what policies would have earned on a log of decisions.

The columns of a log belong to it, unless they are those of VW's table. So `replay --model` writes
beside the learner which columns it learned on, and both commands read a log by them.
"""

import contextlib
import functools
import inspect
import json
import math
import os
import sys

import numpy as np

from coactive_fast import ArmBandit, Banditron, Confidit, LinearBandit, Newtron
from coactive_fast.learner import _store
from coactive_fast.logs import BanditLog, _vw, evaluate, replay

from . import Trouble, _learners, _streams, stoppable

KIND = "log"
REPLAYED = {_learners.kebab(cls.__name__): cls
            for cls in (LinearBandit, ArmBandit, Confidit, Banditron, Newtron)}
ARMS = ("n_arms", "n_classes")  # parameters that say how many actions a round has
TABLES = (b"PAR1", b"ARROW1")
HASHED = ("hash_bits", "context_bits", "chain_hash")
VW = (*HASHED, "unlabelled")  # for VW's formats only
TABLE = ("round", "chosen", "reward", "probability", "action", "n_actions", "features", "context",
         "group")
LISTS = ("features", "context")


# --- the log --------------------------------------------------------------------------------------


def format_of(path):
    """"dsjson", "cb" or "table", by the first bytes."""
    start = _streams.start_of(path)
    if start.startswith(TABLES):
        return "table"
    text = start.removeprefix(_streams.BOM).lstrip()
    if text.startswith(b"{"):
        return "dsjson"
    return "cb" if b"|" in text.split(b"\n", 1)[0] else "table"


class Logs:
    """The log of the command line, by the columns of each model that asks for it."""

    def __init__(self, options):
        self.path, self.name = options.log, _streams.name_of(options.log)
        self.quiet = options.quiet  # a bar is shown where somebody watches
        self.progress = not self.quiet and sys.stderr is not None and sys.stderr.isatty()
        self.format = options.format or format_of(self.path)
        given = {name: getattr(options, name) for name in VW + TABLE}
        self.given = {name: value for name, value in given.items() if value not in (None, False)}
        other = next((name for name in self.given if name in (VW, TABLE)[self.format != "table"]),
                     None)
        if other is not None:
            raise Trouble(f"--{other.replace('_', '-')} is not for {self.format}: {self.name}")
        for name in LISTS:
            if name in self.given:
                self.given[name] = [part for part in self.given[name].split(",") if part]
        self.read = {}  # the options, as JSON: a log

    def of(self, columns, model):
        """The log as a model needs it; `columns` is what its file says, or None."""
        wanted = dict(self.given)
        if columns is not None:
            wanted |= self._wanted(columns, model)
        key = json.dumps(wanted, sort_keys=True)
        if key not in self.read:
            if self.read and _streams.is_stdin(self.path):
                raise Trouble("the models go by different columns, and standard input is read once")
            self.read[key] = self._read(wanted)
        log = self.read[key]
        if columns is not None and self.format == "table":
            found = [list(names or ()) for names in (log.feature_names, log.context_names)]
            if found != [columns["names"] or [], columns["context_names"] or []]:
                raise Trouble(f"{model} goes by other columns than {self.name} has")
        return log

    def _wanted(self, columns, model):
        if columns["table"] != (self.format == "table"):
            raise Trouble(f"{model} has learned from {'a table' if columns['table'] else 'VW text'}"
                          f", and {self.name} is {self.format}")
        own = {name: columns[name] for name in HASHED if columns.get(name)}
        for name in own.keys() & self.given.keys():
            if own[name] != self.given[name]:
                raise Trouble(f"--{name.replace('_', '-')} is {own[name]} in {model}, got "
                              f"{self.given[name]}")
        if self.format != "table":
            for bits, names in (("hash_bits", "names"), ("context_bits", "context_names")):
                if bits not in own:
                    own[names] = columns[names] or []
                    if bits in self.given:
                        raise Trouble(f"--{bits.replace('_', '-')} is not for {model}, which goes "
                                      "by names")
        return own

    def _read(self, wanted):
        with contextlib.ExitStack() as stack:
            path = self.path
            if _streams.is_stdin(path):
                path = stack.enter_context(_streams.source(path))
            read = (BanditLog.from_table if self.format == "table" else
                    functools.partial(BanditLog.from_vw, format=self.format))
            log = read(path, progress=self.progress, **wanted)
        more = f", {log.n_context:,} of context" if log.n_context else ""
        if not self.quiet:
            print(f"{self.name}: {len(log):,} rounds, {log.n_actions:,} actions, "
                  f"{log.n_features:,} features{more}{_vw.told(log.left_out)}", file=sys.stderr)
        return log

    def columns(self, log):
        """What `of` is given again: which columns the log has."""
        hashed = {name: self.given.get(name) for name in HASHED}
        names = {"names": None if hashed["hash_bits"] else log.feature_names,
                 "context_names": None if hashed["context_bits"] else log.context_names}
        return {"kind": KIND, "table": self.format == "table", **hashed,
                **{what: None if one is None else list(one) for what, one in names.items()}}


# --- policies and learners ------------------------------------------------------------------------


def saved(path):
    """A model, and the columns it has learned on; None where its file does not say."""
    learner, beside = _learners.read_model(path)
    if beside is None:
        return learner, None
    head = beside[0]
    if head.get("kind") == "rows" and head.get("features") == "indices":
        return learner, None
    if head.get("kind") != KIND:
        what = {"rows": "names of features"}.get(head.get("kind"), head.get("kind"))
        raise Trouble(f"{path} was trained on {what}, not on rows of a log")
    names = (head.get("names"), head.get("context_names"))
    if not isinstance(head.get("table"), bool) or any(
            not isinstance(one, (list, type(None))) for one in names):
        raise Trouble(f"{path}: what it says of its columns is damaged")
    return learner, head


def made(text, given, log, seed):
    """A new learner from ``name:parameter=value,...`` and what --set says; sizes are the log's."""
    name, _, own = text.partition(":")
    cls = REPLAYED[name]
    known = inspect.signature(cls).parameters
    found = _learners.parameters(cls, [one for one in given if one.partition("=")[0] in known])
    found |= _learners.parameters(cls, [one for one in own.split(",") if one])
    for size in ARMS:
        if size in known and size not in found:
            found[size] = int(np.diff(log.offsets).max())
    if "seed" in known:
        found.setdefault("seed", seed)
    return _learners.build(cls, found)


def class_named(text):
    """Whether a LEARNER is a class; else it must be a file."""
    name = text.partition(":")[0]
    if name in REPLAYED:
        return True
    if not os.path.exists(text):
        kinds = ", ".join(REPLAYED)
        raise Trouble(f"LEARNER {text}: there is no such file, and it is none of {kinds}")
    return False


def refuse_unknown(options):
    """A parameter that no learner has."""
    new = [text.partition(":")[0] for text in options.learners if class_named(text)]
    for one in options.set:
        name = one.partition("=")[0]
        if not any(name in inspect.signature(REPLAYED[cls]).parameters for cls in new):
            raise Trouble(f"--set {one}: no new learner here has a parameter {name}")


# --- evaluate -------------------------------------------------------------------------------------


def number(value):
    """For JSON, which has no NaN."""
    return value if math.isfinite(value) else None


def judge(options):
    """A line a policy; or, with --json, an object."""
    logs = Logs(options)
    policies = [(name, *((None, None) if name == "uniform" else saved(name)))
                for name in options.policy]
    some = next((one for one in policies if one[2] is not None), (None, None, None))
    headed = False
    for name, policy, columns in policies:
        log = logs.of(columns, name) if policy is not None else logs.of(some[2], some[0])
        if policy is None:
            lengths = np.diff(log.offsets)
            policy = np.repeat(1.0 / lengths, lengths)
        try:
            found = evaluate(policy, log,
                             estimator=options.estimator, folds=options.folds,
                             max_weight=options.max_weight, reward_range=options.reward_range,
                             force=options.force, samples=options.samples,
                             progress=logs.progress)
        except (TypeError, ValueError) as error:
            raise Trouble(f"{name}: {error}{hint(error, columns)}") from error
        last = found.running.lower[-1], found.running.upper[-1]
        if options.json:
            print(json.dumps({
                "policy": name, "estimator": found.estimator, "value": number(found.value),
                "standard_error": number(found.standard_error),
                "interval": [number(end) for end in found.interval],
                "effective_sample_size": number(found.effective_sample_size),
                "rounds": found.rounds, "logged": float(log.reward.mean()),
                "at_all_times": [number(end) for end in last]}), flush=True)
            continue
        if not headed:
            print(f"{'policy':24} {'value':>10} {'error':>9} {'95 % from':>10} {'to':>10} "
                  f"{'as good as':>11} {'always from':>12} {'to':>10}")
            headed = True
        print(f"{name[-24:]:24} {found.value:>10.5g} {found.standard_error:>9.2g} "
              f"{found.interval[0]:>10.5g} {found.interval[1]:>10.5g} "
              f"{found.effective_sample_size:>11,.0f} {last[0]:>12.5g} {last[1]:>10.5g}",
              flush=True)
    if not options.json:
        print(f"the log's own policy: {log.reward.mean():.5g} in {len(log):,} rounds")


def hint(error, columns):
    """What may help where a model does not fit the log."""
    if columns is None and any(f"{part} of log" in str(error) for part in ("features", "context")):
        return (" (its file does not say which columns it goes by: read the log as the one it "
                "learned from was read, by --hash-bits say)")
    return ""


# --- replay ---------------------------------------------------------------------------------------


def live(options):
    """Lets learners live through the log; a line each."""
    refuse_unknown(options)
    if options.model is not None:
        if len(options.learners) > 1:
            raise Trouble("--model takes one learner")
        _streams.check_target("--model", options.model, options.log)
    logs = Logs(options)
    loaded = [None if class_named(text) else saved(text) for text in options.learners]
    columns = [one[1] for one in loaded if one is not None and one[1] is not None]
    if any(one != columns[0] for one in columns):
        raise Trouble("the models go by different columns: replay them one by one")
    log = logs.of(columns[0] if columns else None, "the model")
    learners = [made(text, options.set, log, options.seed) if one is None else one[0]
                for text, one in zip(options.learners, loaded, strict=True)]
    try:
        with stoppable():
            histories = replay(learners, log, p_min=options.p_min, seed=options.seed,
                               progress=logs.progress)
    except (TypeError, ValueError) as error:
        raise Trouble(f"{error}{hint(error, columns[0] if columns else None)}") from error
    if options.model is not None:
        beside = columns[0] if columns else logs.columns(log)
        _store.save(learners[0], options.model, (beside, {}))
    show(options, histories)


def show(options, histories):
    if not options.json:
        print(f"{'learner':32} {'mean reward':>12} {'error':>9} {'accepted':>10} {'of':>12}")
    for text, history in zip(options.learners, histories, strict=True):
        if options.json:
            print(json.dumps({"learner": text, "mean_reward": number(history.mean_reward),
                              "standard_error": number(history.standard_error),
                              "accepted": len(history), "rounds": history.rounds}))
        else:
            print(f"{text[-32:]:32} {history.mean_reward:>12.5g} {history.standard_error:>9.2g} "
                  f"{len(history):>10,} {history.rounds:>12,}")
    if options.model is not None and not options.quiet:
        print(f"saved: {options.model}", file=sys.stderr if options.json else sys.stdout)
