"""Rows with one of K labels: read from a folder; without one scikit-learn's, or generated."""

import functools
import json
import re

import numpy as np
import scipy.sparse

from coactive_fast import data
from coactive_fast.data._open import opened

NEWSGROUPS_TEXT = "20newsgroups/20ng_raw.jsonl"
REUTERS = ("reuters21578/r52_train.svm", "reuters21578/r52_test.svm")
AMAZON = ("amazon_reviews/amazon_domain.svm", "amazon_reviews/amazon_rating.svm")
VOWEL = ("tabular/vowel_train.svm", "tabular/vowel_test.svm")
NEWSGROUPS = ("20newsgroups/20ng_train.svm", "20newsgroups/20ng_test.svm")


@functools.lru_cache(maxsize=2)
def newsgroups(sets):
    """Messages as the sets of their words (values 1), in random order: ``(X, labels)``.

    20 newsgroups, 18,846 messages, 42,967 words; else 6,000 generated ones of 20 classes.
    """
    return _words(sets, NEWSGROUPS, 42967, (6000, 2500, 20, 60))


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
            places += [words.setdefault(word, len(words)) for word in sorted(found)]
            ends.append(len(places))
            labels.append(message["label"] - 1)
    X = scipy.sparse.csr_matrix((np.ones(len(places)), places, ends), (len(labels), len(words)))
    X.sort_indices()
    return _shuffled(X, np.array(labels))


@functools.lru_cache(maxsize=2)
def reuters(sets):
    """Reuters-21578 with one topic each (R52), values 1: 9,101 articles, 52 topics."""
    return _words(sets, REUTERS, 13141, (3000, 2000, 12, 40))


@functools.lru_cache(maxsize=2)
def amazon_domains(sets):
    """Reviews by what they are of, values 1: 8,000 of four kinds."""
    return _words(sets, AMAZON[:1], 14737, (3000, 2000, 4, 40))


@functools.lru_cache(maxsize=2)
def amazon_stars(sets):
    """The same reviews by their stars: 1, 2, 4 or 5."""
    return _words(sets, AMAZON[1:], 14737, (3000, 2000, 4, 20))


@functools.lru_cache(maxsize=2)
def vowel(sets):
    """Deterding's vowels, 990 frames of 10 numbers and a constant, standardised; 11 vowels.

    Without a folder: scikit-learn's digits, 1,797 of 64 pixels; else generated.
    """
    if sets.real:
        parts = [data.load_svmlight(sets.file(name), n_features=10, integer_labels=True)
                 for name in VOWEL]
        X = np.vstack([part[0].toarray() for part in parts])
        y = np.concatenate([part[1] for part in parts]) - 1
    elif sets.bundled:
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
    else:
        rng = np.random.default_rng(1)
        y = rng.integers(11, size=990)
        X = rng.standard_normal((11, 10))[y] + 0.7 * rng.standard_normal((990, 10))
    X = np.column_stack([data.standardize(X).transform(X), np.ones(len(y))])
    return _shuffled(scipy.sparse.csr_matrix(X), y)


def _words(sets, names, n_features, made):
    """The files' rows as sets of words, or generated ones."""
    if not sets.real:
        return _shuffled(*_messages(*made))
    parts = [data.load_svmlight(sets.file(name), n_features=n_features, integer_labels=True)
             for name in names]
    X = scipy.sparse.vstack([part[0] for part in parts], format="csr")
    X.data[:] = 1.0
    return _shuffled(X, np.concatenate([part[1] for part in parts]) - 1)


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
