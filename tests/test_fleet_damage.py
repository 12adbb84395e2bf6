"""A bit of a fleet's file that the disc has turned: the right values, or an error that says so."""

import contextlib
import os
import struct

import children
import numpy as np
import pytest

import coactive_fast as cf
from coactive_fast.fleet import _file
from coactive_fast.learner import _store
from coactive_fast.learner._file import from_bytes, to_bytes

X = np.random.default_rng(1).standard_normal((40, 3))
KINDS = {"numbers": {"keep": False, "as_text": False},
         "texts, kept": {"keep": True, "as_text": True}}
PARTS = ("head", "layout", "other pages", "area", "index", "list", "record", "free record")
# where a writer answers as if nothing had happened; a reader where the index does not matter
HARMLESS = {"r": ("area", "free record", "list"),
            "r+": ("area", "free record", "list", "index")}
STEP = {"other pages": 61, "area": 5}  # one bit in so many is turned
DAMAGED = 2  # the slot whose record is turned


def content(words):
    """What a record has of its model: neither sequence, sums, key nor epoch."""
    return None if words is None else words[3:4].tobytes() + words[5:].tobytes()


class Small:
    """The file of a small fleet that was closed, and its models before and after more rows."""

    def __init__(self, folder, keep, as_text):
        self.path = os.path.join(folder, "a")
        *self.keys, self.new = [f"key {i} \N{SNOWMAN}" if as_text else 7 * i - 9 for i in range(6)]
        with cf.Fleet(self.path, cf.LinearBandit(), 16 if keep else 8, keep_flushed=keep) as fleet:
            for t, key in enumerate([*self.keys, *self.keys[:3]]):
                fleet.learn(key, X[t], 1.0)
            if keep:
                fleet.flush()
                fleet.learn(self.keys[1], X[9], 2.0)  # there are two records of it now
            fleet.learn(self.new, X[0], 1.0)
            del fleet[self.new]
            self.before = {key: content(fleet._engine.words(key)) for key in fleet}
            self.free = fleet.health()["kept"] + len(fleet)
            self.layout = fleet._engine.records.file.layout
        with open(self.path, "rb") as file:
            self.data = file.read()
        self.after = []
        with cf.Fleet(self.path, mode="r+") as fleet:
            for step in self.steps(fleet):
                for key in [*self.keys, self.new]:
                    step(key)
                self.after.append({key: content(fleet._engine.words(key)) for key in fleet})
        self.restore()

    def steps(self, fleet):
        yield lambda key: fleet.learn(key, X[20], 3.0)
        yield lambda key: fleet.run([key], X[30:31], [1.0], n_jobs=1 + (key == self.keys[DAMAGED]))

    def restore(self):
        with open(self.path, "wb") as file:
            file.write(self.data)

    def turn(self, bit):
        handle = os.open(self.path, os.O_WRONLY)
        os.pwrite(handle, bytes([self.data[bit // 8] ^ 1 << bit % 8]), bit // 8)
        os.close(handle)

    def bits(self, part):
        """Those of a part."""
        layout, record = self.layout, 8 * self.layout.record
        place, size = layout.segments[0][0], len(layout.packed(1))
        identity = len(self.data[4096:layout.areas].rstrip(b"\0"))
        bytes_of = {
            "head": [*range(72), *range(512, 576)], "layout": range(2048, 2048 + size),
            "other pages": [*range(72, 512), *range(576, 2048), *range(4096, 4096 + identity)],
            "area": range(layout.areas, layout.areas + 8 * (16 + layout.head + layout.block)),
            "index": range(layout.index, layout.index + 8 * layout.entries),
            "list": range(layout.retired, layout.retired + 8 * 4 * bool(layout.retired)),
            "record": range(place + DAMAGED * record, place + (DAMAGED + 1) * record),
            "free record": range(place + self.free * record, place + (self.free + 1) * record)}
        return [8 * byte + bit for byte in bytes_of[part] for bit in range(8)]


# --- in a child -----------------------------------------------------------------------------------


class Watch:
    """What a damaged file answers."""

    def __init__(self, small):
        self.small, self.blamed = small, set()

    def attempt(self, call, key=None):
        """``(the answer, whether it was an error)``."""
        try:
            return call(), False
        except ValueError as error:
            assert self.small.path in str(error), f"the file is not named: {error}"
            assert key is None or repr(key) in str(error), f"{key!r} is not named: {error}"
            self.blamed.add(key)
            return None, True

    def check(self, fleet, models):
        """All that can be read is right."""
        for key in (*self.small.keys, self.small.new, 2 * self.small.new):
            words, refused = self.attempt(lambda key=key: fleet._engine.words(key), key)
            assert refused or content(words) == models.get(key), f"{key!r} is another model"
            there, refused = self.attempt(lambda key=key: key in fleet, key)
            assert refused or there == (key in models), f"{key!r}: {there}"
            self.attempt(lambda key=key: fleet.choose(key, X[:4]), key)
        damage = bool(self.blamed)
        listed, refused = self.attempt(lambda: list(fleet))
        assert refused or sorted(listed) == sorted(models), f"{listed} are listed"
        length, refused = self.attempt(lambda: len(fleet))
        assert refused or length == len(models), f"{length} models"
        health, refused = self.attempt(fleet.health)
        assert refused or health["models"] == len(models)
        assert refused or health["damaged"] or not damage, "health says nothing of it"


def read(small, fleet, watch):
    with fleet:
        watch.check(fleet, small.before)


def written(small, fleet, watch):
    models = dict(small.before)
    with fleet:
        watch.check(fleet, models)
        for step, after in zip(small.steps(fleet), small.after, strict=True):
            for key in [*small.keys, small.new]:
                if not watch.attempt(lambda step=step, key=key: step(key), key)[1]:
                    models[key] = after[key]
        for key in (small.keys[0], small.new):
            if not watch.attempt(lambda key=key: fleet.__delitem__(key), key)[1]:
                del models[key]
        watch.check(fleet, models)
    for mode in ("r", "r+"):
        with cf.Fleet(small.path, mode=mode) as again:
            watch.check(again, models)
            if mode == "r+" and watch.blamed:  # what is put in its place is whole
                key, = watch.blamed
                assert key == small.keys[DAMAGED]
                again[key] = again[small.keys[1]]
                models[key], watch.blamed = content(again._engine.words(key)), set()
                watch.check(again, models)
                assert not watch.blamed


def turned(folder, kind, mode, part):
    """Bit after bit of a part; the file `at` says which one is at work."""
    _file.File.flush = lambda file: None  # the machine does not stop
    small = Small(folder, **KINDS[kind])
    step = STEP.get(part, 1) * (1 if kind == "numbers" else 3)
    with open(os.path.join(folder, "at"), "wb", buffering=0) as at:
        for bit in small.bits(part)[::step]:
            os.pwrite(at.fileno(), struct.pack("<Q", bit), 0)
            watch = Watch(small)
            small.turn(bit)
            try:
                fleet, refused = watch.attempt(lambda: cf.Fleet(small.path, mode=mode))
                if refused:
                    assert part in PARTS[:3], "the file cannot be opened"
                else:
                    (read if mode == "r" else written)(small, fleet, watch)
                    fine = part in HARMLESS[mode]
                    assert not (fine and watch.blamed), f"no need for errors: {watch.blamed}"
            except Exception as error:
                error.args = (f"bit {bit}: {error}",)
                raise
            small.restore()


@children.forks
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("mode", ["r", "r+"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_bit(tmp_path, kind, mode, part):
    try:
        children.run(turned, str(tmp_path), kind, mode, part, seconds=240.0)
    except children.Failed as failure:
        bit, = struct.unpack("<Q", (tmp_path / "at").read_bytes())
        raise children.Failed(f"bit {bit % 8} of byte {bit // 8}: {failure}") from None


# --- growth ---------------------------------------------------------------------------------------


def with_a_turned_key(folder, kind, *bits):
    """A file in which bits of one key are turned."""
    small = Small(str(folder), **KINDS[kind])
    place = small.layout.segments[0][0] + 8 * (DAMAGED * small.layout.record + 2)
    data = bytearray(small.data)
    for bit in bits:
        data[place + bit // 8] ^= 1 << bit % 8
    with open(small.path, "wb") as file:
        file.write(data)
    return small


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bit", [0, 17, 40, 63])
def test_a_file_grows_around_a_damaged_key(tmp_path, kind, bit):
    small = with_a_turned_key(tmp_path, kind, bit)
    more = [f"more {i}" if kind != "numbers" else 100 + i for i in range(30)]
    with cf.Fleet(small.path, mode="r+") as fleet:
        for key in more:
            fleet.learn(key, X[20], 3.0)
        assert sorted(fleet) == sorted([*small.keys, *more]) and fleet.capacity >= 32
    for mode in ("r", "r+"):
        with cf.Fleet(small.path, mode=mode) as fleet:
            for key in small.keys:
                if key != small.keys[DAMAGED]:
                    assert content(fleet._engine.words(key)) == small.before[key]
            with pytest.raises(ValueError, match=f"the model of key {small.keys[DAMAGED]!r} does"):
                fleet[small.keys[DAMAGED]]
            assert small.keys[DAMAGED] in fleet and fleet.health()["damaged"] == 1


def test_a_file_does_not_grow_around_what_nobody_can_make_out(tmp_path):
    small = with_a_turned_key(tmp_path, "numbers", 1, 9, 30)
    size = os.path.getsize(small.path)
    with cf.Fleet(small.path, mode="r+") as fleet:
        for key in (100, 101, 102):
            fleet.learn(key, X[20], 3.0)
        for _ in range(3):
            with pytest.raises(ValueError, match="in slot 2 does not fit its checksum") as error:
                fleet.learn(103, X[20], 3.0)
            assert small.path in str(error.value) and os.path.getsize(small.path) == size
        with pytest.raises(ValueError, match="in slot 2 does not fit its checksum"):
            list(fleet)
        fleet.learn(100, X[20], 3.0)
        del fleet[small.keys[DAMAGED]]  # whoever has the key can part with it
        fleet.learn(103, X[20], 3.0)
        fleet.learn(104, X[20], 3.0)
        assert len(list(fleet)) == len(fleet) == 9 and fleet.capacity == 16


# --- files that somebody has made up, with the right checksums ------------------------------------


NUMBERS = (0, 1, 2, 3, 7, 8, 9, 16, 512, 4095, 4096, 8192, 2**20, 2**31, 2**32, 2**40, 2**61,
           2**63 - 1, 2**63, 2**64 - 4096, 2**64 - 1)


def made_up(small):
    """Bytes for places of the file."""
    layout, (generation, words) = small.layout, _file._unpacked(small.data[2048:3072])
    assert generation == 1 and words == layout
    numbers = [*layout[:-1], len(layout.segments), *layout.segments[0]]
    for i, old in enumerate(numbers):
        for new in {*NUMBERS, *(old + more for more in (-4096, -8, -1, 1, 8, 4096)), 2 * old}:
            if new != old and 0 <= new < 2**64:
                changed = struct.pack(f"<{len(numbers) + 1}Q", 1, *numbers[:i], new,
                                      *numbers[i + 1:])
                yield 2048, struct.pack("<Q", _file.zlib.crc32(changed)) + changed
    for place in (32, 40, 64, 560, 568):
        for new in NUMBERS:
            yield place, struct.pack("<Q", _file.sealed(new % 2**48, place))
    *counts, check = struct.unpack_from("<6Q", small.data, 512)
    assert check == sum_of(counts) ^ sum_of([0] * 5)
    for i in range(5):
        for new in NUMBERS:
            changed = [*counts[:i], new, *counts[i + 1:]]
            yield 512, struct.pack("<6Q", *changed, sum_of(changed) ^ sum_of([0] * 5))
    for slot in (0, 1, 2, 5, layout.capacity - 1):  # an entry for another slot, more of the same
        bare = struct.unpack_from("<Q", small.data, used_entry(small))[0] >> 40 << 40 | slot + 2
        check = 0
        for byte in struct.pack("<Q", bare):
            check ^= byte
        entry = struct.pack("<Q", bare | check << 32)
        yield used_entry(small), entry
        yield layout.index, entry * layout.entries
    place, head = layout.segments[0][0], layout.head
    record = list(struct.unpack_from(f"<{head}Q", small.data, place))
    assert record[1] == sum_of(record[2:])
    for i in range(2, head):
        for new in NUMBERS:
            changed = [*record[2:i], new, *record[i + 1:]]
            yield place + 8, struct.pack(f"<{head - 1}Q", sum_of(changed), *changed)


def sum_of(words):
    """`cf_fleet_sum`."""
    odd = (0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9, 0x94d049bb133111eb, 0xff51afd7ed558ccd,
           0xc4ceb9fe1a85ec53, 0xd6e8feb86659fd93, 0xa0761d6478bd642f, 0xe7037ed1a0b428db)
    a, b = len(words), 0x2545f4914f6cdd1d
    for lane in range(8):
        s = t = 0
        for word in [*words, *[0] * (8 - len(words) % 8)][lane::8]:
            s = (s + word) % 2**64
            t = (t + s) % 2**64
        a = ((a << 23 | a >> 41) + s * odd[lane]) % 2**64
        b += t * odd[7 - lane]
    return mixed(a ^ mixed(b % 2**64))


def mixed(x):
    for factor in (0xff51afd7ed558ccd, 0xc4ceb9fe1a85ec53):
        x = (x ^ x >> 33) * factor % 2**64
    return x ^ x >> 33


def used_entry(small):
    layout = small.layout
    return next(place for place in range(layout.index, layout.index + 8 * layout.entries, 8)
                if small.data[place] > 1)


def survives(folder, kind, mode, step):
    """Whatever is in it: an answer, or an error."""
    _file.File.flush = lambda file: None
    small = Small(folder, **KINDS[kind])
    with open(os.path.join(folder, "at"), "wb", buffering=0) as at:
        for number, (place, data) in list(enumerate(made_up(small)))[::step]:
            os.pwrite(at.fileno(), struct.pack("<Q", number), 0)
            small.restore()
            with open(small.path, "r+b") as file:
                file.seek(place)
                file.write(data)
            calls = [lambda fleet, key=key: fleet[key] for key in (*small.keys, small.new)]
            calls += [list, len, lambda fleet: fleet.health()]
            try:
                fleet = cf.Fleet(small.path, mode=mode)
            except ValueError as error:
                assert small.path in str(error)
                continue
            if mode == "r+":
                for work in small.steps(fleet):
                    calls += [lambda _, work=work, key=key: work(key)
                              for key in (*small.keys, small.new)]
                calls += [lambda fleet: fleet.__delitem__(small.keys[0]),
                          lambda fleet: fleet.__setitem__(small.keys[0], fleet[small.keys[1]]),
                          lambda fleet: fleet.flush()]
            with fleet:
                for call in [*calls, *calls]:
                    with contextlib.suppress(ValueError, KeyError, MemoryError):
                        call(fleet)


@children.forks
@pytest.mark.parametrize("mode", ["r", "r+"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_somebody_has_made_up(tmp_path, kind, mode):
    try:
        children.run(survives, str(tmp_path), kind, mode, 1, seconds=240.0)
    except children.Failed as failure:
        number, = struct.unpack("<Q", (tmp_path / "at").read_bytes())
        raise children.Failed(f"number {number}: {failure}") from None


@pytest.mark.parametrize("change", [
    {"capacity": "many"}, {"capacity": 0}, {"capacity": 2**40}, {"keep": 3}, {"prior_weight": -1.0},
    {"prior_weight": None}, {"template": 5}, {"template": None}, {"prior": 3}, {"fleet": None},
    {"prior": "template"}], ids=str)
def test_heads_that_somebody_has_made_up(tmp_path, change):
    with cf.Fleet(tmp_path / "a", cf.ArmBandit(2), 4) as fleet:
        data, identity = (tmp_path / "a").read_bytes(), fleet._engine.records.file.identity
    head, arrays = from_bytes(identity, "a")
    if change == {"prior": "template"}:
        change = {"prior": _store.encode(cf.ArmBandit(3), arrays, "prior")}
    identity = to_bytes({**head, **change}, arrays)
    data = bytearray(data[:4096] + identity + bytes(-len(identity) % 4096))
    struct.pack_into("<Q", data, 24, len(identity))
    (tmp_path / "a").write_bytes(data)
    for mode in ("r", "r+"):
        if change == {"fleet": None}:  # nothing depends on it
            cf.Fleet(tmp_path / "a", mode=mode).close()
            continue
        with pytest.raises(ValueError, match="/a'"):
            cf.Fleet(tmp_path / "a", mode=mode)
