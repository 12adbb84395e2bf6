"""Rows with one of K labels: read from a folder, or generated where there is none."""

import functools
import json
import re

import numpy as np
import scipy.sparse

from coactive_fast import data
from coactive_fast.data._open import opened

NEWSGROUPS_TEXT = "20newsgroups/20ng_raw.jsonl"
NEWSGROUPS = ("20newsgroups/20ng_train.svm", "20newsgroups/20ng_test.svm")


@functools.lru_cache(maxsize=2)
def newsgroups(sets):
    """Messages as the sets of their words (values 1), in random order: ``(X, labels)``.

    20 newsgroups, 18,846 messages, 42,967 words; else 1,500 generated ones of 20 classes.
    """
    if sets.real:
        parts = [data.load_svmlight(sets.file(name), n_features=42967, integer_labels=True)
                 for name in NEWSGROUPS]
        X = scipy.sparse.vstack([part[0] for part in parts], format="csr")
        X.data[:] = 1.0
        y = np.concatenate([part[1] for part in parts]) - 1
    else:
        X, y = _messages(1500, 2500, 20, 60)
    return _shuffled(X, y)


@functools.lru_cache(maxsize=2)
def newsgroups_words(sets):
    """The same from the text of sender, subject and message, with all its 170,895 words: those
    that one or two messages have, numbers and stop words too."""
    if not sets.real:
        return newsgroups(sets)
    words, places, ends, labels = {}, [], [0], []
    with opened(sets.file(NEWSGROUPS_TEXT)) as (file, _):
        for line in file.read().splitlines():
            message = json.loads(line)
            head, _, body = message["text"].lower().partition("\n\n")
            kept = [part for part in head.split("\n") if part.startswith(("subject:", "from:"))]
            found = set(re.findall(r"\w+", "\n".join([*kept, body])))
            places += sorted(words.setdefault(word, len(words)) for word in sorted(found))
            ends.append(len(places))
            labels.append(message["label"] - 1)
    X = scipy.sparse.csr_matrix((np.ones(len(places)), places, ends), (len(labels), len(words)))
    return _shuffled(X, np.array(labels))


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
    keys = share[y] + rng.gumbel(size=(n, n_words))  # the largest: drawn without replacement
    words = np.sort(np.argpartition(-keys, length, axis=1)[:, :length], axis=1)
    ends = np.arange(0, words.size + 1, length)
    return scipy.sparse.csr_matrix((np.ones(words.size), words.ravel(), ends), (n, n_words)), y
