"""Readers of logs: dsjson and cb_adf text, a file as a whole, beside Python's json module; and rows
of names, as the command line reads them, beside a loop over words and a dict.

Five actions of a catalogue of 200 a line, some 1,260 bytes of dsjson or 540 of text; rows of 31
different names in the mean, of 100,000 that are the rarer the later.
"""

import argparse
import functools
import json

import numpy as np
import scipy.sparse
import threads
from bench_text import file_of, read_file, rounds
from ratio import Case, Contender, Plan, Target, show_time

from coactive_fast.commands._reading import Reading
from coactive_fast.commands._rows import Labels
from coactive_fast.logs import BanditLog

JSON = "json.loads, line by line"
ACTIONS, CATALOGUE, LINES = 5, 200, 20_000
BRANDS, KINDS = ("acme", "globex", "initech", "hooli"), ("shoe", "coat", "hat", "bag", "sock")


@functools.lru_cache(maxsize=1)
def records():
    """``(age, country, chosen, rewarded, places)`` a round, and the catalogue."""
    rng = np.random.default_rng(0)
    items = [{"_tag": f"item-{i}",
              "i": {"id": f"item {i}", "brand": BRANDS[i % 4], "kind": KINDS[i % 5],
                    "price": round(rng.random() * 100, 2), "score": rng.random()},
              "j": [{"sale": bool(i % 3), "age": int(rng.integers(400))}]}
             for i in range(CATALOGUE)]
    count = 500 if threads.quick() else LINES
    return items, [(int(rng.integers(80)), ("no", "se", "dk")[int(rng.integers(3))],
                    int(rng.integers(ACTIONS)), int(rng.random() < 0.3),
                    rng.choice(CATALOGUE, ACTIONS, replace=False).tolist()) for _ in range(count)]


def dsjson():
    items, found = records()
    lines = []
    for t, (age, country, chosen, good, places) in enumerate(found):
        event, rest = f"{t:032x}", [i + 1 for i in range(ACTIONS) if i != chosen]
        lines.append(json.dumps({
            "_label_cost": -good, "_label_probability": 0.2, "_label_Action": chosen + 1,
            "_labelIndex": chosen, "o": [{"v": 1.0, "EventId": event, "ActionTaken": False}],
            "Timestamp": "2021-02-04T16:31:29.2460000Z", "Version": "1", "EventId": event,
            "a": [chosen + 1, *rest],
            "c": {"User": {"age": age + 1, "country": country},
                  "Ua": {"_ua": "Mozilla/5.0 (X11; Linux)", "OSFamily": "Linux"},
                  "_multi": [items[i] for i in places]},
            "p": [0.2] * ACTIONS,
            "VWState": {"m": "ff0744c1aa494e1ab39ba0c78d048146/550c12cbd3aa47f09fbed3387fb9c6ec"}},
            separators=(",", ":")))
    return ("\n".join(lines) + "\n").encode()


def cb_text():
    items, found = records()
    lines = []
    for age, country, chosen, good, places in found:
        lines.append(f"shared |User age:{age + 1} country:{country} |Ua OSFamily:Linux")
        for i, place in enumerate(places):
            own, more = items[place]["i"], items[place]["j"][0]
            label = f"0:{-good}:0.2 " if i == chosen else ""
            lines.append(f"{label}|i id:{own['id'].replace(' ', '_')} brand:{own['brand']} "
                         f"kind:{own['kind']} price:{own['price']!r} score:{own['score']!r} "
                         f"|j {'sale ' if more['sale'] else ''}age:{more['age']}")
        lines.append("")
    return ("\n".join(lines) + "\n").encode()


