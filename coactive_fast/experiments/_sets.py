"""The sets of the papers: read from a folder, or generated where there is none.

Each is a function of `Sets` and keeps what it read last, so the tasks of one process share it.
"""

import functools
from pathlib import Path

import numpy as np
import scipy.sparse

from coactive_fast import Items, data

from . import _sources

PARTS = tuple(f"mq2008/S{i}.txt" for i in range(1, 6))
RATINGS = "ml-1m/ratings.dat"
NEWS = "reuters21578/reuters21578_multilabel.svm"
TOPICS = "reuters21578/topics.tsv"
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
    parts = [data.RankingData.from_svmlight(sets.file(name), n_features=46) for name in PARTS]
    sizes = np.concatenate([np.diff(part.offsets) for part in parts])
    return data.RankingData(np.concatenate([part.features for part in parts]),
                            np.concatenate([part.relevance for part in parts]),
                            np.concatenate([[0], np.cumsum(sizes)]))


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
        ratings = data.load_movielens(sets.file(RATINGS))[0]
    else:
        ratings = data.make_items(n_users=400, n_items=1500, n_features=10, seed=1).ratings
    order = np.random.default_rng(0).permutation(ratings.shape[0])
    half = len(order) // 2
    return ratings[np.sort(order[half:])], ratings[np.sort(order[:half])]


def movies(sets, rank=None, regularization=0.1):
    """The catalogue by one half of the users, and the ratings of the other half: (Items, ratings).

    Rank None: 50, of generated ratings 10, which is theirs. Users of the other half who rated
    few films are not determined by 50 features: `coactive_embedding` shows what that does.
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
    X, labels = data.load_svmlight(sets.file(NEWS), multilabel=True)
    lines = sets.file(TOPICS).read_text(encoding="utf-8").splitlines()[1:]
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
    topics, *tokens = map(sets.file, _sources.SOURCES["rcv1"].files)
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
    lengths = np.sqrt(np.ravel(rows.multiply(rows).sum(axis=1)))
    rows.data /= np.repeat(np.where(lengths > 0.0, lengths, 1.0), np.diff(rows.indptr))
    return rows


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
    found = np.bincount(counts.indices, minlength=words)
    counts.data = (1.0 + np.log(counts.data)) * np.log(documents / found[counts.indices])
    norm = np.sqrt(counts.multiply(counts).sum(1)).A1
    share = np.bincount(theme, minlength=themes) / documents
    kept = np.flatnonzero((share >= 0.01) & (share <= 0.05))
    return (scipy.sparse.diags(1.0 / norm) @ counts, theme[:, None] == kept,
            [f"theme {k + 1}" for k in kept])
