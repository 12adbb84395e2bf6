"""``BanditLog.from_vw``: what is read, by hand, and what is refused, in which words."""

import bz2
import gzip
import io
import lzma

import children
import numpy as np
import pytest
import scipy.sparse

from coactive_fast import LinearBandit, _memory
from coactive_fast.logs import BanditLog, evaluate, replay
from coactive_fast.reference import logs_read

LINE = ('{"_label_cost":-1.0,"_label_probability":0.5,"_label_Action":2,"_labelIndex":1,'
        '"o":[{"v":1.0}],"Timestamp":"2021-02-04T16:31:29Z","EventId":"13","a":[2,1],'
        '"c":{"User":{"age":31,"new":true,"gone":false},"_ua":"x","_multi":['
        '{"_tag":"t","i":{"id":"a b"},"j":[{"price":2.5,"none":null}]},'
        '{"i":{"id":"c"},"e":[0.5,0,null,-1]}]},"p":[0.5,0.5],"VWState":{"m":"N/A"}}')
TEXT = """shared |User age:31 new
 |i id:a_b |j price:2.5
0:-1:0.5 |i id:c |e :0.5 :0 :-1
"""


def read(text, **options):
    return BanditLog.from_vw(io.BytesIO(text if isinstance(text, bytes) else text.encode()),
                             **options)


def refused(text, **options):
    with pytest.raises(ValueError) as caught:
        read(text, **options)
    return str(caught.value)


# --- what is read ---------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [LINE, TEXT], ids=["dsjson", "text"])
def test_both_formats_by_hand(text):
    log = read(text)
    assert log.feature_names == ("i^id^a_b", "j^price", "i^id^c", "e^[0]", "e^[2]")
    np.testing.assert_array_equal(log.features, [[1, 2.5, 0, 0, 0], [0, 0, 1, 0.5, -1]])
    assert log.context_names == ("User^age", "User^new")
    np.testing.assert_array_equal(log.context, [[31, 1]])
    assert (log.offsets.tolist(), log.chosen.tolist()) == ([0, 2], [1])
    assert (log.reward.tolist(), log.probability.tolist()) == ([1.0], [0.5])
    assert log.left_out == {}


def test_an_example_that_vw_tests_itself_with():
    log = read("shared | s_1 s_2\n0:1.0:0.5 | a_1 b_1 c_1\n | a_2 b_2 c_2\n | a_3 b_3 c_3\n\n"
               " | b_1 c_1 d_1\n0:0.0:0.5 | b_2 c_2 d_2\n\n | a_1 b_1 c_1\n | a_3 b_3 c_3\n\n",
               unlabelled="skip")
    assert (log.offsets.tolist(), log.chosen.tolist()) == ([0, 3, 5], [0, 1])
    assert log.reward.tolist() == [-1.0, 0.0]
    assert not np.signbit(log.reward[1])
    assert log.context.tolist() == [[1, 1], [0, 0]]
    assert log.left_out == {"unlabelled": 1}


def test_columns_are_those_of_vw():
    """What vw itself gives: its issues 4478 and 1125 show these."""
    for space, key, column in [("namespace", "feature", 242309), ("n", "feature", 35795),
                               ("b", "c3", 46188), ("b", "c57", 166454)]:
        log = read(f"0:1:0.5 |{space} {key}\n", hash_bits=18)
        assert log.features.indices.tolist() == [column]
        assert log.feature_names[column] == f"{space}^{key}"
        assert logs_read.column_of(space, key, None, 18, True) == column
    numbers = read("0:1:0.5 | 12 007 |e :1 :1\n", hash_bits=18).features.indices
    space = logs_read.murmur3(b"e", 0)
    assert numbers.tolist() == sorted([12, 7, space % 2**18, (space + 1) % 2**18])


