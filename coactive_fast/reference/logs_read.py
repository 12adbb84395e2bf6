"""Slow twin of the readers of logs: what a line of dsjson or cb_adf text says.

Examples
--------
>>> from coactive_fast.reference import logs_read
>>> log = logs_read.from_vw(b"0:-1:0.5 |item red size:2\\n|item blue\\n")
>>> log.features, log.feature_names, log.reward
(array([[1., 2., 0.],
       [0., 0., 1.]]), ('item^red', 'item^size', 'item^blue'), array([1.]))
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from .logs import BanditLog

__all__ = ["column_of", "from_vw", "murmur3", "rows_from_lines"]

DEPTH = 64  # objects and arrays within each other
BLANKS = " \t\r"
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
NO_NUMBER = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)


class VWLog(BanditLog):
    """A `BanditLog` with the names of its columns, and what was left out."""

    feature_names: tuple[str, ...] | None
    context_names: tuple[str, ...] | None
    left_out: dict[str, int]


def from_vw(data: bytes, *, format: Literal["auto", "dsjson", "cb"] = "auto",
            hash_bits: int | None = None, chain_hash: bool = False,
            names: Sequence[str] | None = None, context_names: Sequence[str] | None = None,
            unlabelled: Literal["refuse", "skip"] = "refuse") -> VWLog:
    """`BanditLog.from_vw` of a file's bytes; the matrices are dense.

    A feature is ``(namespace, key, word)`` with a value: the word is None, or a number where the
    feature is a place in an array. What is 0 is none.
    """
    text = data.decode("utf-8-sig")
    if format == "dsjson" or format == "auto" and text.lstrip().startswith("{"):
        rounds, left_out = _dsjson(text, unlabelled == "skip")
    else:
        rounds, left_out = _text(text, unlabelled == "skip")
        chain_hash = True
    if not rounds:
        raise ValueError("there is no round")
    rows = [action for one in rounds for action in one["actions"]]
    features, own = _matrix(rows, names, hash_bits, chain_hash)
    context, shared = _matrix([one["shared"] for one in rounds], context_names, None, False)
    offsets = np.cumsum([0, *(len(one["actions"]) for one in rounds)])
    if features.shape[1] == 0:
        raise ValueError("no action has a feature")
    log = VWLog(features, offsets, [one["chosen"] for one in rounds],
                [0.0 - one["cost"] for one in rounds], [one["probability"] for one in rounds],
                context=context if context.shape[1] else None)
    log.feature_names, log.left_out = own, {what: n for what, n in left_out.items() if n}
    log.context_names = shared if context.shape[1] else None
    return log


def _matrix(rows, names, bits, chain):
    """A row a list of features, and the names of the columns: those given, those of the table of
    VW, or all in the order in which they come."""
    if bits is not None:
        matrix = np.zeros((len(rows), 2**bits))
        with np.errstate(over="ignore"):
            for r, row in enumerate(rows):
                for feature, value in row:
                    matrix[r, column_of(*feature, bits, chain)] += value
        return matrix, None
    if names is None:
        names = tuple(dict.fromkeys(_name(*feature) for row in rows for feature, _ in row))
    place = {name: j for j, name in enumerate(names)}
    matrix = np.zeros((len(rows), len(names)))
    with np.errstate(over="ignore"):  # a sum that is not finite is refused with the row
        for r, row in enumerate(rows):
            for feature, value in row:
                if _name(*feature) in place:
                    matrix[r, place[_name(*feature)]] += value
    return matrix, tuple(names)


def _name(space, key, word):
    own = f"[{word}]" if isinstance(word, int) else key if word is None else f"{key}^{word}"
    return f"{space}^{own}" if space else own


# --- the table of VW ------------------------------------------------------------------------------


def murmur3(data: bytes, seed: int) -> int:
    """MurmurHash3 for 32 bits (Austin Appleby, public domain).

    Examples
    --------
    >>> from coactive_fast.reference.logs_read import murmur3
    >>> hex(murmur3(b"hello", 0))
    '0x248bfa47'
    """
    mask = 2**32 - 1

    def rotated(x, r):
        return (x << r | x >> (32 - r)) & mask

    def scrambled(k):
        return rotated(k * 0xCC9E2D51 & mask, 15) * 0x1B873593 & mask

    h = seed & mask
    whole = len(data) // 4 * 4
    for i in range(0, whole, 4):
        h = (rotated(h ^ scrambled(int.from_bytes(data[i:i + 4], "little")), 13) * 5
             + 0xE6546B64) & mask
    if whole < len(data):
        h ^= scrambled(int.from_bytes(data[whole:], "little"))
    h ^= len(data)
    h = (h ^ h >> 16) * 0x85EBCA6B & mask
    h = (h ^ h >> 13) * 0xC2B2AE35 & mask
    return h ^ h >> 16


def _hash(text, seed):
    """That of a string: its number plus the seed where it is one, else `murmur3`."""
    data = text.encode().strip(bytes(range(33)))
    if all(c in b"0123456789" for c in data):
        return (int(data or b"0") + seed) % 2**64
    return murmur3(data, seed)


def column_of(space: str, key: str, word: str | int | None, bits: int, chain: bool) -> int:
    """The column of a feature in VW's table of 2**bits."""
    seed = _hash(space, 0)
    if isinstance(word, int):
        found = seed + word
    elif word is None:
        found = _hash(key, seed)
    elif chain:
        found = _hash(word, _hash(key, seed))
    else:
        found = _hash(key + word, seed)
    return found % 2**bits


