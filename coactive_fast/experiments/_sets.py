"""The sets of the papers: read from a folder, or generated where there is none.

Each is a function of `Sets` and keeps what it read last, so the tasks of one process share it.
"""

import functools

import numpy as np

from coactive_fast import Items, data

PARTS = tuple(f"mq2008/S{i}.txt" for i in range(1, 6))
RATINGS = "ml-1m/ratings.dat"


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
    """The catalogue by one half of the users, and w* of each user of the other half.

    MovieLens 1M, factors of rank 50; else generated ratings of 400 users for 1,500 items.
    Returns (Items, weights, ratings of those users).
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
    return Items(items), data.fit_user_weights(ratings[test], items), ratings[test]
