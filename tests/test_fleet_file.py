"""The file of a fleet: who may open it, growth, deleted models, keys, damage, full discs."""

import copy
import errno
import mmap
import os
import pickle
import signal
import struct
import sys
import threading
import time

import children
import fleet_kills
import numpy as np
import pytest
from row_cases import close

import coactive_fast as cf

X = np.random.default_rng(1).standard_normal((60, 3))


def taught(path, keys=range(10), **words):
    fleet = cf.Fleet(path, cf.LinearBandit(**words), 4)
    for key in keys:
        fleet.learn(key, X[hash(key) % 60], 1.0)
    return fleet


def words_of(fleet):
    return {key: fleet._engine.words(key)[2:].tolist() for key in fleet}


# --- who may open it ----------------------------------------------------------------------------


def test_one_writer(tmp_path):
    path = tmp_path / "a"
    fleet = taught(path)
    for mode in ("r+", "w"):
        with pytest.raises(OSError, match="another process, or another Fleet of this one") as error:
            cf.Fleet(path, cf.LinearBandit(), 4, mode=mode)
        assert error.value.filename == str(path)
    before = words_of(fleet)
    with cf.Fleet(path, mode="r") as reader:
        assert words_of(reader) == before
    fleet.close()
    with cf.Fleet(path, mode="r+") as fleet:
        assert words_of(fleet) == before


def test_readers_see_what_is_written_and_follow_growth(tmp_path):
    fleet = cf.Fleet(tmp_path / "a", cf.LinearBandit(), 2)
    reader = cf.Fleet(tmp_path / "a", mode="r")
    assert 1 not in reader and len(reader) == 0 and list(reader) == []
    assert reader.choose(1, X[:3]) == cf.LinearBandit().choose(X[:3])
    for key in range(200):
        fleet.learn(key, X[key % 60], 1.0)
        assert key in reader and len(reader) == key + 1
        assert (reader[key].weights == fleet[key].weights).all()
    assert reader.capacity == fleet.capacity == 256
    assert words_of(reader) == words_of(fleet)


def counts(reader):
    before, health = len(reader), reader.health()
    assert before <= health["models"] <= health["capacity"]
    assert health["damaged"] == health["free"] == 0


def lists(reader):
    before, keys = len(reader), list(reader)
    assert before <= len(keys) and keys == list(range(len(keys)))
    assert all(reader[key].rounds == 1 for key in keys[-3:])


def watches(path, stop, read):
    """Opens the file again and again, and reads all that is in it."""
    while not os.path.exists(stop):
        with cf.Fleet(path, mode="r") as reader:
            for _ in range(300):
                read(reader)


def grows(folder, turns):
    path, stop = os.path.join(folder, "a"), os.path.join(folder, "stop")
    cf.Fleet(path, cf.LinearBandit(), 1).close()
    watchers = [fleet_kills.forked(watches, path, stop, read) for read in (counts, lists)]
    for _ in range(turns):
        with cf.Fleet(path, cf.LinearBandit(), 1) as fleet:
            for key in range(600):
                fleet.learn(key, X[0], 1.0)
    with open(stop, "w"):
        pass
    for watcher in watchers:
        assert os.waitpid(watcher, 0)[1] == 0, "a reader failed"


@children.forks
def test_readers_beside_a_file_that_grows_and_is_made_anew(tmp_path):
    children.run(grows, str(tmp_path), 60, seconds=120.0)


def test_a_reader_changes_nothing(tmp_path):
    taught(tmp_path / "a").close()
    data = (tmp_path / "a").read_bytes()
    with cf.Fleet(tmp_path / "a", mode="r") as reader:
        learner = reader[1]
        for call in (lambda: reader.learn(1, X[0], 1.0), lambda: reader.run([1], X[:1], [1.0]),
                     lambda: reader.__delitem__(1), lambda: reader.__setitem__(1, learner)):
            with pytest.raises(ValueError, match='cannot be changed: it was opened with mode="r"'):
                call()
        reader.choose(1, X[:4])
    assert (tmp_path / "a").read_bytes() == data


