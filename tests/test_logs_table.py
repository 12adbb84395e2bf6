"""``BanditLog.from_table``: every kind of table gives the same log; what is refused."""

import gzip
import importlib.util
import io

import numpy as np
import pytest

from coactive_fast import ArmBandit
from coactive_fast.logs import BanditLog, _table, replay

TEXT = """round,chosen,reward,probability,price,size,hour,user
a,0,,,1.5,3,7,u
a,1,1,0.5,2.5,4,7,u
b,1,0,1.0,0.5,5,9,v
c,0,,,9,6,8,u
c,0,,,8,7,8,u
c,1,-2,0.25,7,8,8,u
"""
FEATURES = np.array([[1.5, 3], [2.5, 4], [0.5, 5], [9, 6], [8, 7], [7, 8]])
OPTIONS = {"features": ["price", "size"], "context": ["hour"], "group": "user"}


def columns():
    rows = [line.split(",") for line in TEXT.split()]
    found = dict(zip(rows[0], zip(*rows[1:], strict=True), strict=True))
    return {name: np.array([float(x or "nan") for x in fields]) if name not in ("round", "user")
            else list(fields) for name, fields in found.items()}


def read(text, **options):
    return BanditLog.from_table(io.BytesIO(text.encode()), **options)


def check(log):
    np.testing.assert_array_equal(log.features, FEATURES)
    assert log.feature_names == ("price", "size")
    assert log.offsets.tolist() == [0, 2, 3, 6]
    assert log.chosen.tolist() == [1, 0, 2]
    assert log.reward.tolist() == [1.0, 0.0, -2.0]
    assert log.probability.tolist() == [0.5, 1.0, 0.25]
    assert log.context.tolist() == [[7], [9], [8]] and log.context_names == ("hour",)
    assert log.groups.tolist() == ["u", "v", "u"]


def frame(**changed):
    return pytest.importorskip("pandas").DataFrame({**columns(), **changed})


def arrow(**changed):
    return pytest.importorskip("pyarrow").table({**columns(), **changed})


# --- every kind of table --------------------------------------------------------------------------


@pytest.fixture(params=[1, 2, 4, 1 << 14])
def rows(request, monkeypatch):
    """How many rows are looked at in one go."""
    monkeypatch.setattr(_table, "ROWS", request.param)


def test_text(rows, tmp_path):
    check(read(TEXT, **OPTIONS))
    check(read(TEXT.replace(",", ";"), **OPTIONS))
    check(read(TEXT.replace("a,1,", "a,true,").replace("a,0,", "a,False,"), **OPTIONS))
    (tmp_path / "log.csv.gz").write_bytes(gzip.compress(TEXT.encode()))
    check(BanditLog.from_table(tmp_path / "log.csv.gz", **OPTIONS))


def test_columns_and_frames(rows):
    check(BanditLog.from_table(columns(), **OPTIONS))
    check(BanditLog.from_table(frame(), **OPTIONS))
    pandas = pytest.importorskip("pandas")
    nullable = frame(reward=pandas.array([None, 1, 0, None, None, -2], dtype="Int64"),
                     chosen=pandas.array([False, True, True, False, False, True], dtype="boolean"),
                     user=pandas.Categorical(columns()["user"]))
    check(BanditLog.from_table(nullable, **OPTIONS))


