"""The sets of the papers: read from a folder, or generated where there is none.

Each is a function of `Sets` and keeps what it read last, so the tasks of one process share it.
"""

import functools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse

from coactive_fast import Items, data
from coactive_fast.data._open import opened

from . import _sources

MAPPED = "yahoo/set1.cf"  # what `load_yahoo(folder, into=...)` made of the text beside it
SOME = 1 << 16  # documents at a time, of sets that fill much of the memory
STREAM = 70_000  # documents of the filtering paper's stream


@functools.lru_cache(maxsize=2)
def web_search(sets):
    """Queries with graded documents: Yahoo!'s, else MQ2008; else 400 generated ones of 24
    documents."""
    if not sets.real:
        return data.make_ranking(n_queries=400, n_features=100, documents=24, seed=1)
    if sets.has("yahoo"):
        if mapped := sets.there(MAPPED):  # else each process holds 2 GB of its own
            return data.RankingData.load(mapped)
        return data.load_yahoo(Path(sets.folder, "yahoo"))
    return data.RankingData.from_svmlight(sets.files("mq2008"), n_features=46)


@functools.lru_cache(maxsize=2)
def ranking_weights(sets):
    """w* of web search: the least-squares fit of the labels."""
    return web_search(sets).fit_weights()


@functools.lru_cache(maxsize=2)
def most_useful_ranking(sets):
    """A bound of the utility of any ranking by any w as long as w*: that length times phi's."""
    features = web_search(sets).features
    longest = np.concatenate([np.linalg.norm(features[at:at + SOME], axis=1)
                              for at in range(0, len(features), SOME)])
    longest = np.sort(longest)[:-6:-1]
    discounts = 1.0 / np.log2(np.arange(2, 7))
    return float(np.linalg.norm(ranking_weights(sets)) * (longest @ discounts))


@functools.lru_cache(maxsize=2)
def halves(sets):
    """The ratings of one half of the users, for the features of the films, and of the other.

    MovieLens 1M; else generated ones of 400 users for 1,500 items.
    """
    if sets.real:
        ratings = data.load_movielens(*sets.files("movielens"))[0]
    else:
        ratings = data.make_items(n_users=400, n_items=1500, n_features=10, seed=1).ratings
    order = np.random.default_rng(0).permutation(ratings.shape[0])
    half = len(order) // 2
    return ratings[np.sort(order[half:])], ratings[np.sort(order[:half])]


def movies(sets, rank=None, regularization=0.1):
    """The catalogue by one half of the users, and the ratings of the other half: (Items, ratings).

    Rank None: 50, of generated ratings 10, which is theirs. Users of the other half who rated
    few films are not determined by 50 features: see the experiment coactive-embedding.
    """
    if rank is None:
        rank = 50 if sets.real else 10
    return _films(sets, rank, regularization), halves(sets)[1]


@functools.lru_cache(maxsize=4)
def _films(sets, rank, regularization):
    items, _ = data.factorize(halves(sets)[0], rank=rank, regularization=regularization, seed=0)
    return Items(items)


@functools.lru_cache(maxsize=32)
def movie_weights(sets, first, last, *embedding):
    """w* of the users from `first` to `last` of those whose ratings `movies` returns."""
    items, ratings = movies(sets, *embedding)
    return data.fit_user_weights(ratings[first:last], items.features)


@functools.lru_cache(maxsize=2)
def news(sets):
    """A stream of documents and the topics of which 1 to 5 % of it are.

    The first 70,000 documents of RCV1-v2, else Reuters-21578 ModApte, both in the order of time;
    else 3,000 generated documents. Returns (rows as CSR, relevant of shape (documents, topics),
    names of the topics).
    """
    if not sets.real:
        return made_news()
    if sets.has("rcv1"):
        return first_news(sets)
    documents, topics = sets.files("reuters")
    X, labels = data.load_svmlight(documents, multilabel=True)
    lines = topics.read_text(encoding="utf-8").splitlines()[1:]
    known = {int(line.split("\t")[0]): line.split("\t")[1] for line in lines}
    of = [frozenset(map(int, topics)) for topics in labels]
    relevant = np.array([[topic in topics for topic in known] for topics in of])
    return X, *frequent(relevant, known.values())


def frequent(relevant, names):
    """The topics of which 1 to 5 % of the documents are, and their names."""
    share = relevant.mean(0)
    kept = (share >= 0.01) & (share <= 0.05)
    return relevant[:, kept], [name for name, keep in zip(names, kept, strict=True) if keep]


