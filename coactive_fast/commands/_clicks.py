"""Clicks for `train`: logs that name documents of another file, and how a ranker does."""

import re

import numpy as np

import coactive_fast as cf
from coactive_fast import metrics
from coactive_fast.data._map import read
from coactive_fast.learner import _file

from . import Trouble, _streams, troubles

MEASURE = "ndcg@10"
KIND = "Clicks"  # of a converted log
MOST = 1 << 31  # documents of a query, before it is known how many there are


class Documents:
    """The documents that a log of clicks refers to, by query and by number from 0."""

    def __init__(self, path, columns, zero_based):
        self.name = _streams.name_of(path)
        self.data = _streams.ranking_data(path, columns, zero_based)
        ids = self.data.query_ids
        ids = range(len(self.data)) if ids is None else ids.tolist()
        self.place = {name: i for i, name in enumerate(ids)}

    def features(self, query):
        """Those of one query; its id may be written as a number or as text."""
        try:
            return self.data[self.place[int(query)]].features
        except (TypeError, ValueError, KeyError):
            raise ValueError(f"query {query!r:.60} is not in {self.name}") from None


def ndcg(learner, data, name):
    """How a learner does on queries of --held-out, which it does not learn from."""
    with troubles(f"--held-out {name}"):
        return metrics.evaluate(learner, data, measures=(MEASURE,))[MEASURE]


def user_of(preset):
    """A user who clicks, from what stands behind ``clicks:``."""
    preset = preset or "navigational"
    model = "perfect" if preset == "perfect" else "cascade"
    return cf.users.Clicks(model, preset=preset, seed=0)


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


class Unseen:
    """Stands for documents while a log that names them is converted: any number will do."""

    def features(self, query):
        if type(query) is not int and not re.fullmatch("[0-9]{1,18}", str(query)):
            raise ValueError("query must be a whole number, as LETOR text has it, got "
                             f"{query!r:.60}")
        return range(MOST)


def write_log(path, out):
    """A log that names documents, as arrays in a file; how many queries."""
    columns = {"query": [], "presented": [], "clicked": []}
    ends = {"presented": [], "clicked": []}
    for one in _streams.clicks(path, documents=Unseen()):
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
        yield from _streams.clicks(path, documents=documents)
        return
    if documents is None:
        raise Trouble(f"{path} names documents: say of which file, --documents FILE")
    arrays = _checked(path, *read(path, False))
    begins = {"presented": 0, "clicked": 0}
    for number, query in enumerate(arrays["query"].tolist()):
        found, where = {}, f"{path}: query {number}"
        for name, begin in begins.items():
            begins[name] = end = int(arrays[f"{name}_ends"][number])
            found[name] = arrays[name][begin:end].tolist()
        with troubles(where):
            yield _streams.queried({"query": query, **found}, where, True, documents)


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