def test_a_new_file_removes_what_killed_processes_left(tmp_path):
    for name in (".coactive_fast-0.tmp", ".coactive_fast-1.tmp"):
        (tmp_path / name).write_bytes(b"half of a fleet")
    taught(tmp_path / "a").close()
    assert os.listdir(tmp_path) == ["a"]
    with pytest.raises(FileNotFoundError) as error:
        taught(tmp_path / "none" / "a")
    assert error.value.filename == str(tmp_path / "none" / "a")


def test_a_new_file_leaves_the_old_one_to_its_readers(tmp_path):
    taught(tmp_path / "a").close()
    reader = cf.Fleet(tmp_path / "a", mode="r")
    before = words_of(reader)
    with cf.Fleet(tmp_path / "a", cf.OnlineRidge(), 4) as fleet:
        fleet.learn(1, X[0], 1.0)
        assert words_of(reader) == before and len(fleet) == 1
    assert os.listdir(tmp_path) == ["a"]


def no_links(*_):
    raise OSError(errno.EPERM, "no links here")


def meets(path, mode, key, gate):
    """Opens the file at the same moment as another process; `gate` has a byte for each step."""
    gate[key] = 1
    while gate[1 - key] == 0:
        pass
    try:
        fleet = cf.Fleet(path, cf.LinearBandit(), 4, mode=mode)
        fleet.learn(key, X[0], 1.0)
        gate[2 + key] = 1
    except OSError as error:
        assert error.errno == errno.EAGAIN and error.filename == path
        gate[2 + key] = 2
    while gate[3 - key] == 0:
        time.sleep(0.0001)
    if gate[2 + key] == 1:
        fleet.close()


def races(folder, there, modes, links, times):
    path = os.path.join(folder, "a")
    if not links:
        os.link = no_links
    for _ in range(times):
        if os.path.exists(path):
            os.unlink(path)
        if there:
            cf.Fleet(path, cf.LinearBandit(), 4).close()
        gate = mmap.mmap(-1, 4)
        both = [fleet_kills.forked(meets, path, mode, key, gate) for key, mode in enumerate(modes)]
        assert [os.waitpid(child, 0)[1] for child in both] == [0, 0]
        assert sorted(gate[2:4]) == [1, 2], "not one alone has written"
        with cf.Fleet(path, mode="r") as fleet:
            assert list(fleet) == [gate[2:4].index(1)]
        assert os.listdir(folder) == ["a"]


@children.forks
@pytest.mark.parametrize("there, modes, links", [
    (False, ["w", "w"], True), (False, ["w", "w"], False), (True, ["w", "w"], True),
    (True, ["w", "r+"], True)], ids=["new", "new, no links", "there", "there, for more"])
def test_two_at_once(tmp_path, there, modes, links):
    """One of two processes has the file; the other one is refused, and nothing is lost."""
    children.run(races, str(tmp_path), there, modes, links, 60, seconds=120.0)


def test_template_and_kind_in_the_file(tmp_path):
    taught(tmp_path / "a", width=0.5).close()
    with cf.Fleet(tmp_path / "a", cf.LinearBandit(width=0.5), mode="r") as fleet:
        assert fleet.template.width == 0.5
    with pytest.raises(ValueError, match="template must have width=0.5"):
        cf.Fleet(tmp_path / "a", cf.LinearBandit(), mode="r")
    with pytest.raises(TypeError, match="template must be a LinearBandit"):
        cf.Fleet(tmp_path / "a", cf.OnlineRidge(), mode="r+")
    with cf.Fleet(tmp_path / "a", mode="r+"):
        pass  # a refused opening has given the file back