def test_arrow(rows, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    ipc = pytest.importorskip("pyarrow.ipc")
    table = arrow(user=pyarrow.array(columns()["user"]).dictionary_encode(),
                  chosen=pyarrow.array([False, True, True, False, False, True]),
                  reward=pyarrow.array([None, 1, 0, None, None, -2]))
    check(BanditLog.from_table(table, **OPTIONS))
    with ipc.new_file(tmp_path / "log.arrow", table.schema) as file:
        file.write_table(table, 2)
    check(BanditLog.from_table(tmp_path / "log.arrow", **OPTIONS))
    with ipc.new_stream(tmp_path / "log.arrows", table.schema) as file:
        file.write_table(table, 2)
    check(BanditLog.from_table(tmp_path / "log.arrows", **OPTIONS))


def test_parquet(rows, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow(), tmp_path / "log")
    check(BanditLog.from_table(tmp_path / "log", **OPTIONS))
    data = (tmp_path / "log").read_bytes()
    (tmp_path / "log").write_bytes(data[:len(data) // 2])
    with pytest.raises(ValueError, match="log' is truncated or damaged"):
        BanditLog.from_table(tmp_path / "log", **OPTIONS)


def test_columns_of_lists():
    pyarrow = pytest.importorskip("pyarrow")
    for kind in (pyarrow.list_(pyarrow.float32()), pyarrow.list_(pyarrow.float64(), 2)):
        table = arrow(both=pyarrow.array(FEATURES.tolist(), kind))
        log = BanditLog.from_table(table, features=["both", "size"])
        np.testing.assert_array_equal(log.features, np.hstack([FEATURES, FEATURES[:, 1:]]))
        assert log.feature_names == ("both[0]", "both[1]", "size")
    for bad in ([[1.0]] * 5 + [[1.0, 2.0]], [["x"]] * 6, [[1.0]] * 5 + [None]):
        with pytest.raises(ValueError, match="column 'both': expected lists of numbers"):
            BanditLog.from_table(arrow(both=pyarrow.array(bad)), features=["both"])


def test_the_extra_is_named(monkeypatch, tmp_path):
    import sys

    (tmp_path / "log").write_bytes(b"PAR1....")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ImportError, match=r"a Parquet file needs pyarrow.parquet: .*\[arrow\]"):
        BanditLog.from_table(tmp_path / "log")


# --- which column is what -------------------------------------------------------------------------


def test_all_other_columns_are_features():
    log = read("reward,x,round,y,probability,chosen\n1,2,0,3,0.5,1\n0,4,1,5,0.5,1\n")
    assert log.feature_names == ("x", "y") and log.context is None and log.groups is None
    assert log.features.tolist() == [[2, 3], [4, 5]]
    assert read("r,x,t,p,c\n1,2,0,0.5,1\n", reward="r", round="t", probability="p",
                chosen="c", dtype=np.float32).features.dtype == np.float32


def test_a_row_a_round():
    text = "arm,reward,probability,age,user\n2,1,0.5,31,1\n0,0,0.25,54,2\n1,1,1,20,1\n"
    log = read(text, action="arm", group="user")
    assert log.offsets.tolist() == [0, 3, 6, 9] and log.chosen.tolist() == [2, 0, 1]
    assert log.features.toarray().tolist() == np.tile(np.eye(3), (3, 1)).tolist()
    assert log.context.tolist() == [[31], [54], [20]] and log.context_names == ("age",)
    assert read(text, action="arm", n_actions=5, context=["age"]).offsets[-1] == 15
    assert log.groups.tolist() == ["1", "2", "1"]
    history = replay(ArmBandit(3, explore="greedy", floor=0.99, seed=0), log, seed=0)
    assert history.rounds == 3
    for options, words in [({"n_actions": 2}, "n_actions is 2, got the action 2"),
                           ({"features": ["age"]}, "features must be None")]:
        with pytest.raises(ValueError, match=words):
            read(text, action="arm", **options)
    with pytest.raises(ValueError, match="line 3: column 'arm': expected a whole number"):
        read(text.replace("\n0,", "\n-1,"), action="arm")


def test_progress_counts_rows(monkeypatch):
    monkeypatch.setattr(_table, "ROWS", 2)
    seen = []
    BanditLog.from_table(frame(), progress=lambda *told: seen.append(told), **OPTIONS)
    assert seen == [(2, 6), (4, 6), (6, 6)]


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize("old, new, words", [
    ("a,1,1,0.5", "a,1,,0.5", "line 3: column 'reward': expected a finite number, got nothing"),
    ("a,1,1,0.5", "a,1,nan,0.5", "line 3: column 'reward': expected a finite number"),
    ("a,1,1,0.5", "a,1,x,0.5", "line 3: column 'reward': expected a number, got 'x'"),
    ("a,1,1,0.5", "a,1,1,", "line 3: column 'probability': expected a finite number, got nothing"),
    ("a,1,1,0.5", "a,1,1,0", r"line 3: column 'probability': must lie in \(0, 1\], got 0"),
    ("a,1,1,0.5", "a,1,1,1.5", r"line 3: column 'probability': must lie in \(0, 1\], got 1.5"),
    ("a,1,1,0.5", "a,2,1,0.5", "line 3: column 'chosen': expected 0 or 1, got 2"),
    ("a,1,1,0.5", "a,,1,0.5", "line 3: column 'chosen': expected a finite number, got nothing"),
    ("a,1,1,0.5", "a,0,1,0.5", "line 3: column 'chosen': expected one chosen action .* got 0"),
    ("a,0,,", "a,1,1,1", "line 3: column 'chosen': expected one chosen action .* got 2"),
    ("c,1,-2,0.25", "c,0,-2,0.25", "line 7: column 'chosen': expected one chosen action .* got 0"),
    ("a,1,1,0.5,2.5", "a,1,1,0.5,", "line 3: column 'price': expected a finite number, got noth"),
    ("a,1,1,0.5,2.5", "a,1,1,0.5,red", "line 3: column 'price': expected a number, got 'red'"),
    ("a,1,1,0.5,2.5", "a,1,1,0.5,inf", "line 3: column 'price': expected a finite number"),
    ("2.5,4,7", "2.5,4,8", "line 3: column 'hour': expected what .* first row has, 7.0, got 8.0"),
    ("8,7,8,u", "8,7,9,u", "line 6: column 'hour': expected what .* first row has, 8.0, got 9.0"),
    ("a,1,1,0.5", ",1,1,0.5", "line 3: column 'round': nothing there"),
    ("9,6,8,u", "9,6,8", "line 5: expected 8 fields, got 7"),
    ("b,1", "a,1", "line 4: column '(chosen': expected one chosen action .* got 2|hour')"),
    ("b,1,0,1.0,0.5,5,9,v\nc,0", "b,1,0,1.0,0.5,5,9,v\na,1,1,1,1,1,9,v\nc,0",
     "the rows of a round must follow each other: .* row 3, counted"),
    ("b,1,0,1.0,0.5,5,9,v", "b,1,0,1.0,0.5,5,9,", "line 4: column 'user': nothing there"),
    (TEXT, "", "holds no rows"),
    (TEXT, TEXT.split("\n")[0], "holds no rows"),
    ("round,chosen", "round,round", "'round' twice"),
    ("round,chosen", "rounds,chosen", "round must name a column of .* has rounds, chosen, .*got"),
    ("size,hour", "sizes,hour", "features must name a column .* got 'size'"),
    ("a,1,1,0.5", "a,1,\r1,0.5", r"line 3: .* with ',' between, .*: a carriage return stands"),
    ("9,6,8,u", "9,6,8," + 131_073 * "u", "line 5: .* between, .*: field larger than field limit"),
])
def test_bad_tables(rows, old, new, words):
    assert old in TEXT
    with pytest.raises(ValueError, match=words):
        read(TEXT.replace(old, new, 1), **OPTIONS)


@pytest.mark.parametrize("changed, words", [
    ({"price": list("abcdef")}, "row 0, counted from 0: column 'price': expected numbers"),
    ({"price": [1.0, 2.0, np.nan, 4.0, 5.0, 6.0]}, "row 2, counted from 0: column 'price'"),
    ({"round": [1.5, 1.5, 2, 3, 3, 3]}, "column 'round': expected integers or strings"),
    ({"user": [None, None, "v", "u", "u", "u"]}, "row 0, counted from 0: column 'user': nothing"),
])
def test_bad_frames(changed, words):
    for table in (frame, arrow):
        with pytest.raises(ValueError, match=words):
            BanditLog.from_table(table(**changed), **OPTIONS)


@pytest.mark.parametrize("options, error, words", [
    ({"features": "price"}, TypeError, "features must be a sequence"),
    ({"features": ["price", "price"]}, ValueError, "'price' twice"),
    ({"features": []}, ValueError, "no column of features"),
    ({"reward": None}, TypeError, "reward must name a column"),
    ({"round": 3}, ValueError, "round must name a column"),
    ({"n_actions": 3}, ValueError, "n_actions goes with action"),
    ({"n_actions": 0, "action": "a"}, ValueError, "n_actions"),
    ({"delimiter": "|"}, ValueError, "delimiter"),
    ({"dtype": int}, ValueError, "dtype"),
])
def test_bad_options(options, error, words):
    with pytest.raises(error, match=words):
        read(TEXT, **options)


def test_a_polars_frame_is_refused_in_words():
    polars = pytest.importorskip("polars")
    for kind in (polars.DataFrame, polars.LazyFrame):
        with pytest.raises(TypeError, match=f"got a polars {kind.__name__} "):
            BanditLog.from_table(kind(columns()), **OPTIONS)
    check(BanditLog.from_table(dict(polars.DataFrame(columns()).to_dict()), **OPTIONS))
    if importlib.util.find_spec("pyarrow"):
        check(BanditLog.from_table(polars.DataFrame(columns()).to_arrow(), **OPTIONS))


def test_what_is_no_table(tmp_path):
    with pytest.raises(TypeError, match="table must be a path"):
        BanditLog.from_table(3)
    with pytest.raises(FileNotFoundError):
        BanditLog.from_table(tmp_path / "none")
    with pytest.raises(ValueError, match="column 'x' must have 2 rows"):
        BanditLog.from_table({"round": [0, 1], "chosen": [1, 1], "reward": [1, 1],
                              "probability": [1, 1], "x": [1]})
    with pytest.raises(ValueError, match="of float32"):
        read("round,chosen,reward,probability,x\n0,1,1,1,1e300\n", dtype=np.float32)


def test_rounds_over_batches_by_chance():
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 9, 5000)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    rows, chosen = offsets[-1], rng.integers(0, lengths)
    flags = np.zeros(rows)
    flags[offsets[:-1] + chosen] = 1
    table = {"round": np.repeat(rng.permutation(5000), lengths), "chosen": flags,
             "reward": rng.random(rows), "probability": 1.0 - rng.random(rows),
             "x": rng.random(rows)}
    log = BanditLog.from_table(table)
    np.testing.assert_array_equal(log.offsets, offsets)
    np.testing.assert_array_equal(log.chosen, chosen)
    np.testing.assert_array_equal(log.reward, table["reward"][offsets[:-1] + chosen])
    np.testing.assert_array_equal(log.features[:, 0], table["x"])


def test_ids_that_are_words_may_come_again_only_by_mistake():
    text = "round,chosen,reward,probability,x\n" + "".join(f"r{i},1,1,1,1\n" for i in range(9))
    assert len(read(text)) == 9
    with pytest.raises(ValueError, match="row 9, counted"):
        read(text + "r0,1,1,1,1\n")
    assert _table._numbers_of(np.array(["a", "b"], object)).dtype == np.int64


def test_actions_that_are_no_places_are_not_counted_up():
    """A column of article numbers would make as many actions in every round."""
    text = b"action,reward,probability\n1000000000,1,.5\n"
    with pytest.raises(MemoryError, match="'action': 1000000001 actions in each of 1 rounds"):
        BanditLog.from_table(io.BytesIO(text), action="action")
