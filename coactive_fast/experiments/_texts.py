"""The nine text sets of the Confidit paper, by its names; what stands in where one is not there."""

import functools

import numpy as np

from coactive_fast import data

from . import _labelled, _sources

GENERAL = ("CCAT", "ECAT", "GCAT", "MCAT")  # corporate, economic, government, markets
MOST = 100_000  # articles of RCV1-v2: a seventh of the paper's, by chance


class Text:
    """One of the nine: the paper's name, what reads it, and what stands in for it."""

    def __init__(self, title, stands_in=None, instead=None):
        self.title, self.stands_in, self.instead = title, stands_in, instead


TEXTS = {
    "20newsgroups": Text("20 newsgroups", "20 newsgroups", _labelled.newsgroups_words),
    "amazon7": Text("Amazon7", "reviews by product, four kinds", _labelled.amazon_domains),
    "amazon3": Text("Amazon3"),
    "enron-a": Text("Enron A"),
    "enron-b": Text("Enron B"),
    "nytd": Text("NYTD"),
    "nyto": Text("NYTO"),
    "nyts": Text("NYTS"),
    "rcv1": Text("Reuters", "R52, 52 topics", _labelled.reuters),
}


def at_hand(sets):
    """The names of those that a run can take: all that there are, or have something to stand in."""
    return [name for name, text in TEXTS.items() if sets.has(name) or text.instead is not None]


def called(sets, name):
    """The paper's name, and what stands in for it."""
    text = TEXTS[name]
    if sets.has(name):
        return text.title
    stands_in = sets.called(text.stands_in)
    return text.title if stands_in == text.title else f"{text.title} ({stands_in})"


@functools.lru_cache(maxsize=2)
def corpus(sets, name, size):
    """The first rows of a text set, in random order, and how many classes it has."""
    if sets.has(name):
        X, y = _own(sets, name)
        order = np.random.default_rng(0).permutation(len(y))
        X, y = X[order[:MOST]], y[order[:MOST]]
    else:
        X, y = TEXTS[name].instead(sets)
    classes = int(y.max()) + 1
    return X[:size], y[:size], classes


def _own(sets, name):
    """The paper's own set: words as 1 where they occur, of the New York Times their counts."""
    if name == "20newsgroups":
        return _labelled.newsgroups_words(sets)
    paths = [sets.file(file) for file in _sources.SOURCES[name].files]
    if name == "rcv1":
        X, y = data.load_rcv1(paths[1:], paths[0]).single(GENERAL)
    elif name.startswith("amazon"):
        found = data.load_terms(dict(zip(_sources.PRODUCTS, paths, strict=False)))
        X, y = found.X, found.labels
    else:
        found = data.load_terms(paths[0])
        X, y = found.X, found.labels
    if not name.startswith("nyt"):
        X.data[:] = 1.0
    return X, y