@pytest.mark.parametrize("words, error, match", [
    ({}, TypeError, "template and capacity must be given"),
    ({"template": cf.LinearBandit(), "capacity": 0}, ValueError, "capacity must be >= 1"),
    ({"template": cf.LinearBandit(), "capacity": 2.5}, TypeError, "capacity must be an integer"),
    ({"template": cf.Confidit(3), "capacity": 2}, TypeError, "template must be one of Linear"),
    ({"template": cf.LinearBandit(covariance="diagonal"), "capacity": 2}, ValueError,
     'template must have covariance="full"'),
    ({"template": cf.LinearBandit(), "capacity": 2, "mode": "a"}, ValueError,
     "mode must be one of"),
    ({"template": cf.LinearBandit(), "capacity": 2, "prior": cf.OnlineRidge()}, TypeError,
     "prior must be a LinearBandit"),
    ({"template": cf.LinearBandit(), "capacity": 2, "prior": cf.LinearBandit(ridge=2.0)},
     ValueError, "prior must have ridge=1.0"),
    ({"template": cf.LinearBandit(), "capacity": 2, "prior_weight": 0.0}, ValueError,
     "prior_weight must be > 0"),
    ({"template": cf.LinearBandit(explore="thompson",
                                  seed=np.random.Generator(np.random.MT19937(1))), "capacity": 2},
     ValueError, "seed must be None or make a PCG64"),
])
def test_bad_parameters(tmp_path, words, error, match):
    with pytest.raises(error, match=match):
        cf.Fleet(tmp_path / "a", **words)
    assert not os.listdir(tmp_path)


def test_a_template_that_has_learned(tmp_path):
    template = cf.LinearBandit()
    template.learn([1.0], 1.0)
    with pytest.raises(ValueError, match="template must not have learned anything"):
        cf.Fleet(None, template, 3)


# --- damage -------------------------------------------------------------------------------------


@pytest.mark.parametrize("damage, match", [
    (lambda data: b"", "is not a file of a fleet"),
    (lambda data: b"PK" + data[2:], "is not a file of a fleet"),
    (lambda data: data[:8] + struct.pack("<Q", 3) + data[16:], "is of version 3 of the format"),
    (lambda data: data[:8] + struct.pack("<Q", 1) + data[16:],
     "is of version 1 of the format, as coactive_fast 0.2 wrote it"),
    (lambda data: data[:3000], "is truncated"),
    (lambda data: data[:4200], "is truncated"),
    (lambda data: data[:5000] + b"?" + data[5001:], "damaged"),
    (lambda data: data[:-4096], "is damaged: its layout is not whole"),
    (lambda data: data[:2100] + b"?" + data[2101:], "is damaged: its layout is not whole"),
])
@pytest.mark.parametrize("mode", ["r", "r+"])
def test_bad_files(tmp_path, damage, match, mode):
    fleet = cf.Fleet(tmp_path / "a", cf.LinearBandit(), 4)
    fleet.learn(1, X[0], 1.0)
    fleet.close()
    data = damage((tmp_path / "a").read_bytes())
    (tmp_path / "a").write_bytes(data)
    with pytest.raises(ValueError, match=match) as error:
        cf.Fleet(tmp_path / "a", mode=mode)
    assert str(tmp_path / "a") in str(error.value)
    assert (tmp_path / "a").read_bytes() == data


def test_files_that_are_none(tmp_path):
    with pytest.raises(FileNotFoundError):
        cf.Fleet(tmp_path / "none", mode="r")
    with pytest.raises(IsADirectoryError):
        cf.Fleet(tmp_path, cf.LinearBandit(), 3)
    with pytest.raises(FileNotFoundError):
        cf.Fleet(tmp_path / "no" / "a", cf.LinearBandit(), 3)
    with pytest.raises(TypeError, match="path must be given"):
        cf.Fleet(None, mode="r")


def filled(folder):
    import resource

    path = os.path.join(folder, "a")
    fleet = taught(path, range(64))  # four, eight, ... sixty-four: the next one must grow
    before, size = words_of(fleet), os.path.getsize(path)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 4096, size + 4096))
    for call in (lambda: fleet.learn(64, X[0], 1.0),
                 lambda: fleet.run([5, 64, 5], X[:3], [1.0, 1.0, 1.0])):
        with pytest.raises(OSError, match="File too large.*bytes more") as error:
            call()
        assert error.value.filename == path and os.path.getsize(path) == size
    assert 64 not in fleet and len(fleet) == 64
    own = cf.LinearBandit()
    for x in (X[hash(5) % 60], X[0]):  # the row before the one that found no room was learned
        own.learn(x, 1.0)
    close(fleet[5].weights, own.weights)
    del fleet[7], before[7], before[5]
    fleet.learn(64, X[0], 1.0)  # there is room again
    after = words_of(fleet)
    assert {key: after[key] for key in before} == before and 64 in after
    fleet.close()
    with pytest.raises(OSError, match="File too large"):
        cf.Fleet(path, cf.LinearBandit(), 10**6).learn(1, X[0], 1.0)


