"""Logs of clicks: JSON text with the documents, or text and arrays that name those of another
file."""

import itertools
import re
from typing import NamedTuple

import numpy as np

from coactive_fast.data._map import read
from coactive_fast.learner import _file

from . import Trouble, _streams, troubles

KIND = "Clicks"  # of a converted log
LISTS = ("presented", "clicked")
MOST = 1 << 31  # documents of a query, before it is known how many there are
FORM = '{"query": id, "features": [[...], ...], "presented": [i, ...], "clicked": [i, ...]}'


class Clicks(NamedTuple):
    query: object
    features: np.ndarray
    presented: list | None  # None where they are not asked for
    clicked: list | None
    where: str  # file and line


def clicks(path, learning=True, documents=None):
    """Queries of a click log, a JSON object a line; without `learning` only their documents count.

    ``documents(query)`` returns those of the lines that have none of their own.
    """
    with _streams.source(path) as file:
        for _, where, found in _streams.objects(file, FORM):
            yield query_of(found, where, learning, documents)


def query_of(found, where, learning, documents):
    """A query from what its line holds, checked."""
    with troubles(where):
        if "features" in found:
            features = _features(found["features"])
        elif documents is not None:
            features = documents(found.get("query"))
        else:
            raise ValueError(f"expected {FORM}: there are no features, and no --documents that the "
                             "query may name")
        presented = clicked = None
        if learning:
            presented = _documents(found, "presented", len(features))
            clicked = _documents(found, "clicked", len(features))
            if not presented or len(set(presented)) < len(presented):
                raise ValueError(
                    f"presented must list documents, each once, got {presented!r:.60}")
        return Clicks(found.get("query"), features, presented, clicked, where)


def _features(rows):
    try:
        found = np.asarray(rows)
    except ValueError:  # rows of several lengths
        found = None
    if found is None or found.ndim != 2 or found.size == 0 or found.dtype.kind not in "iuf":
        raise ValueError("features must be a list of rows of numbers, all of one length")
    found = found.astype(np.float64, copy=False)
    if not np.isfinite(found).all():
        raise ValueError("features must be finite")
    return found


def _documents(found, name, n):
    given = found.get(name)
    if given is None:
        raise ValueError("presented and clicked are needed to learn")
    if not isinstance(given, list) or any(type(i) is not int for i in given):
        raise ValueError(f"{name} must be a list of whole numbers, got {given!r:.60}")
    for i in given:
        if not 0 <= i < n:
            raise ValueError(f"{name} must lie in 0 ... {n - 1}, since there are {n} documents, "
                             f"got {i}")
    return given


def documents_of(path, zero_based):
    """A function that returns the documents of a query, to which a log of clicks refers by numbers
    from 0."""
    data = _streams.ranking_data(path, None, zero_based)
    ids = range(len(data)) if data.query_ids is None else data.query_ids.tolist()
    place = {name: i for i, name in enumerate(ids)}

    def features(query):
        """Its id may be written as a number or as text."""
        try:
            return data[place[int(query)]].features
        except (TypeError, ValueError, KeyError):
            raise ValueError(f"query {query!r:.60} is not in {_streams.name_of(path)}") from None
    return features


def reversed_pairs(learner, query):
    """Of the pairs of a clicked and an unclicked document, both shown, the share that the learner
    has the wrong way round; a half where there is none, and for equal scores."""
    scores, clicked = learner.scores(query.features), set(query.clicked)
    mine = scores[[d for d in query.presented if d in clicked]]
    others = scores[[d for d in query.presented if d not in clicked]]
    if not (mine.size and others.size):
        return 0.5
    gap = mine[:, None] - others
    return float(np.mean((gap < 0.0) + 0.5 * (gap == 0.0)))


# --- converted logs -------------------------------------------------------------------------------


def unseen(query):
    """Stands for documents while a log that names them is converted: any number is one of them."""
    if type(query) is not int and not re.fullmatch("[0-9]{1,18}", str(query)):
        raise ValueError(f"query must be a whole number, as LETOR text has it, got {query!r:.60}")
    return range(MOST)


def write_log(path, out):
    """A log that names documents, as arrays in a file; how many queries."""
    queries = []
    for one in clicks(path, documents=unseen):
        if not isinstance(one.features, range):
            raise Trouble(f"{one.where}: it repeats the features of its documents: only a log that "
                          "names documents of LETOR text is converted")
        queries.append((int(one.query), one.presented, one.clicked))
    arrays = {"query": np.array([query for query, _, _ in queries], dtype=np.int64)}
    for at, name in enumerate(LISTS, 1):
        lists = [query[at] for query in queries]
        arrays[name] = np.fromiter(itertools.chain.from_iterable(lists), np.int64)
        arrays[f"{name}_ends"] = np.cumsum([len(one) for one in lists], dtype=np.int64)
    _file.write(out, {"kind": KIND}, arrays)
    return len(queries)


def is_log(path):
    """Whether FILE is a log of clicks, as text or converted."""
    kind = _streams.kind_of(path)
    if kind != "converted":
        return kind == "clicks"
    return read(path, True)[0].get("kind") == KIND


def log(path, documents):
    """The queries of a log of either form."""
    if _streams.kind_of(path) != "converted":
        yield from clicks(path, documents=documents)
        return
    if documents is None:
        raise Trouble(f"{path} names documents: say of which file, --documents FILE")
    arrays = _checked(path, *read(path, False))
    lists = [np.split(arrays[name], arrays[f"{name}_ends"][:-1]) for name in LISTS]
    for number, query in enumerate(arrays["query"].tolist()):
        found = {name: own[number].tolist() for name, own in zip(LISTS, lists, strict=True)}
        yield query_of({"query": query, **found}, f"{path}: query {number}", True, documents)


def _checked(path, head, arrays):
    if head.get("kind") != KIND or set(arrays) != {"query", *LISTS, *(f"{n}_ends" for n in LISTS)}:
        raise Trouble(f"{path} does not hold a log of clicks")
    good = all(array.dtype == np.int64 and array.ndim == 1 for array in arrays.values())
    for name in LISTS:
        ends = arrays[f"{name}_ends"]
        good = (good and ends.size == arrays["query"].size
                and (np.diff(ends, prepend=0) >= 0).all() and ends[-1:].sum() == arrays[name].size)
    if not good:
        raise Trouble(f"{path} is damaged: its arrays do not go together")
    return arrays