def test_names_of_a_table_that_share_a_column():
    log = read("0:1:0.5 |a b c d e f g h i\n", hash_bits=1)
    columns = {f"a^{key}": logs_read.column_of("a", key, None, 1, True) for key in "bcdefghi"}
    assert {0, 1} == set(columns.values())
    assert log.feature_names == tuple("|".join(name for name, j in columns.items() if j == column)
                                      for column in (0, 1))
    assert log.features.tolist() == [[name.count("|") + 1 for name in log.feature_names]]


def test_the_last_of_three_ways_to_say_what_was_chosen():
    def chosen(*parts):
        members = ",".join(['"_label_cost":0', '"_label_probability":0.5', *parts])
        return read(f'{{{members},"c":{{"_multi":[{{"x":1}},{{"x":2}},{{"x":3}}]}}}}').chosen[0]

    assert chosen('"a":[3,1,2]') == 2
    assert chosen('"a":[3,1,2]', '"_label_Action":2') == 1
    assert chosen('"_labelIndex":0', '"_label_Action":2', '"a":[3,1,2]') == 0
    assert chosen('"a":2', '"_labelIndex":null') == 1


def test_the_probability_of_p_where_there_is_no_other():
    line = LINE.replace('"_label_probability":0.5,', "").replace('"p":[0.5', '"p":[0.125')
    assert read(line).probability.tolist() == [0.125]


def test_what_is_left_out_is_counted():
    skipped = LINE.replace('"_labelIndex":1', '"_labelIndex":9,"_skipLearn":true')
    kept = LINE.replace('"_labelIndex"', '"_skipLearn":false,"_labelIndex"')
    log = read("\n".join(['{"RewardValue":1,"EventId":"7"}', LINE, "", "  \r", skipped,
                          '{"c":null}', kept]))
    assert len(log) == 2
    assert log.left_out == {"dangling": 2, "not learned": 1}


def test_a_line_that_is_left_out_leaves_no_column_behind():
    skipped = LINE.replace('"id":"c"', '"id":"other"').replace('"p":[', '"_skipLearn":true,"p":[')
    assert read(skipped + "\n" + LINE).feature_names == read(LINE).feature_names


def test_dense_up_to_64_columns():
    wide = "0:1:0.5 | " + " ".join(f"f{i}" for i in range(65)) + "\n"
    assert scipy.sparse.issparse(read(wide).features)
    assert isinstance(read(wide, dense=True).features, np.ndarray)
    assert scipy.sparse.issparse(read(TEXT, dense=False).context)
    assert read(TEXT, dtype=np.float32).features.dtype == np.float32
    with pytest.raises(MemoryError, match="dense=False keeps"):
        read(wide, hash_bits=31, dense=True, context_bits=31)


def test_given_names_are_the_columns():
    first = read(LINE)
    other = read(LINE.replace('"id":"c"', '"id":"d"').replace('"age"', '"size"'),
                 names=first.feature_names, context_names=first.context_names)
    assert other.feature_names == first.feature_names
    np.testing.assert_array_equal(other.features, [[1, 2.5, 0, 0, 0], [0, 0, 0, 0.5, -1]])
    np.testing.assert_array_equal(other.context, [[0, 1]])
    assert other.left_out == {"features": 2}
    assert read(LINE, context_names=()).context is None
    assert read(LINE, names=["e^[2]", "new"]).features.tolist() == [[0, 0], [-1, 0]]


def test_several_files_are_one_log(tmp_path):
    for name, text in [("a.json", LINE), ("b.json.gz", LINE.replace('"id":"c"', '"id":"d"'))]:
        opener = gzip.open if name.endswith("gz") else open
        with opener(tmp_path / name, "wb") as file:
            file.write(text.encode())
    log = BanditLog.from_vw([tmp_path / "a.json", tmp_path / "b.json.gz"])
    assert log.feature_names == (*read(LINE).feature_names, "i^id^d")
    assert log.offsets.tolist() == [0, 2, 4]
    (tmp_path / "c.txt").write_text(TEXT)
    with pytest.raises(ValueError, match=r"c.txt'.* the format of the files before it"):
        BanditLog.from_vw([tmp_path / "a.json", tmp_path / "c.txt"])


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_packed_files(pack, tmp_path):
    path = tmp_path / "log"
    path.write_bytes(pack((LINE + "\n").encode() * 50))
    assert len(BanditLog.from_vw(path)) == 50
    path.write_bytes(pack((LINE + "\n").encode() * 50)[:-20])
    with pytest.raises(ValueError, match="truncated or damaged"):
        BanditLog.from_vw(path)


