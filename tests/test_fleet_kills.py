"""Writers that are killed, and what stands half stored in a file."""

import os
import signal
import struct
import time

import children
import fleet_kills
import numpy as np
import pytest

import coactive_fast as cf

X = np.random.default_rng(1).standard_normal((40, 3))


def kills(folder, how_many, jobs, as_text):
    fleet_kills.kill_many(os.path.join(folder, "a.fleet"), how_many, jobs=jobs, as_text=as_text)


@children.forks
@pytest.mark.parametrize("jobs, as_text", [(1, False), (2, True)])
def test_killed_writers_lose_nothing_but_the_call_under_way(tmp_path, jobs, as_text):
    children.run(kills, str(tmp_path), 120, jobs, as_text, seconds=300.0)


def learns_new_keys(path, begun):
    with cf.Fleet(path, cf.LinearBandit(), 100_000, keep_flushed=True) as fleet:
        os.write(begun, b"!")
        fleet.run(np.arange(80_000), np.ones((80_000, 3)), np.ones(80_000), n_jobs=2)


def kills_of_new_keys(folder, how_many):
    """Every key that is there has learned its row, for readers as for the next writer."""
    path, rng, cut = os.path.join(folder, "a"), np.random.default_rng(0), 0
    one = cf.LinearBandit()
    one.learn(np.ones(3), 1.0)
    for _ in range(how_many):
        ends = os.pipe()
        child = fleet_kills.forked(learns_new_keys, path, ends[1])
        os.read(ends[0], 1)
        time.sleep(0.06 * rng.random())
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        for end in ends:
            os.close(end)
        for mode in ("r", "r+"):
            with cf.Fleet(path, mode=mode) as fleet:
                keys, health = list(fleet), fleet.health()
                assert len(keys) == len(fleet) == health["models"] and health["damaged"] == 0
                assert all(fleet._engine.words(key)[3] == 1 for key in keys)
                for key in keys[-5:]:
                    assert key in fleet and (fleet[key].weights == one.weights).all()
                cut += 0 < len(keys) < 80_000
    assert cut > 1, "none was killed in time"


@children.forks
def test_a_key_is_there_once_it_has_learned(tmp_path):
    children.run(kills_of_new_keys, str(tmp_path), 12, seconds=240.0)


# --- by hand: an area that was complete, one that was not -----------------------------------------


class Cut:
    """The file of a fleet, cut off in the middle of the last `learn` of key 5."""

    def __init__(self, path, arms=False):
        self.path = path
        template = cf.ArmBandit(3) if arms else cf.LinearBandit()
        with cf.Fleet(path, template, 8) as fleet:
            for t in range(12):
                fleet.learn(t % 6, X[t], *((t % 3,) if arms else ()), float(t))
            self.before = {key: fleet._engine.words(key).copy() for key in range(6)}
            fleet.learn(5, X[20], *((1,) if arms else ()), 3.0)
            self.after = fleet._engine.words(5).copy()
            layout = fleet._engine.records.file.layout
        self.area, self.record = layout.areas, layout.segments[0][0] + 5 * 8 * layout.record
        self.size = 8 * layout.record
        with open(path, "rb") as file:
            self.data = bytearray(file.read())
        self.data[32:48] = fleet_kills.at_work()

    def put(self, place, word):
        self.data[place:place + 8] = struct.pack("<Q", word)

    def activate(self):
        """As if its first area was being stored."""
        self.put(self.area, 2**64 - 1)

    def halve(self):
        """The record as it is in the middle of being stored."""
        self.activate()
        whole = self.before[5].tobytes()
        self.data[self.record + 80:self.record + self.size] = whole[80:]
        self.put(self.record, int(self.after[0]) - 1)

    def write(self):
        with open(self.path, "wb") as file:
            file.write(self.data)

    def check(self, mode, key5):
        with cf.Fleet(self.path, mode=mode) as fleet:
            for key in range(5):
                assert (fleet._engine.words(key) == self.before[key]).all()
            assert (fleet._engine.words(5) == key5).all()


@pytest.mark.parametrize("arms", [False, True])
@pytest.mark.parametrize("mode", ["r", "r+"])
def test_what_was_begun_is_finished(tmp_path, mode, arms):
    cut = Cut(tmp_path / "a", arms)
    cut.halve()
    cut.write()
    cut.check(mode, cut.after)
    if mode == "r+":
        cut.check("r", cut.after)


def test_what_was_not_complete_has_changed_nothing(tmp_path):
    cut = Cut(tmp_path / "a")
    cut.data[cut.record:cut.record + cut.size] = cut.before[5].tobytes()
    cut.activate()
    cut.data[cut.area + 8 * 20] ^= 1  # a part of the area is missing
    cut.write()
    cut.check("r+", cut.before[5])


