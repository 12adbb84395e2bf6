"""The sets of the papers: read from a folder, or generated where there is none.

Each is a function of `Sets` and keeps what it read last, so the tasks of one process share it.
"""

import functools

import numpy as np
import scipy.sparse

from coactive_fast import Items, data

PARTS = tuple(f"mq2008/S{i}.txt" for i in range(1, 6))
RATINGS = "ml-1m/ratings.dat"
NEWS = "reuters21578/reuters21578_multilabel.svm"
TOPICS = "reuters21578/topics.tsv"


@functools.lru_cache(maxsize=2)
def web_search(sets):
    """Queries with graded documents: MQ2008; else 400 generated ones of 24 documents."""
    if not sets.real:
        return data.make_ranking(n_queries=400, n_features=100, documents=24, seed=1)
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
    longest = np.sort(np.linalg.norm(web_search(sets).features, axis=1))[:-6:-1]
    discounts = 1.0 / np.log2(np.arange(2, 7))
    return float(np.linalg.norm(ranking_weights(sets)) * (longest @ discounts))


@functools.lru_cache(maxsize=2)
def movies(sets):
    """The catalogue by one half of the users, and the ratings of the other half.

    MovieLens 1M, factors of rank 50; else generated ratings of 400 users for 1,500 items.
    Returns (Items, ratings).
    """
    if sets.real:
        ratings, rank = data.load_movielens(sets.file(RATINGS))[0], 50
    else:
        made = data.make_items(n_users=400, n_items=1500, n_features=10, seed=1)
        ratings, rank = made.ratings, 10
    order = np.random.default_rng(0).permutation(ratings.shape[0])
    half = len(order) // 2
    train, test = np.sort(order[half:]), np.sort(order[:half])
    items, _ = data.factorize(ratings[train], rank=rank, seed=0)
    return Items(items), ratings[test]


@functools.lru_cache(maxsize=32)
def movie_weights(sets, first, last):
    """w* of the users from `first` to `last` of those whose ratings `movies` returns."""
    items, ratings = movies(sets)
    return data.fit_user_weights(ratings[first:last], items.features)


@functools.lru_cache(maxsize=2)
def news(sets):
    """A stream of documents and the topics of which 1 to 5 % of it are.

    Reuters-21578 ModApte in the order of time; else 3,000 generated documents. Returns (rows as
    CSR, relevant of shape (documents, topics), names of the topics).
    """
    if not sets.real:
        return made_news()
    X, labels = data.load_svmlight(sets.file(NEWS), multilabel=True)
    lines = sets.file(TOPICS).read_text(encoding="utf-8").splitlines()[1:]
    known = {int(line.split("\t")[0]): line.split("\t")[1] for line in lines}
    of = [frozenset(map(int, topics)) for topics in labels]
    relevant = np.array([[topic in topics for topic in known] for topics in of])
    share = relevant.mean(0)
    kept = (share >= 0.01) & (share <= 0.05)
    return X, relevant[:, kept], [name for name, keep in zip(known.values(), kept, strict=True)
                                  if keep]


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
