"""Logs of clicks: JSON text with the documents, or text and arrays that name those of another
file."""

import json
import re
from typing import NamedTuple

import numpy as np

from coactive_fast.data._map import read
from coactive_fast.learner import _file

from . import Trouble, _streams, troubles

KIND = "Clicks"  # of a converted log
MOST = 1 << 31  # documents of a query, before it is known how many there are
FORM = '{"query": id, "features": [[...], ...], "presented": [i, ...], "clicked": [i, ...]}'


class Clicks(NamedTuple):
    query: object
    features: np.ndarray
    presented: list | None  # None where nobody asked
    clicked: list | None
    where: str  # file and line


def clicks(path, learning=True, documents=None):
    """Queries of a click log, a JSON object a line; without `learning` only their documents count.

    ``documents(query)`` answers those of the lines that have none of their own.
    """
    with _streams.source(path) as file:
        for number, line in _streams.lines(file):
            where = f"{file.name}: line {number}"
            with troubles(where):
                yield queried(_parsed(line, documents), where, learning, documents)


def queried(found, where, learning, documents):
    """A query from what its line holds, checked."""
    features = (_features(found["features"]) if "features" in found
                else documents(found.get("query")))
    presented = clicked = None
    if learning:
        presented = _documents(found, "presented", len(features))
        clicked = _documents(found, "clicked", len(features))
        if not presented or len(set(presented)) < len(presented):
            raise ValueError(f"presented must list documents, each once, got {presented!r:.60}")
    return Clicks(found.get("query"), features, presented, clicked, where)


def _parsed(line, documents):
    try:
        found = json.loads(line.decode())
    except json.JSONDecodeError as error:
        raise ValueError(f"expected {FORM}: {error.msg}, column {error.colno}") from None
    except (UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"expected {FORM}: {error}") from None
    if not isinstance(found, dict) or ("features" not in found and documents is None):
        what = f"got {found!r:.60}"
        if isinstance(found, dict):
            what = "there are no features, and no --documents that the query may name"
        raise ValueError(f"expected {FORM}: {what}")
    return found


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
    wrong = [i for i in given if not 0 <= i < n]
    if wrong:
        raise ValueError(f"{name} must lie in 0 ... {n - 1}, since there are {n} documents, "
                         f"got {wrong[0]}")
    return given


def documents_of(path, zero_based):
    """What answers the documents of a query, to which a log of clicks refers by numbers from 0."""
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
    """Stands for documents while a log that names them is converted: any number will do."""
    if type(query) is not int and not re.fullmatch("[0-9]{1,18}", str(query)):
        raise ValueError(f"query must be a whole number, as LETOR text has it, got {query!r:.60}")
    return range(MOST)


def write_log(path, out):
    """A log that names documents, as arrays in a file; how many queries."""
    columns = {"query": [], "presented": [], "clicked": []}
    ends = {"presented": [], "clicked": []}
    for one in clicks(path, documents=unseen):
        if not isinstance(one.features, range):
            raise Trouble(f"{one.where}: it repeats the features of its documents: only a log that "
                          "names documents of LETOR text is converted")
        columns["query"].append(int(one.query))
        for name, end in ends.items():
            columns[name].extend(getattr(one, name))
            end.append(len(columns[name]))
    arrays = {name: np.array(values, dtype=np.int64) for name, values in columns.items()}
    arrays |= {f"{name}_ends": np.array(end, dtype=np.int64) for name, end in ends.items()}
    _file.write(out, {"kind": KIND}, arrays)
    return len(columns["query"])


def is_log(path):
    """Whether FILE is a log of clicks, as text or converted."""
    kind = _streams.kind_of(path)
    if kind != "converted" or _streams.is_stdin(path):
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
    presented, clicked = (np.split(arrays[name], arrays[f"{name}_ends"][:-1])
                          for name in ("presented", "clicked"))
    for number, query in enumerate(arrays["query"].tolist()):
        found = {"query": query, "presented": presented[number].tolist(),
                 "clicked": clicked[number].tolist()}
        with troubles(where := f"{path}: query {number}"):
            yield queried(found, where, True, documents)


def _checked(path, head, arrays):
    names = {"query", *(name + end for name in ("presented", "clicked") for end in ("", "_ends"))}
    if head.get("kind") != KIND or set(arrays) != names:
        raise Trouble(f"{path} does not hold a log of clicks")
    count = arrays["query"].size
    good = all(a.dtype == np.int64 and a.ndim == 1 for a in arrays.values())
    for name in ("presented", "clicked"):
        ends = arrays[f"{name}_ends"]
        good = good and ends.size == count and (np.diff(ends, prepend=0) >= 0).all()
        good = good and (ends[-1] if count else 0) == arrays[name].size
    if not good:
        raise Trouble(f"{path} is damaged: its arrays do not go together")
    return arrays
