"""What a machine that stops leaves: sectors written in any order since the last time all was."""

import os
import warnings
from contextlib import contextmanager

import fleet_kills
import numpy as np
import pytest

import coactive_fast as cf
from coactive_fast.fleet import _file

SECTOR = 512
KEYS = 40


class Disc:
    """All that the file was when it was told to come to the disc, and whether each was a flush."""

    def __init__(self, path):
        self.path, self.states = path, []

    @contextmanager
    def watched(self, monkeypatch):
        original = _file.File.flush

        def flush(file):
            if self.path.exists():  # not before a new file is in its place
                self.states.append(self.path.read_bytes())
            original(file)

        with monkeypatch.context() as patch:
            patch.setattr(_file.File, "flush", flush)
            yield

    def image(self, old, new, rng):
        """A file of which some sectors were written and some were not."""
        size = max(len(old), len(new))
        old, new = old.ljust(size, b"\0"), new.ljust(size, b"\0")
        sectors = np.frombuffer(old, np.uint8).reshape(-1, SECTOR).copy()
        there = rng.random(len(sectors)) < rng.choice([0.05, 0.5, 0.95])
        sectors[there] = np.frombuffer(new, np.uint8).reshape(-1, SECTOR)[there]
        sectors[0, 32:48] = np.frombuffer(fleet_kills.at_work(7), np.uint8)  # another boot
        return sectors.tobytes()


def words_of(fleet):
    return {key: (words[3:4].tolist(), words[5:].tolist())
            for key, words in ((key, fleet._engine.words(key)) for key in fleet)}


def moves(fleet, rng, count, as_text):
    """Models learn, come and go."""
    for _ in range(count):
        key = int(rng.integers(KEYS))
        key = f"key {key}" if as_text else key
        if rng.random() < 0.15 and key in fleet:
            del fleet[key]
        elif rng.random() < 0.3:
            keys = rng.integers(0, KEYS, 5).tolist()
            fleet.run([f"key {key}" for key in keys] if as_text else keys,
                      rng.standard_normal((5, 3)), rng.standard_normal(5),
                      n_jobs=int(rng.integers(1, 3)))
        else:
            fleet.learn(key, rng.standard_normal(3), float(rng.standard_normal()))


@pytest.mark.parametrize("capacity, as_text", [(4, False), (200, True)])
def test_the_file_is_as_of_the_last_flush(tmp_path, monkeypatch, capacity, as_text):
    rng = np.random.default_rng(capacity)
    path, disc = tmp_path / "a", Disc(tmp_path / "a")
    flushed, all_states = [{}], []
    with disc.watched(monkeypatch):
        fleet = cf.Fleet(path, cf.LinearBandit(), capacity, keep_flushed=True)
        for _ in range(12):
            moves(fleet, rng, 25, as_text)
            now = words_of(fleet)
            fleet.flush()
            assert words_of(fleet) == now
            flushed.append(now)
            if rng.random() < 0.3:
                fleet.close()
                fleet = cf.Fleet(path, mode="r+")
                assert words_of(fleet) == now
        moves(fleet, rng, 40, as_text)
    all_states = [*disc.states, path.read_bytes()]
    fleet.close()
    seen = 0
    for before, after in zip(all_states[1:], all_states[2:], strict=False):
        for _ in range(4):
            (tmp_path / "b").write_bytes(disc.image(before, after, rng))
            with cf.Fleet(tmp_path / "b", mode="r+") as found:
                models = words_of(found)
                assert models in flushed[seen:seen + 2], "not the last flush, nor the one under way"
                assert found.health()["damaged"] == 0 and len(found) == len(models)
                moves(found, rng, 10, as_text)
                now = words_of(found)
                found.flush()
            with cf.Fleet(tmp_path / "b", mode="r") as again:
                assert words_of(again) == now
        if models == flushed[min(seen + 1, len(flushed) - 1)]:
            seen = flushed.index(models)
    assert seen >= len(flushed) - 2


def test_a_learner_put_into_a_fleet_belongs_to_the_next_flush(tmp_path):
    with cf.Fleet(tmp_path / "a", cf.LinearBandit(), 8, keep_flushed=True) as fleet:
        for key in (1, 2):
            fleet.learn(key, [1.0, 2.0, 3.0], 1.0)
        fleet.flush()
        before = words_of(fleet)
        fleet.learn(2, [1.0, 0.0, 3.0], 2.0)
        fleet[1] = fleet[3] = fleet[2]
        data = bytearray((tmp_path / "a").read_bytes())
        assert fleet.health()["kept"] == 2
    data[32:48] = fleet_kills.at_work(7)
    (tmp_path / "b").write_bytes(data)
    with cf.Fleet(tmp_path / "b", mode="r+") as found:
        assert words_of(found) == before


def test_without_keeping_whole_models_are_left(tmp_path, monkeypatch):
    rng = np.random.default_rng(1)
    path, disc = tmp_path / "a", Disc(tmp_path / "a")
    with disc.watched(monkeypatch):
        fleet = cf.Fleet(path, cf.LinearBandit(), 60)
        moves(fleet, rng, 200, False)
        fleet.flush()
        before = words_of(fleet)
        touched = [3, 5, 8]
        for key in touched:
            fleet.learn(key, rng.standard_normal(3), 1.0)
    fleet.close()
    for _ in range(20):
        (tmp_path / "b").write_bytes(disc.image(disc.states[-1], path.read_bytes(), rng))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            found = cf.Fleet(tmp_path / "b", mode="r+")
        with found:
            models = words_of(found)
            assert {key: models[key] for key in before if key not in touched} == \
                {key: before[key] for key in before if key not in touched}
            assert found.health()["damaged"] == 0


def test_room_is_given_back_by_a_flush(tmp_path):
    X = np.random.default_rng(2).standard_normal((100, 3))
    with cf.Fleet(tmp_path / "a", cf.OnlineRidge(), 100, keep_flushed=True) as fleet:
        fleet.run(np.arange(50), X[:50], np.ones(50))
        size = os.path.getsize(tmp_path / "a")
        for turn in range(10):
            fleet.flush()
            assert fleet.health()["kept"] == 0 and fleet.health()["free"] == (50 if turn else 0)
            for _ in range(3):
                fleet.run(np.arange(50), X[50:], np.ones(50), n_jobs=1 + turn % 2)
            assert fleet.health()["kept"] == 50 and len(fleet) == len(list(fleet)) == 50
        assert os.path.getsize(tmp_path / "a") == size