@children.forks
def test_a_full_disc_loses_nothing(tmp_path):
    children.run(filled, str(tmp_path))


# --- keys ---------------------------------------------------------------------------------------


TEXTS = ["", "anna", "Anna", "a\0", "a", "\N{SNOWMAN}" * 21, "x" * 63, "7"]


def test_texts_as_keys(tmp_path):
    with cf.Fleet(tmp_path / "a", cf.LinearBandit(), 2) as fleet:
        fleet.run(TEXTS + TEXTS[:2], X[:10], np.arange(10.0))
        for t, key in enumerate(TEXTS):
            assert fleet[key].rounds == 1 + (t < 2)
        assert list(fleet) == TEXTS
        for bad in ("x" * 64, "\N{SNOWMAN}" * 22):
            with pytest.raises(ValueError, match="key must have at most 63 bytes"):
                fleet.learn(bad, X[0], 1.0)
            with pytest.raises(ValueError, match="key must have at most 63 bytes"):
                fleet.run(["anna", bad], X[:2], [1.0, 1.0])
        for call in (lambda: fleet.learn(7, X[0], 1.0), lambda: fleet.choose(7, X[:2]),
                     lambda: fleet.run([7], X[:1], [1.0])):
            with pytest.raises(TypeError, match="the keys of this fleet are texts"):
                call()
        assert 7 not in fleet
    with cf.Fleet(tmp_path / "a", mode="r+") as fleet:
        assert list(fleet) == TEXTS
        del fleet["a"]
        assert "a" not in fleet and "a\0" in fleet and len(fleet) == 7


@pytest.mark.parametrize("key", [0, -1, 2**63 - 1, -2**63, np.int8(-3), np.uint64(7)])
def test_numbers_as_keys(key):
    fleet = cf.Fleet(None, cf.LinearBandit(), 2)
    fleet.learn(key, X[0], 1.0)
    fleet.run([key], X[:1], [1.0])
    assert list(fleet) == [int(key)] and fleet[key].rounds == 2
    with pytest.raises(TypeError, match="the keys of this fleet are whole numbers"):
        fleet.learn("a", X[0], 1.0)


@pytest.mark.parametrize("key, error", [(2**63, ValueError), (True, TypeError), (1.0, TypeError),
                                        (None, TypeError), (b"a", TypeError), ((1,), TypeError)])
def test_what_is_no_key(key, error):
    fleet = taught(None)
    before = words_of(fleet)
    for call in (lambda: fleet.learn(key, X[0], 1.0), lambda: fleet.choose(key, X[:2]),
                 lambda: fleet[key], lambda: fleet.run([3, key], X[:2], [1.0, 1.0])):
        with pytest.raises(error, match="key"):
            call()
    assert words_of(fleet) == before


# --- growth, deletion ---------------------------------------------------------------------------


def test_growth_keeps_all(tmp_path):
    rng = np.random.default_rng(2)
    keys = rng.integers(-2**62, 2**62, 3000)
    rows, y = rng.standard_normal((9000, 3)), rng.standard_normal(9000)
    which = keys[rng.integers(0, 3000, 9000)]
    small, large = (cf.Fleet(tmp_path / name, cf.LinearBandit(), slots)
                    for name, slots in (("a", 1), ("b", 5000)))
    small.run(which, rows, y)
    large.run(which, rows, y)
    assert words_of(small) == words_of(large) and list(small) == list(large)
    assert small.capacity == 4096 and large.capacity == 5000
    small.close()
    with cf.Fleet(tmp_path / "a", mode="r") as again:
        assert words_of(again) == words_of(large)