# --- rounds ---------------------------------------------------------------------------------------


def _labelled(label, actions, skip):
    """The label of a round, checked; None where it has none and such are left out."""
    if skip and "cost" not in label and "probability" not in label:
        return None
    for name in ("cost", "probability", "chosen"):
        if name not in label:
            raise ValueError(f"{name} is missing")
    if not 0.0 < label["probability"] <= 1.0:
        raise ValueError("probability must lie in (0, 1]")
    if not 0 <= label["chosen"] < actions:
        raise ValueError("the chosen action is not there")
    return {**label, "chosen": int(label["chosen"])}


# --- dsjson ---------------------------------------------------------------------------------------


class _Object(list):
    """The members of a JSON object: pairs, of which any number may have the same key."""


def _refuse_constant(name):
    raise ValueError(f"{name} is no number")


def _parsed(line):
    found = json.loads(line, object_pairs_hook=_Object, parse_constant=_refuse_constant)
    if not isinstance(found, _Object):
        raise ValueError("expected an object")
    if _depth(found) > DEPTH:
        raise ValueError("nested too deep")
    return found


def _depth(value):
    if isinstance(value, _Object):
        value = [one for _, one in value]
    return 1 + max(map(_depth, value), default=0) if isinstance(value, list) else 0


def _is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _finite(value):
    """A number as a float; what is too large is refused."""
    if not _is_number(value):
        raise ValueError("expected a number")
    try:
        value = float(value)
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):
        raise ValueError("expected a finite number")
    return value


def _dsjson(text, skip):
    rounds, left_out, drop = [], {"dangling": 0, "not learned": 0, "unlabelled": 0}, None
    for line in text.split("\n"):
        if line.strip(BLANKS) == "":
            continue
        found = _line(_parsed(line))
        if found["skip"] or found["context"] is None:
            left_out["not learned" if found["skip"] else "dangling"] += 1
            continue
        if not found["actions"]:
            raise ValueError("there is no action")
        if not 0.0 <= found["drop"] < 1.0:
            raise ValueError("pdrop must lie in [0, 1)")
        label = _labelled(found["label"], len(found["actions"]), skip)
        if label is None:
            left_out["unlabelled"] += 1
            continue
        if drop not in (None, found["drop"]):
            raise ValueError("pdrop must be the same throughout")
        drop = found["drop"]
        rounds.append({"shared": found["context"], "actions": found["actions"], **label})
    return rounds, left_out


def _line(members):
    """What the members of a line say."""
    told: dict[str, Any] = {}
    for key, value in members:
        what = _field(key)
        if what is None:
            continue
        if what in told:
            raise ValueError(f"{key} stands twice")
        told[what] = value
    for what in ("a", "p"):  # of a list, the first
        if isinstance(told.get(what), list) and not isinstance(told[what], _Object):
            told[what] = told[what][0] if told[what] else None
    if not isinstance(told.get("skip"), (bool, type(None))):
        raise ValueError("_skipLearn must be true or false")
    numbers = {what: _finite(value) for what, value in told.items()
               if value is not None and what not in ("c", "skip")}
    if any(numbers.get(what, 0.0) % 1.0 for what in ("index", "action", "a")):
        raise ValueError("an action has a whole number")
    label = {what: numbers[what] for what in ("cost", "probability") if what in numbers}
    if "probability" not in label and "cost" in label and "p" in numbers:
        label["probability"] = numbers["p"]
    for what, first in (("a", 1.0), ("action", 1.0), ("index", 0.0)):  # the last one counts
        if what in numbers:
            label["chosen"] = numbers[what] - first
    context = actions = None
    if told.get("c") is not None:
        context, actions = _context(told["c"])
    return {"label": label, "context": context, "actions": actions,
            "drop": numbers.get("drop", 0.0), "skip": told.get("skip")}


