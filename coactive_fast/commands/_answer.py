"""``coactive-fast rank | choose | forward``: a saved model over a stream, an answer a line."""

import json
import sys

import coactive_fast as cf

from . import Trouble, _learners, _streams


def load(path, family):
    try:
        learner = cf.load(path)
    except OSError as error:
        raise Trouble(f"{path}: {error.strerror or error}") from error
    found = _learners.family_of(learner)
    if found != family:
        raise Trouble(f"{path} holds a {type(learner).__name__}, which is for {found}")
    return learner


def rank(options):
    """A JSON object a query: its name and the documents, best first."""
    learner = load(options.model, "ranking")
    if options.clicks or _streams.kind_of(options.file) == "clicks":
        queries = ((q.query, q.features, q.where) for q in _streams.clicks(options.file))
    else:
        data = _streams.ranking_data(options.file, options.zero_based)
        names = range(len(data)) if data.query_ids is None else data.query_ids.tolist()
        queries = ((name, query.features, f"{options.file}: query {name}")
                   for name, query in zip(names, data, strict=True))
    for name, features, where in queries:
        try:
            order = learner.present(features, k=options.k)
        except ValueError as error:
            raise Trouble(f"{where}: {error}") from error
        print(json.dumps({"query": name, "ranking": order.tolist()}), flush=True)


def width(learner, options):
    """Columns of the stream: those the model knows, where nothing else was said."""
    if options.features is not None:
        return options.features
    weights = getattr(learner, "weights", None)
    if weights is not None and weights.size:
        return weights.shape[-1]
    if _streams.is_stdin(options.file):
        raise Trouble("say how many columns there are, --features N")
    return _streams.scan(options.file, options.multilabel, options.zero_based).columns


def choose(options):
    """A label a row, counted from --first-label: the best guess, nothing explored."""
    learner = load(options.model, "multiclass")
    columns = width(learner, options)
    for piece in _streams.rows(options.file, columns, options.multilabel, options.zero_based):
        labels = learner.predict(piece.X) + options.first_label
        print("\n".join(map(str, labels.tolist())), flush=True)


def forward(options):
    """1 or 0 a row, and the margin."""
    learner = load(options.model, "filtering")
    columns = width(learner, options)
    for piece in _streams.rows(options.file, columns, options.multilabel, options.zero_based):
        for t in range(len(piece)):
            row = piece.X[t]
            print(int(learner.forward(row)), f"{learner.margin(row):.10g}")
        sys.stdout.flush()