def test_a_mark_in_front_of_the_file_and_windows_lines():
    assert len(read(b"\xef\xbb\xbf" + f"{LINE}\r\n{LINE}\r\n".encode())) == 2
    assert len(read(b"\xef\xbb\xbf" + (TEXT + "\n" + TEXT).replace("\n", "\r\n").encode())) == 2


def test_progress_goes_by_the_bytes_of_the_file(tmp_path):
    for name, data in [("log", f"{LINE}\n" * 5000), ("log.gz", f"{LINE}\n" * 5000)]:
        path, seen = tmp_path / name, []
        path.write_bytes(gzip.compress(data.encode()) if name.endswith("gz") else data.encode())
        BanditLog.from_vw(path, progress=lambda *told, seen=seen: seen.append(told))
        assert len(seen) > 3 and seen == sorted(seen)
        assert seen[-1] == (path.stat().st_size, path.stat().st_size)


def test_progress_over_files(tmp_path):
    seen = []
    for name in "ab":
        (tmp_path / name).write_text(f"{LINE}\n" * 3000)
    BanditLog.from_vw([tmp_path / name for name in "ab"], progress=lambda *told: seen.append(told))
    total = 2 * (tmp_path / "a").stat().st_size
    assert seen == sorted(seen) and seen[-1] == (total, total) and len(seen) > 4


def test_files_of_blanks_have_any_format(tmp_path):
    for name, text in [("a", "\n \n"), ("b", TEXT), ("c", "\r\n"), ("d", "")]:
        (tmp_path / name).write_text(text)
    assert len(BanditLog.from_vw([tmp_path / name for name in "abcdb"])) == 2


def test_many_names():
    """The table of names grows, over pieces and files."""
    lines = "\n\n".join(f"0:1:0.5 |n a{i} b{i % 7}:2" for i in range(40_000))
    log = read(lines)
    assert log.n_features == 40_007
    assert log.feature_names[0::20_000][:2] == ("n^a0", "n^a19993")
    assert log.features.nnz == 80_000
    index = {name: i for i, name in enumerate(log.feature_names)}
    last = log.features.indices[log.features.indptr[-2]:]
    assert last.tolist() == sorted([index["n^a39999"], index[f"n^b{39_999 % 7}"]])


def test_a_learner_lives_on_it():
    log = read("\n".join([LINE, LINE.replace('"_labelIndex":1', '"_labelIndex":0')] * 20))
    assert len(replay(LinearBandit(seed=0), log, seed=1)) > 0
    assert evaluate([0.5, 0.5] * 40, log, force=True).value == 1.0


# --- long texts -----------------------------------------------------------------------------------

ESCAPES = [r"\n", r"\"", r"\\", r"\/", r"\b", r"\f", r"\r", r"\t", r"\u00e9", r"\u20AC", r"\u007c",
           r"\ud834\udd1e", "é", ""]
PLACES = ['"{0}":"{1}"', '"n":{{"{0}":"{1}"}}', '"n":[{{"{0}":"{1}"}}]',
          '"n":{{"m":{{"o":{{"{0}":"{1}","{1}":1}}}}}}', '"{1}":{{"{0}":"{1}"}}',
          '"_text":"{1} {0}"', '"_passed over":"{0}{1}"']
HEAD = '{"_label_cost":1,"_label_probability":0.5,"_labelIndex":0,"c":{"_multi":[{"x":1,'


