"""``coactive-fast rank | choose | forward``: a saved model over a stream, an answer a line."""

import json

import numpy as np

import coactive_fast as cf
from coactive_fast.learner import _store

from . import Trouble, _clicks, _learners, _streams, troubles, warn
from ._reading import Reading
from ._rows import MODELS, Labels


def loaded(path, options, family=None):
    """A saved model, of the family that is asked for, and how its rows are read: as its file says,
    with the options of the command line."""
    learner, beside = _store.loaded(path)
    found = _learners.family_of(type(learner))
    if family not in (None, found):
        raise Trouble(f"{path} holds a {type(learner).__name__}, which is for {found}: "
                      f"{_learners.COMMAND.get(found, 'nothing')} reads it")
    reading = Reading.of(beside, path)
    reading.refuse_other(options, path)
    return learner, reading


def width(learner):
    """How many columns a learner has; None before its first row."""
    for owner, name in ((learner, "dimension"), (learner._engine, "_dimension")):
        if hasattr(owner, name):
            return getattr(owner, name) or None
    return learner.weights.shape[-1] or None


def rank(options):
    """Reads LETOR text, text of names or VW's, as the model was trained on, or a log of clicks
    (only its documents count) and prints a line a query, {"query": id, "ranking": [i, ...]}: its
    documents, counted from 0, best first, without chance.

      coactive-fast rank queries.cf queries.txt --k 10
    """
    learner, reading = loaded(options.model, options, "ranking")
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


def stream(options, family, labels=False):
    """A model, how it reads, a file's rows, and their pieces, which are as wide as the model.

    Labels count for nothing, unless they are asked for. Text is made into rows as the model's file
    says.
    """
    learner, reading = loaded(options.model, options, family)
    most = learner.get_params().get("max_features")
    columns = width(learner) if reading.words is None else reading.words.columns
    if columns is None:
        raise Trouble(f"{options.model} has learned nothing yet")
    if most is not None:
        columns = None  # rows may be wider than those it has seen
    classes = reading.classes
    labels = Labels(classes, named=bool(classes), closed=True, why=MODELS) if labels else None
    rows = reading.rows(options.file, options, columns, most, labels=labels)

    def pieces():
        yield from rows.pieces(columns)
        warn_of(rows.left_out, options)
    return learner, reading, rows, pieces()


def choose(options):
    """Reads rows, as the model was trained on, and prints the guessed label of each; nothing is
    explored. Labels in the text, none or many, count for nothing; with --score they are compared,
    and what is printed is how many were guessed right.

      coactive-fast choose news.cf news.svm.gz
      coactive-fast choose news.cf later.svm.gz --score

    A model that was trained on plain text reads plain text, a JSON object a line, and prints the
    names of the classes, if they had any.
    """
    learner, reading, rows, pieces = stream(options, "multiclass", options.score)
    first, classes = reading.first_label(options.first_label, options.model) or 0, reading.classes
    if options.score:
        score(learner, rows, pieces, None if classes else first)
        return
    for piece in pieces:
        labels = learner.predict(piece.X).tolist()
        print("\n".join(classes[label] if label < len(classes) else str(label + first)
                        for label in labels), flush=True)


def refuse_below(labels, first, name=""):
    """A label that no class can have says that they count from elsewhere."""
    if len(labels) and np.min(labels) < first:
        raise Trouble(f"{name}label {np.min(labels):.10g} cannot be a class: the model's count "
                      f"from {first} (--first-label)")


def score(learner, rows, pieces, first):
    """How many guesses are right, of the rows that have a label; `first` is None where classes
    have names."""
    right = labelled = without = 0
    for piece in pieces:
        rows.check_single(piece, "a class is one label a row", least=0)
        has = np.flatnonzero(piece.counts)
        if first is not None:  # unknown names have a number below all
            refuse_below(piece.labels, first, f"{rows.name}: ")
        guessed = learner.predict(piece.X)[has] + (first or 0)
        right += int((guessed == piece.labels).sum())
        labelled += has.size
        without += len(piece) - has.size
    if labelled == 0:
        raise Trouble(f"{rows.name}: no row has a label: --score compares with labels")
    more = f"; {without:,} rows have no label" if without else ""
    print(f"{right / labelled:.4f} correct: {right:,} of {labelled:,} rows, "
          f"{labelled - right:,} mistakes{more}")


def forward(options):
    """Reads svmlight text and prints, for each row, 1 where it is forwarded or 0, and its margin.
    Labels in the text, none or many, count for nothing.

      coactive-fast forward filter.cf articles.svm

    A model that was trained on plain text reads plain text, a JSON object a line.
    """
    learner, _, _, pieces = stream(options, "filtering")
    for piece in pieces:
        for row in piece.singly():
            print(int(learner.forward(row)), f"{learner.margin(row):.10g}")
        print(end="", flush=True)