def test_a_full_file_grows_for_new_keys_alone(tmp_path):
    taught(tmp_path / "a", range(8)).close()
    size = os.path.getsize(tmp_path / "a")
    with cf.Fleet(tmp_path / "a", mode="r+") as fleet:
        assert fleet.capacity == 8
        fleet.learn(3, X[0], 1.0)
        fleet.run([4, 5], X[:2], [1.0, 2.0])
        fleet[6] = fleet[3]
        assert fleet.capacity == 8 and os.path.getsize(tmp_path / "a") == size
        fleet[8] = fleet[3]
        assert fleet.capacity == 16 and len(fleet) == 9


def test_deleted_room_is_used_again(tmp_path):
    fleet = taught(tmp_path / "a", range(8))
    size = os.path.getsize(tmp_path / "a")
    before = words_of(fleet)
    for key in (2, 5, 7):
        del fleet[key]
        assert key not in fleet
        with pytest.raises(KeyError):
            del fleet[key]
    assert len(fleet) == 5 and list(fleet) == [0, 1, 3, 4, 6]
    assert fleet[2].rounds == 0 and fleet.health()["free"] == 3
    fleet.close()
    with cf.Fleet(tmp_path / "a", mode="r+") as fleet:
        for key in (100, 101, 102):
            fleet.learn(key, X[0], 1.0)
        assert os.path.getsize(tmp_path / "a") == size
        assert {key: words for key, words in words_of(fleet).items() if key < 100} == \
            {key: before[key] for key in (0, 1, 3, 4, 6)}
        assert fleet[100].rounds == 1


def test_models_that_come_and_go(tmp_path):
    """The index is made anew again and again, and the file stays as large."""
    fleet = cf.Fleet(tmp_path / "a", cf.LinearBandit(), 50)
    reader = cf.Fleet(tmp_path / "a", mode="r")
    rng, there, sizes = np.random.default_rng(3), {}, []
    for t in range(6000):
        if len(there) == 50 or (there and rng.random() < 0.45):
            key = list(there)[int(rng.integers(len(there)))]
            del fleet[key], there[key]
        else:
            key = int(rng.integers(10**9))
            fleet.learn(key, X[t % 60], 1.0)
            there[key] = t
        if t % 100 == 0:
            assert sorted(fleet) == sorted(reader) == sorted(there)
            assert all(key in reader for key in there)
            sizes.append(os.path.getsize(tmp_path / "a"))
    assert len(set(sizes[5:])) <= 2, sizes  # at most the second index came


# --- calls --------------------------------------------------------------------------------------


BAD = [
    (lambda f: f.learn(1, X[0], np.nan), "reward must be finite"),
    (lambda f: f.learn(1, X[0]), "learn takes a key, a row and what came of it"),
    (lambda f: f.learn(1, X[0], 1, 2.0), "learn takes a key, a row and what came of it"),
    (lambda f: f.learn(1, [1.0, 2.0], 1.0), "x must have 3 features"),
    (lambda f: f.learn(11, [1.0, 2.0], 1.0), "x must have 3 features"),
    (lambda f: f.learn(1, [1.0, np.inf, 0.0], 1.0), "x"),
    (lambda f: f.learn(1, [1e200, 0.0, 0.0], 1.0), "x is too large"),
    (lambda f: f.learn(11, [1e200, 0.0, 0.0], 1.0), "x is too large"),
    (lambda f: f.learn(1, X[0], 1.0, weight=0.0), "weight must be > 0"),
    (lambda f: f.learn(1, X[0], 1.0, context=[1.0]), "context has no meaning"),
    (lambda f: f.choose(1, [[1.0, 2.0]]), "X must have 3 features"),
    (lambda f: f.choose(11, [[1.0, 2.0]]), "X must have 3 features"),
    (lambda f: f.choose(1, X[:3], allowed=[False] * 3), "allowed must hold at least one True"),
    (lambda f: f.choose(1, X[:3], k=0), "k must be >= 1"),
    (lambda f: f.run([1], X[:2], [1.0, 1.0]), "keys must have length 2"),
    (lambda f: f.run(np.array([[1, 2]]), X[:2], [1.0, 1.0]), "keys must be one-dimensional"),
    (lambda f: f.run("ab", X[:2], [1.0, 1.0]), "keys must be a sequence"),
    (lambda f: f.run([1, 2], X[:2], [1.0, np.nan]), "y must"),
    (lambda f: f.run([1, 2], X[:2], [1.0]), "y must have length 2"),
    (lambda f: f.run([1, 2], X[:2], [1, 2], [1.0, 1.0]), "run takes keys, rows and targets"),
    (lambda f: f.run([1, 2], X[:2, :2], [1.0, 1.0]), "X must have 3 features"),
    (lambda f: f.run([1, 2], X[:2], [1.0, 1.0], weight=[1.0, -1.0]), "weight must be > 0"),
    (lambda f: f.run([1, 2], X[:2], [1.0, 1.0], n_jobs=0), "n_jobs must be >= 1"),
    (lambda f: f.run([1, 2], X[:2], [1.0, 1.0], context=[[1.0]]), "context has no meaning"),
    (lambda f: f.__setitem__(1, cf.OnlineRidge()), "learner must be a LinearBandit"),
    (lambda f: f.__setitem__(1, cf.LinearBandit(ridge=3.0)), "learner must have ridge=1.0"),
    (lambda f: f.__setitem__(1, cf.LinearBandit()), "learner has learned nothing"),
]