def first_news(sets, documents=STREAM):
    """The filtering paper's stream: the first documents of RCV1-v2 by their numbers, which follow
    the time, weighted as there; words that occur at least three times in them."""
    topics, *tokens = sets.files("rcv1")
    found = data.load_rcv1(tokens[:2], topics)  # the first 222,477 documents
    first = np.argsort(found.ids, kind="stable")[:documents]
    counts = found.X[first]
    counts = counts[:, np.flatnonzero(np.ravel(counts.sum(axis=0)) >= 3)]
    return weighted(counts), *frequent(found.topics[first].toarray(), found.names)


def weighted(counts):
    """Rows of length 1 with the weights (1 + ln TF) ln(N / DF) of counted words."""
    rows = counts.copy()
    documents = np.bincount(rows.indices, minlength=rows.shape[1])
    rows.data = (1.0 + np.log(rows.data)) * np.log(rows.shape[0] / documents[rows.indices])
    return unit(rows)


def made_news(documents=3000, words=4000, themes=30, length=60):
    """Documents of one theme each, some of whose words are its own; weighted as the paper's."""
    rng = np.random.default_rng(1)
    weight = 1.0 / np.arange(1, themes + 1)
    theme = rng.choice(themes, documents, p=weight / weight.sum())
    common = np.minimum((words * rng.random((documents, length)) ** 3).astype(int), words - 1)
    own = rng.integers(0, words, (themes, 40))[theme[:, None], rng.integers(0, 40, common.shape)]
    word = np.where(rng.random(common.shape) < 0.25, own, common)
    rows = np.repeat(np.arange(documents), length)
    counts = scipy.sparse.coo_matrix((np.ones(word.size), (rows, word.ravel())),
                                     (documents, words)).tocsr()
    relevant = theme[:, None] == np.arange(themes)
    return weighted(counts), *frequent(relevant, [f"theme {k + 1}" for k in range(themes)])


# Key, files and number of words of real sets; rows, words, classes and length of generated ones.
WORDS = {
    "newsgroups": ("20newsgroups", slice(2), 42967, (6000, 2500, 20, 60)),  # 18,846 messages
    "reuters": ("r52", slice(2), 13141, (3000, 2000, 12, 40)),  # 9,101 articles of 52 topics
    "amazon": ("amazon", slice(1), 14737, (3000, 2000, 4, 40)),  # 8,000 reviews by their kinds
    "stars": ("amazon", slice(1, 2), 14737, (3000, 2000, 4, 20)),  # the same by 1, 2, 4, 5 stars
}


@functools.lru_cache(maxsize=8)
def words(name, sets):
    """The rows of `WORDS` as sets of words (values 1), in random order: ``(X, labels)``."""
    key, which, n_features, made = WORDS[name]
    if not sets.real:
        return _shuffled(*_messages(*made))
    X, y = _read(sets.files(key, which), n_features)
    X.data[:] = 1.0
    return _shuffled(X, y)


def _read(paths, n_features):
    """The rows of several files of svmlight with labels from 1 on, which become those from 0 on."""
    parts = [data.load_svmlight(path, n_features=n_features, integer_labels=True) for path in paths]
    X, y = zip(*parts, strict=True)
    return scipy.sparse.vstack(X, format="csr"), np.concatenate(y) - 1


@functools.lru_cache(maxsize=2)
def newsgroups_words(sets):
    """The same from the text of sender, subject and message, with all its 170,895 words: those
    that one or two messages have, numbers and stop words too."""
    if not sets.real:
        return words("newsgroups", sets)
    numbers, places, ends, labels = {}, [], [0], []
    with opened(*sets.files("20newsgroups", slice(2, 3))) as (file, _):
        for line in file.read().splitlines():
            message = json.loads(line)
            head, _, body = message["text"].lower().partition("\n\n")
            kept = [part for part in head.split("\n") if part.startswith(("subject:", "from:"))]
            found = set(re.findall(r"\w+", "\n".join([*kept, body])))
            places += [numbers.setdefault(word, len(numbers)) for word in sorted(found)]
            ends.append(len(places))
            labels.append(message["label"] - 1)
    X = scipy.sparse.csr_matrix((np.ones(len(places)), places, ends), (len(labels), len(numbers)))
    X.sort_indices()
    return _shuffled(X, np.array(labels))


