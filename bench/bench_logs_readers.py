"""Readers of logs: dsjson and cb_adf text, a file as a whole, beside Python's json module.

Five actions of a catalogue of 200 a line, some 1,260 bytes of dsjson or 540 of text.
"""

import functools
import json

import numpy as np
import threads
from bench_text import file_of, read_file, rounds
from ratio import Case, Contender, Plan, Target, show_time

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


def plans():
    return [Plan("dsjson", lambda: case("dsjson", dsjson(), 25, JSON, 150)),
            Plan("cb-text", lambda: case("cb_adf text", cb_text(), 10, None, None))]


def test_logs_readers(compare, plan):
    compare(plan)