def _field(key):
    """What a member of a line is called here; None of what plays no part."""
    found = {"c": "c", "a": "a", "p": "p", "_p": "p", "pdrop": "drop",
             "_skipLearn": "skip"}.get(key)
    if key.startswith("_label"):
        rest = re.sub("[A-Z]", lambda letter: letter[0].lower(), key[6:])
        found = {"_cost": "cost", "_probability": "probability", "_action": "action",
                 "index": "index"}.get(rest)
        if found is None:
            raise ValueError(f"{key} is not read")
    if key in ("_multi", "_slots", "_outcomes"):
        raise ValueError(f"{key} is not read")
    return found


def _context(value):
    if not isinstance(value, _Object):
        raise ValueError("c must be an object")
    shared: list[Any] = []
    actions = None
    for key, member in value:
        if key != "_multi":
            _member("", key, member, shared)
            continue
        if actions is not None or not isinstance(member, list) or isinstance(member, _Object):
            raise ValueError("_multi must be one list")
        actions = [_action(one) for one in member]
    return shared, actions


def _action(value):
    if not isinstance(value, _Object):
        raise ValueError("an action must be an object")
    found: list[Any] = []
    for key, member in value:
        _member("", key, member, found)
    return found


def _member(space, key, value, found):
    """A member of an object of features, added to those found."""
    if key == "_text":
        if not isinstance(value, str):
            raise ValueError("_text must be a string")
        found += [((space, _tame(word), None), 1.0) for word in re.split("[ \t]", value) if word]
    elif key in ("_multi", "_slots", "__aid") or key.startswith("_label"):
        raise ValueError(f"{key} is not read here")
    elif key.startswith("_") or value is None or value is False:
        return
    elif value is True:
        found.append(((space, key, None), 1.0))
    elif isinstance(value, str):
        found.append(((space, key, _tame(value)), 1.0))
    elif isinstance(value, _Object):
        for inner, member in value:
            _member(key, inner, member, found)
    elif isinstance(value, list):
        _array(key, value, found)
    elif _finite(value) != 0.0:
        found.append(((space, key, None), _finite(value)))


def _array(space, values, found):
    place = 0
    for value in values:
        if isinstance(value, _Object):
            for key, member in value:
                _member(space, key, member, found)
        elif value is not None:
            if _finite(value) != 0.0:
                found.append(((space, "", place), _finite(value)))
            place += 1


def _tame(word):
    return re.sub("[ \t|:]", "_", word)


# --- cb_adf text ----------------------------------------------------------------------------------


def _text(text, skip):
    rounds, left_out, block = [], {"unlabelled": 0}, []
    for line in [*text.split("\n"), ""]:
        if line.strip(BLANKS):
            block.append(line)
        elif block:
            label, shared, actions = _block(block)
            if not actions:
                raise ValueError("there is no action")
            label = _labelled(label, len(actions), skip)
            if label is None:
                left_out["unlabelled"] += 1
            else:
                rounds.append({"shared": shared, "actions": actions, **label})
            block = []
    return rounds, left_out


def _block(lines):
    label: dict[str, float] = {}
    shared: list[Any] = []
    actions: list[Any] = []
    for number, line in enumerate(lines):
        head, bar, rest = line.partition("|")
        words = [word for word in re.split("[ \t\r]", head) if word]
        if bar and words and head[-1] not in BLANKS:  # a tag
            last = words.pop()
            if not last.startswith("'") and (last == "shared" or ":" in last):
                raise ValueError("put a blank in front of the |")
        words = [word for word in words if not word.startswith("'")]
        if len(words) > 1:
            raise ValueError("expected one label")
        if words == ["shared"]:
            if number > 0:
                raise ValueError("shared must come first")
            shared = _spaces(rest) if bar else []
            continue
        if words:
            _label(words[0], len(actions), label)
        actions.append(_spaces(rest) if bar else [])
    return label, shared, actions