def long_line(key, text):
    """Read as the json module has it, wherever the texts stand."""
    for place in PLACES:
        line = HEAD + place.format(key, text) + "}]}}\n"
        assert read(line).feature_names == logs_read.from_vw(line.encode()).feature_names


def long_lines(escape):
    for other in (":", "a"):
        for text in (escape + f"{other}x" * 66_000, f"{escape}{other}{escape}x" * 13_000):
            long_line("k", text)
            long_line(text, f"{escape}{other}" * 300)


@children.forks
def test_the_line_that_overflowed():
    children.run(long_line, "a", "\\n" + "a:" * 66_000)


@children.forks
@pytest.mark.parametrize("escape", ESCAPES)
def test_long_texts_with_escapes(escape):
    children.run(long_lines, escape, seconds=120)


# --- what is refused ------------------------------------------------------------------------------

LABEL = "action:cost:probability"


@pytest.mark.parametrize("old, new, field, words", [
    ('"_label_cost":-1.0,', "", "_label_cost", "is missing"),
    ('"_label_cost":-1.0,', '"_label_cost":null,', "_label_cost", "is missing"),
    ('"_label_probability":0.5,', '"p2":1,', None, None),  # p says it
    ('"_label_cost":-1.0', '"_label_cost":"x"', "_label_cost", "another kind"),
    ('"_label_cost":-1.0', '"_label_cost":"NaN"', "_label_cost", "NaN or infinity"),
    ('"_label_cost":-1.0', '"_label_cost":NaN', "_label_cost", "NaN or infinity"),
    ('"_label_cost":-1.0', '"_label_cost":1e999', "_label_cost", "NaN or infinity"),
    ('"_label_cost":-1.0', '"_label_cost":-Infinity', "_label_cost", "NaN or infinity"),
    ('"_label_probability":0.5', '"_label_probability":0', "_label_probability",
     r"must lie in \(0, 1\], got 0:"),
    ('"_label_probability":0.5', '"_label_probability":1.25', "_label_probability",
     r"must lie in \(0, 1\], got 1.25:"),
    ('"_label_probability":0.5', '"_label_probability":-0.5', "_label_probability", "got -0.5"),
    ('"_labelIndex":1', '"_labelIndex":2', "_labelIndex", "an action of the round, .*got 2:"),
    ('"_labelIndex":1', '"_labelIndex":-1', "_labelIndex", "an action of the round, .*got -1:"),
    ('"_labelIndex":1', '"_labelIndex":0.5', "_labelIndex", "another kind"),
    ('"_labelIndex":1', '"_labelIndex":1,"_labelIndex":1', "_labelIndex", "stands twice"),
    ('"_labelIndex":1', '"_labelIndex":1,"_labelindex":1', "_labelindex", "stands twice"),
    ('"_label_Action":2,"_labelIndex":1,', "", None, None),  # a says it
    ('"price":2.5', '"price":NaN', "price", "NaN or infinity"),
    ('"price":2.5', '"price":-1e400', "price", "NaN or infinity"),
    ('"e":[0.5', '"e":["x"', "e", "another kind"),
    ('"e":[0.5', '"e":[[1]', "e", "another kind"),
    ('"e":[0.5', '"e":[true', "e", "another kind"),
    ('"_multi":[', '"_slots":[],"_multi":[', "_slots", "no log of single decisions"),
    ('"_multi":[', '"_multi":[],"_multi":[', "_multi", "stands twice"),
    ('"_multi":[', '"x_multi":[', "_multi", "is missing"),
    ('"_multi":[', '"_multi":[],"x":[', "_multi", "is missing"),
    ('"_multi":[', '"_multi":[7,', "_multi", "another kind"),
    ('"_tag":"t"', '"__aid":3', "__aid", "no log of single decisions"),
    ('"_tag":"t"', '"_label_cost":3', "_label_cost", "no log of single decisions"),
    ('"o":', '"_outcomes":', "_outcomes", "no log of single decisions"),
    ('"o":', '"_label":', "_label", "no log of single decisions"),
    ('"c":{', '"c":3,"d":{', "c", "another kind"),
    ('"c":{', '"d":{', None, "there is no round .left out: 1 dangling."),
    ('"o":', '"pdrop":1,"o":', "pdrop", r"must lie in \[0, 1\), got 1:"),
    ('"_ua":"x"', '"_text":3', "_text", "another kind"),
    ('"_ua":"x"', '"_skip":' + "[" * 70 + "]" * 70, "_skip", "too deep"),
    ('"VWState":{"m":"N/A"}}', '"VWState":{"m":"N/A"}', None, "expected a JSON object"),
    ('"VWState"', "VWState", None, "expected a JSON object, got 'VWState"),
    ('"t"', '"\\x"', None, "expected a JSON object, got 'x\"'|expected a JSON object"),
    ('"price":2.5', '"price":02.5', None, "expected a JSON object"),
    ('"price":2.5', '"price":.5', None, "expected a JSON object"),
])
def test_a_bad_line_of_dsjson(old, new, field, words):
    assert old in LINE
    lines = f"{LINE}\n\n{LINE.replace(old, new)}\n{LINE}\n"
    if words is None:
        assert len(read(lines)) == 3
        return
    if words.startswith("there is no round"):
        lines = LINE.replace(old, new)
        where = r"the file: "
    else:
        where = "the file: line 3: " + (f"field '{field}': " if field else ".*")
    with pytest.raises(ValueError, match=f"^{where}.*{words}"):
        read(lines)
    log = read(LINE)  # and nothing is left of it
    assert log.feature_names == read(LINE).feature_names