@pytest.mark.parametrize("call, match", BAD, ids=[match for _, match in BAD])
def test_bad_arguments_change_nothing(tmp_path, call, match):
    fleet = taught(tmp_path / "a")
    before = words_of(fleet)
    with pytest.raises((ValueError, TypeError), match=match):
        call(fleet)
    assert words_of(fleet) == before and 11 not in fleet
    assert fleet.health()["damaged"] == 0


def masked(values):
    first = np.arange(np.size(values)).reshape(np.shape(values)) == 0
    return np.ma.masked_array(values, mask=first)


MASKED = [
    ("key", cf.LinearBandit(), lambda f: f.learn(masked(1), X[0], 1.0)),
    ("key", cf.LinearBandit(), lambda f: f.choose(masked(1), X[:2])),
    ("key", cf.LinearBandit(), lambda f: f[masked(1)]),
    ("key", cf.LinearBandit(), lambda f: f.run([np.ma.masked, 2], X[:2], [1.0, 1.0])),
    ("keys", cf.LinearBandit(), lambda f: f.run(masked([1, 2]), X[:2], [1.0, 1.0])),
    ("keys", cf.LinearBandit(), lambda f: f.run(masked(["a", "b"]), X[:2], [1.0, 1.0])),
    ("x", cf.LinearBandit(), lambda f: f.learn(1, masked(X[0]), 1.0)),
    ("X", cf.LinearBandit(), lambda f: f.choose(1, masked(X[:2]))),
    ("X", cf.LinearBandit(), lambda f: f.run([1, 2], masked(X[:2]), [1.0, 1.0])),
    ("reward", cf.LinearBandit(), lambda f: f.learn(1, X[0], masked(1.0))),
    ("y", cf.LinearBandit(), lambda f: f.run([1, 2], X[:2], masked([1.0, 1.0]))),
    ("weight", cf.LinearBandit(), lambda f: f.learn(1, X[0], 1.0, weight=masked(1.0))),
    ("weight", cf.LinearBandit(),
     lambda f: f.run([1, 2], X[:2], [1.0, 1.0], weight=masked([1.0, 1.0]))),
    ("allowed", cf.LinearBandit(), lambda f: f.choose(1, X[:2], allowed=masked([True, True]))),
    ("context", cf.LinearBandit(context_features=1),
     lambda f: f.run([1, 2], X[:2], [1.0, 1.0], context=masked([[1.0], [2.0]]))),
    ("arm", cf.ArmBandit(2), lambda f: f.learn(1, X[0], masked(1), 1.0)),
    ("arm", cf.ArmBandit(2), lambda f: f.run([1, 2], X[:2], masked([0, 1]), [1.0, 1.0])),
    ("y", cf.ArmBandit(2), lambda f: f.run([1, 2], X[:2], [0, 1], masked([1.0, 1.0]))),
    ("relevant", cf.RidgeFilter(), lambda f: f.run([1, 2], X[:2], masked([True, False]))),
    ("X", cf.PreferencePerceptron(cf.Ranking()), lambda f: f.run([1, 2], masked(X[:2]))),
    ("better", cf.PreferencePerceptron(cf.Ranking()),
     lambda f: f.learn(1, X[:2], [0, 1], masked([1, 0]))),
]