def test_a_key_made_in_the_last_moment(tmp_path):
    with cf.Fleet(tmp_path / "a", cf.LinearBandit(), 8) as fleet:
        for t in range(3):
            fleet.learn(t, X[t], 1.0)
        layout = fleet._engine.records.file.layout
        last = fleet._engine.words(2).copy()
        counts = fleet._engine.records.file.map[512:560]
    data = bytearray((tmp_path / "a").read_bytes())
    data[32:48], data[layout.areas:layout.areas + 8] = fleet_kills.at_work(), b"\xff" * 8
    place = layout.segments[0][0] + 2 * 8 * layout.record
    data[place:place + 8 * layout.record] = bytes(8 * layout.record)
    entry = 8 * struct.unpack_from("<Q", data, layout.areas + 48)[0] + layout.index
    data[entry:entry + 8] = bytes(8)
    data[512:544] = struct.pack("<4Q", 2, 0, 2, 0)
    (tmp_path / "a").write_bytes(data)
    with cf.Fleet(tmp_path / "a", mode="r+") as fleet:
        assert list(fleet) == [0, 1, 2] and len(fleet) == 3
        assert (fleet._engine.words(2) == last).all()
        assert fleet._engine.records.file.map[512:560] == counts


def test_after_the_machine_has_stopped(tmp_path):
    """Index and counts are made anew; a record that is torn is dropped, with a warning."""
    cut = Cut(tmp_path / "a")
    cut.data[32:48] = fleet_kills.at_work(7)  # another boot
    cut.data[cut.record + 80] ^= 1
    cut.data[512:560] = bytes(48)
    index = cut.area + 16 * 8 * 512
    cut.data[index:index + 64] = bytes(64)
    cut.write()
    with pytest.warns(RuntimeWarning, match="1 models were cut in two"):
        fleet = cf.Fleet(cut.path, mode="r+")
    with fleet:
        assert sorted(fleet) == [0, 1, 2, 3, 4] and 5 not in fleet and len(fleet) == 5
        for key in range(5):
            assert (fleet._engine.words(key) == cut.before[key]).all()
        fleet.learn(5, X[0], 1.0)
        fleet.learn(6, X[0], 1.0)
        assert len(fleet) == 7 and fleet.health()["damaged"] == 0
    with cf.Fleet(cut.path, mode="r+") as fleet:
        assert len(fleet) == 7


def damaged(tmp_path):
    """A fleet of which the model of key 5 has one bit turned."""
    cut = Cut(tmp_path / "a")
    cut.data[cut.record + 80] ^= 1
    cut.write()
    return cut.path


DAMAGE = "the model .* does not fit its checksum"


def test_damage_is_counted(tmp_path):
    with cf.Fleet(damaged(tmp_path), mode="r") as fleet:
        assert fleet.health()["damaged"] == 1


def test_what_is_damaged_is_not_read(tmp_path):
    with cf.Fleet(damaged(tmp_path), mode="r") as fleet:
        for read in (lambda: fleet[5], lambda: fleet.choose(5, X[:3])):
            with pytest.raises(ValueError, match="of key 5 does not fit"):
                read()
        assert 5 in fleet and 4 in fleet and fleet.choose(4, X[:3]) >= 0


@pytest.mark.parametrize("learn", [
    lambda fleet: fleet.learn(5, X[0], 1.0),
    lambda fleet: fleet.run([4, 5, 4], X[:3], [1.0, 1.0, 1.0]),
    lambda fleet: fleet.run([4, 5, 4], X[:3], [1.0, 1.0, 1.0], n_jobs=2)],
    ids=["learn", "run", "threads"])
def test_what_is_damaged_is_not_learned_from(tmp_path, learn):
    with cf.Fleet(damaged(tmp_path), mode="r+") as fleet:
        with pytest.raises(ValueError, match=DAMAGE):
            learn(fleet)
        assert fleet.health()["damaged"] == 1
        fleet[5] = fleet[4]
        learn(fleet)
        assert fleet.health()["damaged"] == 0


def test_what_is_damaged_can_be_deleted(tmp_path):
    with cf.Fleet(damaged(tmp_path), mode="r+") as fleet:
        del fleet[5]
        assert 5 not in fleet and fleet.health()["damaged"] == 0
        fleet.learn(5, X[0], 1.0)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_what_is_damaged_is_not_moved(tmp_path, n_jobs):
    """A model that is kept until the next flush is copied when it learns, and sealed anew."""
    path = tmp_path / "a"
    with cf.Fleet(path, cf.LinearBandit(), 10, keep_flushed=True) as fleet:
        for key in (4, 5):
            fleet.learn(key, X[0], 1.0)
        fleet.flush()
        layout = fleet._engine.records.file.layout
    data = bytearray(path.read_bytes())
    data[layout.segments[0][0] + 8 * (layout.record + 10)] ^= 1
    path.write_bytes(data)
    with cf.Fleet(path, mode="r+") as fleet:
        for _ in range(2):
            with pytest.raises(ValueError, match=DAMAGE):
                fleet.run([4, 5], X[:2], [1.0, 1.0], n_jobs=n_jobs)
        assert fleet[4].rounds == 3 and fleet.health()["damaged"] == 1
