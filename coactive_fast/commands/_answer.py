"""``coactive-fast rank | choose | forward``: a saved model over a stream, an answer a line."""

import json

import coactive_fast as cf

from . import Trouble, _learners, _rows, _streams


def load(path, family=None):
    """A saved model, for the family that is asked for."""
    try:
        learner = cf.load(path)
    except OSError as error:
        raise Trouble(f"{path}: {error.strerror or error}") from error
    found = _learners.family_of(learner)
    if family not in (None, found):
        raise Trouble(f"{path} holds a {type(learner).__name__}, which is for {found}: "
                      f"{_learners.COMMAND.get(found, 'nothing')} reads it")
    return learner


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
            order = learner.present(features, k=options.k)
        except ValueError as error:
            raise Trouble(f"{where}: {error}") from error
        print(json.dumps({"query": name, "ranking": order.tolist()}), flush=True)


def pieces(learner, options):
    """The stream in pieces that are as wide as the model; labels count for nothing."""
    columns = width(learner)
    if columns is None:
        raise Trouble(f"{options.model} has learned nothing yet")
    return _rows.Rows(options.file, columns, zero_based=options.zero_based).pieces(columns)


def choose(options):
    """A label a row, counted from --first-label: the best guess, nothing explored."""
    learner = load(options.model, "multiclass")
    for piece in pieces(learner, options):
        labels = learner.predict(piece.X) + options.first_label
        print("\n".join(map(str, labels.tolist())), flush=True)


def forward(options):
    """1 or 0 a row, and the margin."""
    learner = load(options.model, "filtering")
    for piece in pieces(learner, options):
        for row in piece.singly():
            print(int(learner.forward(row)), f"{learner.margin(row):.10g}")
        print(end="", flush=True)