def _label(word, row, label):
    parts = [_number(part) for part in word.split(":")]
    if None in parts or parts[0] < 0.0 or parts[0] % 1.0 or len(parts) not in (1, 3):
        raise ValueError("expected action:cost:probability")
    if len(parts) == 3:
        if label:
            raise ValueError("two actions have a label")
        label.update(chosen=row, cost=parts[1], probability=parts[2])


def _number(text):
    """A float; None of what is none."""
    if NO_NUMBER.fullmatch(text):
        raise ValueError("expected a finite number")
    return _finite(float(text)) if NUMBER.fullmatch(text) else None


def _spaces(text):
    """The features behind the first | of a line."""
    found: list[Any] = []
    rest = text
    while True:
        name, rest = _until(rest, BLANKS + "|:")
        weight = 1.0
        if rest.startswith(":"):
            told, rest = _until(rest[1:], BLANKS + "|:")
            weight = _number(told)
            if weight is None or not name or rest.startswith(":"):
                raise ValueError("expected namespace:weight")
        place = 0
        while rest := rest.lstrip(BLANKS):
            if rest.startswith("|"):
                break
            (key, word, value), rest = _feature(rest, weight)
            if word == "":
                word, place = place, place + 1
            if value != 0.0:
                found.append(((name, key, word), _finite(value)))
        if not rest:
            return found
        rest = rest[1:]


def _feature(text, weight):
    """``((key, word, value), rest)`` of what begins here; the word is "" of a place."""
    key, rest = _until(text, BLANKS + "|:")
    if not rest.startswith(":"):
        return (key, None, weight), rest
    told, behind = _until(rest[1:], BLANKS + "|")
    if not told:
        raise ValueError("expected a number or a word")
    value = _number(told)
    if value is not None:
        return (key, None if key else "", value * weight), behind
    if re.match(r"[+-]?\.?[0-9]", told):
        raise ValueError("expected a number or a word")
    word, behind = _until(rest[1:], BLANKS)
    return (key, word, 1.0), behind


def _until(text, marks):
    end = next((i for i, mark in enumerate(text) if mark in marks), len(text))
    return text[:end], text[end:]


# --- rows without rounds --------------------------------------------------------------------------


def rows_from_lines(data: bytes, *, bare: bool = False) -> list[tuple[int, str, dict[str, float]]]:
    """``(line, head, features)`` of each row of text that has a row a line.

    A line is VW's, whose head ends with the first ``|``; or, with `bare`, a label and features
    with blanks between: the head is its first word, unless that holds a colon, and a ``qid:``
    behind it. A word that begins with # then ends the line. A name that stands twice adds up; what
    is 0 is none.

    Examples
    --------
    >>> from coactive_fast.reference.logs_read import rows_from_lines
    >>> rows_from_lines(b"3 'tag |f a b:2\\n")
    [(1, "3 'tag", {'f^a': 1.0, 'f^b': 2.0})]
    >>> rows_from_lines(b"sport goal:2 ball # why", bare=True)
    [(1, 'sport', {'goal': 2.0, 'ball': 1.0})]
    """
    found = []
    for number, line in enumerate(data.decode("utf-8-sig").split("\n"), 1):
        line = re.sub(r"(^|[ \t\r])#.*", "", line) if bare else line
        if not line.strip(BLANKS):
            continue
        if bare:
            head, rest = re.match(r"[ \t\r]*((?:[^ \t\r:]+(?![^ \t\r]))?"
                                  r"(?:[ \t\r]*qid:[^ \t\r]*)?)(.*)", line, re.DOTALL).groups()
            features = _bare(rest)
        else:
            head, bar, rest = line.partition("|")
            features = _spaces(rest) if bar else []
        row: dict[str, float] = {}
        for feature, value in features:
            row[_name(*feature)] = row.get(_name(*feature), 0.0) + value
        found.append((number, head.strip(BLANKS), row))
    return found


def _bare(rest):
    """The features of a line without namespaces."""
    found, place = [], 0
    while rest := rest.lstrip(BLANKS):
        (key, word, value), rest = _feature(rest, 1.0)
        if rest.startswith("|"):
            raise ValueError("expected name, name:number or name:word")
        if word == "":
            word, place = place, place + 1
        if value != 0.0:
            found.append((("", key, word), _finite(value)))
    return found