@pytest.mark.parametrize("line, field, words", [
    ("0:1 | a", LABEL, "expected shared or action:cost:probability"),
    ("0:1:0.5:2 | a", LABEL, "expected shared or action"),
    ("0::0.5 | a", LABEL, "expected shared or action"),
    ("hello | a", LABEL, "expected shared or action"),
    ("0:1:0.5| a", LABEL, r"then \| apart: '0:1:0.5\|"),
    ("shared| a", LABEL, r"then \| apart"),
    ("0:1:0.5 1:1:0.5 | a", LABEL, "expected shared or action"),
    ("0:nan:0.5 | a", LABEL, "NaN or infinity"),
    ("0:1e999:0.5 | a", LABEL, "NaN or infinity"),
    ("0:1:0 | a", LABEL, r"the probability must lie in \(0, 1\], got 0:"),
    ("0:1:1.5 | a", LABEL, r"the probability must lie in \(0, 1\], got 1.5:"),
    ("-1:1:0.5 | a", LABEL, "expected shared or action"),
    ("0:1:0.5 | a:nan", "a", "NaN or infinity"),
    ("0:1:0.5 | a:1.5.3", "a", "expected name, name:number or name:word"),
    ("0:1:0.5 | a:", "a", "expected name, name:number or name:word"),
    ("0:1:0.5 | a:1:2", "a", "expected name, name:number or name:word"),
    ("0:1:0.5 |n:x a", "n", "expected name, name:number or name:word"),
    ("0:1:0.5 |:2 a", "", "expected name, name:number or name:word"),
    ("0:1:0.5 |n:1e300 a:1e300", "a", "NaN or infinity"),
])
def test_a_bad_line_of_text(line, field, words):
    with pytest.raises(ValueError, match=f"^the file: line 5: field '{field}': .*{words}"):
        read(f"{TEXT}\n{line}\n\n{TEXT}", format="cb")


@pytest.mark.parametrize("block, line, words", [
    (" | a\n | b\n", 5, f"field '{LABEL}': is missing: ' | a'"),
    ("shared | a\n", 5, "field 'action': is missing: 'shared | a'"),
    ("0:1:0.5 | a\n1:1:0.5 | a\n", 6, f"field '{LABEL}': stands twice: '1:1:0.5 | a'"),
    ("0:1:0.5 | a\nshared | b\n", 6, "field 'shared': a shared line must be the first"),
    ("shared | b\nshared | b\n0:1:0.5 | a\n", 6, "field 'shared': a shared line must be the first"),
])
@pytest.mark.parametrize("behind", ["", "\n", "\n" + TEXT])
def test_a_bad_example_of_text(block, line, words, behind):
    assert refused(f"{TEXT}\n{block}{behind}").startswith(f"the file: line {line}: {words}")


