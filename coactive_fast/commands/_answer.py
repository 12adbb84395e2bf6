"""``coactive-fast rank | choose | forward``: a saved model over a stream, an answer a line."""

import json

import coactive_fast as cf
from coactive_fast.learner import _store

from . import Trouble, _learners, _rows, _streams, _text


def load(path, family=None):
    """A saved model, for the family that is asked for."""
    return loaded(path, family)[0]


def loaded(path, family=None):
    """The same, and what the file says of the text it was trained on; None: on numbers."""
    try:
        learner, beside = _store.loaded(path)
    except OSError as error:
        raise Trouble(f"{path}: {error.strerror or error}") from error
    found = _learners.family_of(learner)
    if family not in (None, found):
        raise Trouble(f"{path} holds a {type(learner).__name__}, which is for {found}: "
                      f"{_learners.COMMAND.get(found, 'nothing')} reads it")
    return learner, beside


def width(learner):
    """How many columns a learner knows; None before its first row."""
    for owner in (learner, learner._engine):
        if hasattr(owner, "dimension"):
            return owner.dimension or None
    return learner.weights.shape[-1] or None


def rank(options):
    """A JSON object a query: its name and the documents, best first."""
    learner = load(options.model, "ranking")
    if options.clicks or _streams.kind_of(options.file) == "clicks":
        queries = ((q.query, q.features, q.where)
                   for q in _streams.clicks(options.file, told=False))
    else:
        data = _streams.ranking_data(options.file, width(learner), options.zero_based)
        names = range(len(data)) if data.query_ids is None else data.query_ids.tolist()
        queries = ((name, query.features, f"{_streams.name_of(options.file)}: query {name}")
                   for name, query in zip(names, data, strict=True))
    for name, features, where in queries:
        try:
            scores = learner.scores(features, average=options.average)
            order = cf.kernels.top_k(scores, len(scores) if options.k is None else options.k)
        except ValueError as error:
            raise Trouble(f"{where}: {error}") from error
        print(json.dumps({"query": name, "ranking": order.tolist()}), flush=True)


def stream(options, family):
    """The model, the stream in pieces that are as wide as it is, and the names of its classes;
    labels count for nothing. Text is made into rows as the model's file says."""
    learner, beside = loaded(options.model, family)
    if beside is None:
        if options.text is not None:
            raise Trouble(f"{options.model} was not trained on text: it has no words to go by")
        return learner, _pieces(learner, options), []
    words, classes = _text.Words.of(beside, options.model)
    if options.zero_based:
        raise Trouble("--zero-based is for svmlight text")
    if options.text:
        words.fields = _text.fields_of(options.text)
    return learner, _text.TextRows(options.file, words).pieces(words.columns), classes


def _pieces(learner, options):
    columns = width(learner)
    if columns is None:
        raise Trouble(f"{options.model} has learned nothing yet")
    return _rows.Rows(options.file, columns, zero_based=options.zero_based).pieces(columns)


def choose(options):
    """A label a row, counted from --first-label: the best guess, nothing explored."""
    learner, pieces, classes = stream(options, "multiclass")
    for piece in pieces:
        labels = learner.predict(piece.X).tolist()
        print("\n".join(classes[label] if label < len(classes) else str(label + options.first_label)
                        for label in labels), flush=True)


def forward(options):
    """1 or 0 a row, and the margin."""
    learner, pieces, _ = stream(options, "filtering")
    for piece in pieces:
        for row in piece.singly():
            print(int(learner.forward(row)), f"{learner.margin(row):.10g}")
        print(end="", flush=True)