@pytest.mark.parametrize("name, template, call", MASKED)
def test_masked_arrays_are_refused(name, template, call):
    fleet = cf.Fleet(None, template, 2)
    with pytest.raises(ValueError, match=f"^{name} must not be a masked array"):
        call(fleet)
    assert len(fleet) == 0 and fleet.health()["features"] == 0


def test_bad_arms():
    fleet = cf.Fleet(None, cf.ArmBandit(2), 2)
    for call in (lambda: fleet.learn(1, X[0], 2, 1.0), lambda: fleet.learn(1, X[0], -1, 1.0),
                 lambda: fleet.run([1], X[:1], [2], [1.0])):
        with pytest.raises(ValueError, match="arm must"):
            call()
    with pytest.raises(TypeError, match="a row and an arm and its reward"):
        fleet.learn(1, X[0], 1.0)
    fleet.learn(1, X[0], 1, 1.0)
    learner = fleet[1]
    learner.add_arm()
    with pytest.raises(ValueError, match="learner must have 2 arms"):
        fleet[2] = learner


def test_a_row_beyond_the_range_is_named():
    rows = X[:6].copy()
    rows[4] = 1e200
    fleet = cf.Fleet(None, cf.LinearBandit(), 2)
    with pytest.raises(ValueError, match="row 4 of X is too large"):
        fleet.run([1, 2, 1, 2, 1, 2], rows, np.ones(6))
    assert fleet[1].rounds == fleet[2].rounds == 2


@pytest.mark.parametrize("refused", [
    lambda fleet: fleet.learn(1, [1e200, 1.0], 1.0),
    lambda fleet: fleet.learn("a", [1e200, 1.0], 1.0),
    lambda fleet: fleet.run([1, 1], [[1e200, 1.0], [1.0, 1.0]], [1.0, 1.0])],
    ids=["learn", "text", "run"])
@pytest.mark.parametrize("template", [
    cf.LinearBandit(), cf.OnlineRidge(forget=0.9), cf.RidgeFilter(feedback="full")],
    ids=lambda template: type(template).__name__)
def test_a_first_row_that_is_refused_leaves_no_width(template, refused):
    fleet = cf.Fleet(None, template, 2)
    with pytest.raises(ValueError, match="too large"):
        refused(fleet)
    assert len(fleet) == 0
    fleet.learn(1, [1.0, 2.0, 3.0], 1.0)
    assert len(fleet) == 1


def test_closed(tmp_path):
    fleet = taught(tmp_path / "a")
    keys = iter(fleet)
    next(keys)
    fleet.close()
    fleet.close()
    for call in (lambda: fleet.learn(1, X[0], 1.0), lambda: fleet.choose(1, X[:2]),
                 lambda: fleet[1], lambda: len(fleet), lambda: list(fleet), fleet.flush,
                 fleet.health, lambda: fleet.run([1], X[:1], [1.0]), lambda: 1 in fleet):
        with pytest.raises(ValueError, match="the fleet is closed"):
            call()
    assert list(keys) == []


def test_no_copies():
    fleet = taught(None)
    for call in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot be copied or pickled"):
            call(fleet)


def test_flush_and_repr(tmp_path):
    with taught(tmp_path / "a") as fleet:
        fleet.flush()
        assert repr(fleet) == f"Fleet({str(tmp_path / 'a')!r}, LinearBandit())"


# --- arguments that call back, threads, forks ---------------------------------------------------


