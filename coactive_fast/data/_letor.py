"""The learning-to-rank sets of the field, from the folders they are handed out as."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path as Folder
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from coactive_fast._typing import Path, Whole
from coactive_fast.learner import _check as parameter

from ._ranking import RankingData

PACKED = ("", ".gz", ".bz2", ".xz")
YAHOO_PARTS = ("train", "valid", "test")
YAHOO_FEATURES = 700  # of both sets together: 519 of the first and 596 of the second are in use
LETOR_PARTS = ("train", "vali", "test")


def load_yahoo(folder: Path, *, set: Whole = 1, parts: Sequence[str] = YAHOO_PARTS,
               dtype: DTypeLike = np.float32, into: Path | None = None) -> RankingData:
    """Read the Yahoo! Learning to Rank Challenge sets (C14): ``set1.train.txt`` and the like.

    Both sets get the same 700 columns, so that a model of one reads the other. Set 1 has 29,921
    queries with 709,877 documents, which are 2 GB of float32; with `into` they lie in a file and
    not in memory. O. Chapelle and Y. Chang, Yahoo! Learning to Rank Challenge overview, 2011.

    Parameters
    ----------
    folder : path
        Of the text files, which may be packed (.gz, .bz2, .xz).
    set : {1, 2}, default=1
        Which of the two sets of the challenge.
    parts : sequence of str, default=("train", "valid", "test")
        One behind the other.
    dtype : float32 or float64, default=float32
        Of the features.
    into : path, optional
        As for `RankingData.from_svmlight`.

    Returns
    -------
    RankingData
        With the queries' numbers of the files.

    Examples
    --------
    >>> import os, tempfile
    >>> from coactive_fast import data
    >>> folder = tempfile.mkdtemp()
    >>> with open(os.path.join(folder, "set1.train.txt"), "w") as file:
    ...     _ = file.write("2 qid:1 10:0.5 699:1\\n0 qid:1 3:0.25\\n")
    >>> data.load_yahoo(folder, parts=("train",))
    RankingData(1 queries, 2 documents, 700 features, float32)
    """
    number = parameter.count("set", set, least=1, most=2)
    parts = _checked_parts(parts, YAHOO_PARTS)
    paths = [_there(folder, f"set{number}.{part}.txt", "C14") for part in parts]
    return RankingData.from_svmlight(paths, n_features=YAHOO_FEATURES, dtype=dtype, into=into)


def load_letor(folder: Path, *, fold: Whole | None = 1, parts: Sequence[str] = LETOR_PARTS,
               n_features: Whole | None = None, dtype: DTypeLike = np.float32,
               into: Path | None = None) -> RankingData:
    """Read a LETOR 3.0, LETOR 4.0 or MSLR-WEB set from its folder.

    The folder holds ``Fold1`` ... ``Fold5``, each with ``train.txt``, ``vali.txt`` and
    ``test.txt``; or the five parts ``S1.txt`` ... ``S5.txt``, of which a fold takes three, one and
    one. Any fold with all of its parts is the whole set. MSLR-WEB30K has 31,531 queries with
    3,771,125 documents of 136 features: 2 GB of float32, which with `into` lie in a file and not
    in memory.

    T. Qin, T.-Y. Liu, Introducing LETOR 4.0 datasets, 2013.

    Parameters
    ----------
    folder : path
        The files may be packed (.gz, .bz2, .xz).
    fold : int, default=1
        1 ... 5. None: the folder itself holds the parts.
    parts : sequence of str, default=("train", "vali", "test")
        One behind the other.
    n_features : int, optional
        The number of columns; None: the largest index decides.
    dtype : float32 or float64, default=float32
        Of the features.
    into : path, optional
        As for `RankingData.from_svmlight`.

    Returns
    -------
    RankingData
        The queries of all files asked for, in the order of the files.

    Examples
    --------
    >>> import os, tempfile
    >>> from coactive_fast import data
    >>> folder = tempfile.mkdtemp()
    >>> for i in range(1, 6):
    ...     with open(os.path.join(folder, f"S{i}.txt"), "w") as file:
    ...         _ = file.write(f"1 qid:{i} 1:0.5 2:{i}\\n")
    >>> data.load_letor(folder, fold=2, parts=("vali", "test")).query_ids
    array([5, 1])
    """
    parts = _checked_parts(parts, LETOR_PARTS)
    if fold is None:
        paths = [_there(folder, f"{part}.txt", "LETOR") for part in parts]
    else:
        fold = parameter.count("fold", fold, least=1, most=5)
        if _find(folder, "S1.txt") is not None:
            paths = [_there(folder, f"S{i}.txt", "LETOR") for part in parts
                     for i in _fifths(fold, part)]
        else:
            paths = [_there(Folder(os.fsdecode(folder), f"Fold{fold}"), f"{part}.txt", "LETOR")
                     for part in parts]
    return RankingData.from_svmlight(paths, n_features=n_features, dtype=dtype, into=into)


def _fifths(fold, part):
    """Which of S1 ... S5 a part of a fold is made of: three in turn from the fold's own on, then
    one, then one."""
    order = [(fold - 1 + i) % 5 + 1 for i in range(5)]
    return {"train": order[:3], "vali": order[3:4], "test": order[4:]}[part]


def _checked_parts(parts: Any, known: Any) -> list[str]:
    parts = [parts] if isinstance(parts, str) else list(parts)
    if not parts:
        raise ValueError("parts must name at least one part")
    return [parameter.choice("parts", part, known) for part in parts]


def _find(folder, name):
    for ending in PACKED:
        path = Folder(os.fsdecode(folder), name + ending)
        if path.is_file():
            return path
    return None


def _there(folder, name, what):
    path = _find(folder, name)
    if path is None:
        raise FileNotFoundError(f"{os.fsdecode(folder)!r} holds no {name}, packed or not: expected "
                                f"the folder of a {what} set")
    return path
