"""``coactive-fast rank | choose | forward``: a saved model over a stream, an answer a line."""

import json

import numpy as np

import coactive_fast as cf

from . import Trouble, _clicks, _learners, _streams, troubles, warn
from ._reading import Reading
from ._rows import MODELS, Labels


def loaded(path, family=None):
    """A saved model of the family that is asked for, and what its file says of the text it was
    trained on; None: on numbers."""
    learner, beside = _learners.read_model(path)
    found = _learners.family_of(learner)
    if family not in (None, found):
        raise Trouble(f"{path} holds a {type(learner).__name__}, which is for {found}: "
                      f"{_learners.COMMAND.get(found, 'nothing')} reads it")
    return learner, beside


def width(learner):
    """How many columns a learner has; None before its first row."""
    for owner, name in ((learner, "dimension"), (learner._engine, "_dimension")):
        if hasattr(owner, name):
            return getattr(owner, name) or None
    return learner.weights.shape[-1] or None


def rank(options):
    """A JSON object a query: its name and the documents, best first."""
    learner, beside = loaded(options.model, "ranking")
    reading = Reading.of(beside, options.model)
    reading.refuse_other(options, options.model)
    if options.clicks or _streams.kind_of(options.file) == "clicks":
        queries = ((q.query, q.features, q.where)
                   for q in _clicks.clicks(options.file, learning=False))
    else:
        data = reading.ranking(options.file, options, width(learner), graded=False)
        warn_of(reading.left_out, options)
        names = range(len(data)) if data.query_ids is None else data.query_ids.tolist()
        queries = ((name, query.features, f"{_streams.name_of(options.file)}: query {name}")
                   for name, query in zip(names, data, strict=True))
    for name, features, where in queries:
        with troubles(where):
            scores = learner.scores(features, average=options.average)
            order = cf.kernels.top_k(scores, len(scores) if options.k is None else options.k)
        print(json.dumps({"query": name, "ranking": order.tolist()}), flush=True)


def warn_of(left_out, options):
    """Says that features without a column were left out."""
    if left_out:
        warn(options.command, f"{left_out:,} features have names that {options.model} does not "
             "know: they were left out")


class Stream:
    """A model, and a stream in pieces that are as wide as it is. Labels count for nothing, unless
    they are asked for. Text is made into rows as the model's file says."""

    def __init__(self, options, family, labels=False):
        self.options = options
        self.learner, beside = loaded(options.model, family)
        self.reading = Reading.of(beside, options.model)
        self.reading.refuse_other(options, options.model)
        words, most = self.reading.words, self.learner.get_params().get("max_features")
        columns = width(self.learner) if words is None else words.columns
        if columns is None:
            raise Trouble(f"{options.model} has learned nothing yet")
        self.columns = columns if most is None else None  # rows may be wider than it has seen
        names = self.reading.classes
        self.rows = self.reading.rows(
            options.file, options, most or columns, fixed=most is None, labels=None if not labels
            else Labels(names, named=bool(names), closed=True, why=MODELS))

    def pieces(self):
        yield from self.rows.pieces(self.columns)
        if self.reading.features == "names":
            warn_of(self.rows.left_out, self.options)


def choose(options):
    """A label a row: the best guess, nothing explored."""
    stream = Stream(options, "multiclass", options.score)
    first = stream.reading.first_label(options.first_label, options.model) or 0
    classes = stream.reading.classes
    if options.score:
        score(stream, first)
        return
    for piece in stream.pieces():
        labels = stream.learner.predict(piece.X).tolist()
        print("\n".join(classes[label] if label < len(classes) else str(label + first)
                        for label in labels), flush=True)


def refuse_below(labels, first, name=""):
    """A label that no class can have says that they count from elsewhere."""
    if len(labels) and np.min(labels) < first:
        raise Trouble(f"{name}label {np.min(labels):.10g} cannot be a class: the model's count "
                      f"from {first} (--first-label)")


def score(stream, first):
    """How many guesses are right, of the rows that have a label."""
    rows = right = without = 0
    for piece in stream.pieces():
        stream.rows.check_single(piece, "a class is one label a row", least=0)
        has = np.flatnonzero(piece.counts)
        if not stream.reading.classes:  # unknown names have a number below all
            refuse_below(piece.labels, first, f"{stream.rows.name}: ")
        guessed = stream.learner.predict(piece.X)[has] + first
        right += int((guessed == piece.labels).sum())
        rows += has.size
        without += len(piece) - has.size
    if rows == 0:
        raise Trouble(f"{stream.rows.name}: no row has a label: --score compares with labels")
    more = f"; {without:,} rows have no label" if without else ""
    print(f"{right / rows:.4f} correct: {right:,} of {rows:,} rows, {rows - right:,} mistakes"
          f"{more}")


def forward(options):
    """1 or 0 a row, and the margin."""
    stream = Stream(options, "filtering")
    for piece in stream.pieces():
        for row in piece.singly():
            print(int(stream.learner.forward(row)), f"{stream.learner.margin(row):.10g}")
        print(end="", flush=True)