class Calls:
    """A row whose making calls the fleet."""

    def __init__(self, fleet, act):
        self.fleet, self.act = fleet, act

    def __array__(self, dtype=None, copy=None):
        self.act(self.fleet)
        return np.array([1.0, 2.0, 3.0])


@pytest.mark.parametrize("act", [
    lambda f: f.learn(1, X[1], 2.0),
    lambda f: f.run(np.arange(900), np.ones((900, 3)), np.ones(900)),
    lambda f: f.choose(2, X[:4]), lambda f: f.__delitem__(1), lambda f: f.close()])
def test_arguments_that_use_the_fleet(tmp_path, act):
    fleet = taught(tmp_path / "a")
    for call in (lambda: fleet.learn(1, Calls(fleet, act), 1.0),
                 lambda: fleet.choose(1, [Calls(fleet, act)])):
        try:
            call()
        except (ValueError, KeyError, TypeError) as error:
            assert "closed" in str(error) or "1" in str(error)
    fleet.close()
    with cf.Fleet(tmp_path / "a", mode="r") as again:
        assert again.health()["damaged"] == 0


def test_threads(tmp_path):
    fleet = taught(tmp_path / "a", range(40))
    stop, wrong = threading.Event(), []

    def reads():
        rng = np.random.default_rng(1)
        while not stop.is_set():
            try:
                key = int(rng.integers(40))
                fleet.choose(key, X[:5])
                assert fleet[key].rounds >= 1
            except BaseException as error:
                wrong.append(error)
                raise

    def learns(i):
        for t in range(300):
            fleet.learn(i, X[t % 60], 1.0)

    readers = [threading.Thread(target=reads) for _ in range(2)]
    writers = [threading.Thread(target=learns, args=(i,)) for i in (1000, 1001)]
    for thread in readers + writers:
        thread.start()
    for _ in range(5):
        fleet.run(np.arange(4000) % 2000 + 5000, np.tile(X[:40], (100, 1)), np.ones(4000), n_jobs=2)
    for thread in writers:
        thread.join()
    stop.set()
    for thread in readers:
        thread.join()
    assert not wrong
    own = cf.LinearBandit()
    for t in range(300):
        own.learn(X[t % 60], 1.0)
    for key in (1000, 1001):
        close(fleet[key].weights, own.weights)
        assert fleet[key].rounds == 300
    assert len(fleet) == 42 + 2000 and all(fleet[key].rounds == 10 for key in (5000, 6999))


@children.forks
def test_a_child_of_a_fork_only_reads(tmp_path):
    fleet = taught(tmp_path / "a")
    child = os.fork()
    if child == 0:
        try:
            fleet.choose(1, X[:3])
            try:
                fleet.learn(1, X[0], 1.0)
            except ValueError as error:
                os._exit(0 if "forked" in str(error) else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    fleet.learn(1, X[0], 1.0)
    fleet.close()
    with cf.Fleet(tmp_path / "a", mode="r") as again:
        assert again[1].rounds == 2


def interrupted(folder):
    fleet = cf.Fleet(os.path.join(folder, "a"), cf.LinearBandit(), 1000)
    n = 3_000_000
    keys, rows = np.arange(n) % 1000, np.ones((n, 3))
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    begun = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        while time.perf_counter() < begun + 60.0:
            fleet.run(keys, rows, np.ones(n))
    rounds = [fleet[key].rounds for key in (0, 999)]
    assert 0 <= rounds[0] - rounds[1] <= 1, rounds
    fleet.learn(1, rows[0], 1.0)


@children.forks
@pytest.mark.skipif(sys.platform == "win32", reason="no such signals")
def test_a_run_hears_ctrl_c(tmp_path):
    children.run(interrupted, str(tmp_path), seconds=90.0)


def test_what_a_killed_growth_has_taken_is_given_back(tmp_path):
    taught(tmp_path / "a").close()
    data = (tmp_path / "a").read_bytes()
    (tmp_path / "a").write_bytes(data[:32] + fleet_kills.at_work() + data[48:] + bytes(40960))
    with cf.Fleet(tmp_path / "a", mode="r+") as fleet:
        assert len(fleet) == 10 and os.path.getsize(tmp_path / "a") == len(data)