@functools.lru_cache(maxsize=2)
def vowel(sets):
    """Deterding's vowels, 990 frames of 10 numbers and a constant, standardised; 11 vowels.

    Without a folder: scikit-learn's digits, 1,797 of 64 pixels; else generated.
    """
    if sets.real:
        X, y = _read(sets.files("vowel"), 10)
        X = X.toarray()
    elif sets.bundled:
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
    else:
        rng = np.random.default_rng(1)
        y = rng.integers(11, size=990)
        X = rng.standard_normal((11, 10))[y] + 0.7 * rng.standard_normal((990, 10))
    X = np.column_stack([data.standardize(X).transform(X), np.ones(len(y))])
    return _shuffled(scipy.sparse.csr_matrix(X), y)


def _shuffled(X, y):
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order]


def unit(X):
    """The rows of X with length 1; null rows stay null."""
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    rows = scipy.sparse.csr_matrix(X, copy=True)
    rows.data /= np.repeat(np.where(lengths > 0.0, lengths, 1.0), np.diff(rows.indptr))
    return rows


def _messages(n, n_words, n_classes, length):
    """Words by Zipf's law, each class with a hundred that it likes."""
    rng = np.random.default_rng(1)
    share = np.tile(-np.log(np.arange(n_words) + 10.0), (n_classes, 1))
    for own in share:
        own[rng.permutation(n_words)[:100]] += 2.0
    y = rng.integers(n_classes, size=n)
    words = np.empty((n, length), dtype=np.intp)
    for part in range(0, n, 500):  # by parts: the keys of all rows would fill the memory
        keys = share[y[part:part + 500]]  # the largest: drawn without replacement
        keys += rng.gumbel(size=keys.shape)
        words[part:part + 500] = np.argpartition(-keys, length, axis=1)[:, :length]
    words.sort(axis=1)
    ends = np.arange(0, words.size + 1, length)
    return scipy.sparse.csr_matrix((np.ones(words.size), words.ravel(), ends), (n, n_words)), y


# --- the nine text sets of the Confidit paper, by its names ---------------------------------------

GENERAL = ("CCAT", "ECAT", "GCAT", "MCAT")  # corporate, economic, government, markets
MOST = 100_000  # articles of RCV1-v2: a seventh of the paper's, by chance


class Text(NamedTuple):
    """One of the nine: the paper's name, what reads it, and what stands in for it."""

    title: str
    stands_in: str | None = None
    instead: Callable | None = None


TEXTS = {
    "20newsgroups": Text("20 newsgroups", "20 newsgroups", newsgroups_words),
    "amazon7": Text("Amazon7", "reviews by product, four kinds",
                    functools.partial(words, "amazon")),
    "amazon3": Text("Amazon3"),
    "enron-a": Text("Enron A"),
    "enron-b": Text("Enron B"),
    "nytd": Text("NYTD"),
    "nyto": Text("NYTO"),
    "nyts": Text("NYTS"),
    "rcv1": Text("Reuters", "R52, 52 topics", functools.partial(words, "reuters")),
}


def texts_at_hand(sets):
    """The names of those that a run can take: all that there are, or have something to stand in."""
    return [name for name, text in TEXTS.items() if sets.has(name) or text.instead is not None]


def text_called(sets, name):
    """The paper's name, and what stands in for it."""
    text = TEXTS[name]
    if sets.has(name):
        return text.title
    stands_in = sets.called(text.stands_in)
    return text.title if stands_in == text.title else f"{text.title} ({stands_in})"


def text(name, sets):
    """The rows and labels of a text set, in random order."""
    if not sets.has(name):
        return TEXTS[name].instead(sets)
    X, y = _shuffled(*_own_text(sets, name))
    return X[:MOST], y[:MOST]


def _own_text(sets, name):
    """The paper's own set: words as 1 where they occur, of the New York Times their counts."""
    if name == "20newsgroups":
        return newsgroups_words(sets)
    paths = sets.files(name)
    if name == "rcv1":
        X, y = data.load_rcv1(paths[1:], paths[0]).single(GENERAL)
    elif name.startswith("amazon"):
        X, y, *_ = data.load_terms(dict(zip(_sources.PRODUCTS, paths, strict=False)))
    else:
        X, y, *_ = data.load_terms(paths[0])
    if not name.startswith("nyt"):
        X.data[:] = 1.0
    return X, y