def check(log):
    """The arrays are those that the text was made of."""
    items, found = records()
    assert len(log) == len(found) and log.left_out == {}
    assert log.chosen.tolist() == [chosen for _, _, chosen, _, _ in found]
    assert log.reward.tolist() == [good for _, _, _, good, _ in found]
    assert (log.probability == 0.2).all() and (np.diff(log.offsets) == ACTIONS).all()
    column = {name: j for j, name in enumerate(log.feature_names)}
    features, places = log.features, [place for *_, of in found for place in of]
    for name in ("price", "score"):
        expected = [items[place]["i"][name] for place in places]
        assert np.array_equal(features[:, [column[f"i^{name}"]]].toarray().ravel(), expected)
    for place in (0, 7):
        is_it = features[:, [column[f"i^id^item_{place}"]]].toarray().ravel()
        assert np.array_equal(is_it, np.array(places) == place)
    age = log.context[:, log.context_names.index("User^age")]
    assert age.tolist() == [one[0] + 1 for one in found]


def by_json(path):
    with open(path, "rb") as file:
        for line in file:
            json.loads(line)


def faster_than(megabytes, size):
    seconds = size / megabytes
    return Target(f">= {megabytes} MB/s, {show_time(seconds)}", lambda r: r.ours(), seconds, True,
                  "s")


def case(name, text, megabytes, rival, target):
    check(BanditLog.from_vw(file_of(text, 1)))
    path = file_of(text, 1 if threads.quick() else int(megabytes * 1e6))
    size = megabytes if not threads.quick() else len(text) / 1e6
    ours = Contender("coactive_fast from_vw", rounds(BanditLog.from_vw, path))
    rivals = [Contender("the same, hash_bits=18",
                        rounds(BanditLog.from_vw, path, hash_bits=18), own=True)]
    if rival is not None:
        rivals.append(Contender(rival, rounds(by_json, path)))
    limit = Contender("the file's bytes", rounds(read_file, path))
    return Case("logs", f"{name}, {size:.0f} MB", ours, rivals, limit,
                (faster_than(target, size),) if target else ())


# --- rows of names --------------------------------------------------------------------------------


def named():
    rng = np.random.default_rng(0)
    lines = []
    for t in range(200 if threads.quick() else 5_000):
        names, counts = np.unique(np.minimum(rng.zipf(1.3, size=60), 100_000), return_counts=True)
        lines.append(f"class{t % 20} " + " ".join(
            f"word{i}:{n}" for i, n in zip(names.tolist(), counts.tolist(), strict=True)))
    return ("\n".join(lines) + "\n").encode()


def rows_of(path, bits=None):
    """All rows, by the names' vocabulary or by VW's hash."""
    reading = Reading("names" if bits is None else "hash", bits=bits)
    rows = reading.rows(path, argparse.Namespace(format=None), None, labels=Labels(), grow=True)
    return rows, list(rows.pieces(None))


def by_words(path):
    """A CSR matrix by a loop over the words of each line."""
    place, indices, values, ends = {}, [], [], [0]
    with open(path) as file:
        for line in file:
            _, *words = line.split()
            for word in words:
                name, _, value = word.partition(":")
                indices.append(place.setdefault(name, len(place)))
                values.append(float(value))
            ends.append(len(indices))
    return scipy.sparse.csr_matrix((values, indices, ends), (len(ends) - 1, len(place))), place


def names_case():
    text = named()
    found, place = by_words(file_of(text, 1))
    rows, pieces = rows_of(file_of(text, 1))
    ours = scipy.sparse.vstack([piece.widened(len(place)).X for piece in pieces])
    assert [*rows.table.place] == list(place) and (ours != found).nnz == 0
    megabytes = 10 if not threads.quick() else len(text) / 1e6
    path = file_of(text, 1 if threads.quick() else int(megabytes * 1e6))
    return Case("logs", f"rows of names, {megabytes:.0f} MB",
                Contender("coactive_fast train, its reader", rounds(rows_of, path)),
                [Contender("the same, hash_bits=18", rounds(rows_of, path, 18), own=True),
                 Contender("words and a dict, line by line", rounds(by_words, path))],
                Contender("the file's bytes", rounds(read_file, path)), ())


def plans():
    return [Plan("dsjson", lambda: case("dsjson", dsjson(), 25, JSON, 150)),
            Plan("cb-text", lambda: case("cb_adf text", cb_text(), 10, None, None)),
            Plan("names", names_case)]


def test_logs_readers(compare, plan):
    compare(plan)