def test_pdrop_is_the_same_throughout():
    lines = [LINE.replace('"o":', f'"pdrop":{drop},"o":') for drop in (0.5, 0.5, 0.9)]
    assert len(read("\n".join(lines[:2]))) == 2
    assert refused("\n".join(lines)).startswith(
        "the file: line 3: field 'pdrop': must be the same throughout")
    assert "line 2: field 'pdrop'" in refused("\n".join([LINE, lines[0]]))


def test_a_line_that_is_too_long(monkeypatch):
    monkeypatch.setattr(_memory, "longest_line", 1 << 20)
    long = LINE.replace('"x"', '"' + "x" * (3 << 20) + '"')
    assert refused(f"{LINE}\n{long}\n{LINE}") == \
        "the file: line 2: a line is longer than 1 MiB"
    block = TEXT + "".join(f" |i id:x{i:07}\n" for i in range(200_000))
    assert refused(f"{TEXT}\n{block}\n{TEXT}") == \
        "the file: line 5: a round is longer than 1 MiB"
    monkeypatch.undo()
    assert len(read(f"{LINE}\n{long}\n{LINE}")) == 3
    assert len(read(f"{TEXT}\n{block}\n{TEXT}")) == 3


def test_names_are_utf8():
    assert read(LINE.replace('"price"', '"Größe"')).feature_names[1] == "j^Größe"
    assert read(LINE.replace('"price"', '"\\u0047\\ud834\\udd1e"')).feature_names[1] == "j^G𝄞"
    for bad in (b"\xff", b"\\ud834", b"\\udd1e\\ud834"):
        told = refused(LINE.encode() + b"\n" + LINE.encode().replace(b'"price"', b'"' + bad + b'"'))
        assert told.startswith("the file: line 2: a name must be text in UTF-8, got b'j^")


def test_no_rounds_and_no_features():
    assert "there is no round" in refused("")
    assert "there is no round" in refused("\n \n")
    assert "no action has a feature" in refused("0:1:0.5 |\n")
    assert read("0:1:0.5 |\n", hash_bits=2).features.tolist() == [[0.0] * 4]


@pytest.mark.parametrize("options, error, words", [
    ({"format": "json"}, ValueError, "format must be"),
    ({"hash_bits": 0}, ValueError, "hash_bits"),
    ({"hash_bits": 32}, ValueError, "hash_bits"),
    ({"context_bits": 2.5}, TypeError, "context_bits"),
    ({"hash_bits": 5, "names": ["a"]}, ValueError, "hash_bits and names both"),
    ({"names": "abc"}, TypeError, "names must be a sequence"),
    ({"names": ["a", 3]}, TypeError, "names must be a sequence"),
    ({"context_names": ["a", "a"]}, ValueError, "'a' twice"),
    ({"dtype": np.int64}, ValueError, "dtype"),
    ({"unlabelled": "no"}, ValueError, "unlabelled"),
    ({"dense": 3}, TypeError, "dense"),
    ({"progress": 3}, TypeError, "progress"),
    ({"dtype": np.float32}, ValueError, "must be finite"),
])
def test_bad_options(options, error, words):
    with pytest.raises(error, match=words):
        read(LINE.replace("2.5", "1e300"), **options)


def test_bad_paths(tmp_path):
    with pytest.raises(FileNotFoundError):
        BanditLog.from_vw(tmp_path / "none")
    with pytest.raises(TypeError, match="path must be"):
        BanditLog.from_vw(3)
    with pytest.raises(ValueError, match="at least one file"):
        BanditLog.from_vw([])
