"""The compiled readers of logs against their twin, which goes by the json module, on generated
documents."""

import io
import json

import numpy as np
import pytest

pytest.importorskip("hypothesis")
from hypothesis import example, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from coactive_fast.logs import BanditLog, _compiled  # noqa: E402
from coactive_fast.reference import logs_read  # noqa: E402

COMPARED = ("features", "offsets", "chosen", "reward", "probability", "context")


def outcome(read):
    """A log's arrays and names, or None where it was refused."""
    try:
        log = read()
    except ValueError:
        return None
    return log


def same(data, **options):
    """Whether both readers say the same of the bytes; the log, or None where both refuse it."""
    fast = outcome(lambda: BanditLog.from_vw(io.BytesIO(data), dense=True, **options))
    slow = outcome(lambda: logs_read.from_vw(data, **options))
    assert (fast is None) == (slow is None), (fast, slow)
    if fast is None:
        return None
    for name in COMPARED:
        ours, theirs = getattr(fast, name), getattr(slow, name)
        assert (ours is None) == (theirs is None), name
        if ours is not None:
            np.testing.assert_array_equal(ours, theirs, err_msg=name)
    assert fast.left_out == slow.left_out
    assert fast.context_names == slow.context_names
    if "hash_bits" not in options:
        assert fast.feature_names == slow.feature_names
    return fast


# --- dsjson ---------------------------------------------------------------------------------------


class Members(list):
    """A JSON object as pairs, of which several may have the same key."""


def written(value, draw):
    """JSON text, with blanks and escapes here and there."""
    gap = draw(st.sampled_from(["", "", "", " ", "\t", " \r"]))
    if isinstance(value, Members):
        inner = ",".join(f"{gap}{written(k, draw)}{gap}:{written(v, draw)}" for k, v in value)
        return f"{gap}{{{inner}{gap}}}"
    if isinstance(value, list):
        return f"{gap}[{','.join(written(one, draw) for one in value)}{gap}]{gap}"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=draw(st.booleans()))
    if isinstance(value, Raw):
        return value.text
    return gap + json.dumps(value) + gap


class Raw:
    """A number as it is typed."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text


words = st.one_of(st.sampled_from(["a", "b", "ns", "x y", "12", "é", "a|b:c", "", "𝄞", "q\"\\/\n"]),
                  st.text(st.characters(codec="utf-8"), max_size=20))
numbers = st.one_of(
    st.integers(-3, 3), st.floats(allow_nan=False, allow_infinity=False), st.integers(),
    st.sampled_from(["0", "-0", "1.5e3", "1E-2", "0.1", "12345678901234567890", "1e-400",
                     "3.0e+0", "0.30000000000000004", "123456789012345", "-1234567890123456"]
                    ).map(Raw))
scalars = st.one_of(numbers, words, st.booleans(), st.none())
keys = st.one_of(words, words, words, st.sampled_from(["_tag", "_ua", "_text", "_"]))


def members(values, names=keys, most=4):
    return st.lists(st.tuples(names, values), max_size=most).map(Members)


feature = st.recursive(scalars, lambda inner: st.one_of(
    members(inner, most=3), st.lists(st.one_of(numbers, st.none(), members(inner, most=2)),
                                     max_size=3)), max_leaves=6)
anything = st.recursive(st.one_of(scalars, st.just(Raw("1e400"))),
                        lambda inner: st.one_of(members(inner), st.lists(inner)), max_leaves=6)
features = members(feature).map(lambda pairs: Members(
    (k, str(v) if k == "_text" else v) for k, v in pairs))


@st.composite
def lines(draw):
    """A line that is nearly always right."""
    actions = draw(st.lists(features, min_size=1, max_size=3))
    shared = draw(features)
    shared.insert(draw(st.integers(0, len(shared))), ("_multi", actions))
    index = draw(st.integers(0, len(actions) - 1))
    place = draw(st.sampled_from([("_labelIndex", index), ("_label_Action", index + 1),
                                  ("a", [index + 1, 5]), ("_labelindex", index)]))
    p = draw(st.sampled_from([1, 0.25, Raw("1e-3"), Raw("0.5")]))
    chance = draw(st.sampled_from([("_label_probability", p), ("p", [p, 0.1]), ("_p", [p]),
                                   ("_label_Probability", p)]))
    top = [("_label_cost", draw(st.sampled_from([-1, 0, Raw("-0.0"), 2.5]))), place, chance,
           ("c", shared), *draw(members(anything, st.sampled_from(["o", "Version", "x", "_y"]), 2))]
    return written(Members(draw(st.permutations(top))), draw)


@given(st.lists(lines(), min_size=1, max_size=3))
@example(['{"_label_cost":-1,"_labelIndex":0,"_label_probability":1,"c":{"_multi":[{}],'
          '"a":[0,9e+307],"a":[0,9e+307]}}'])
@settings(max_examples=300)
def test_a_right_document(document):
    same("\n".join(document).encode(), format="dsjson")


escapes = r'\n \" \\ \/ \b \f \r \t \u00e9 \u20AC \u007c \ud834\udd1e'.split()
parts = st.sampled_from([*escapes, " ", ":", "|", "a", "bc", "é", "_"])
long_text = st.tuples(st.lists(parts, max_size=12), st.integers(1, 40)).map(
    lambda drawn: "".join(drawn[0]) * drawn[1])


@given(st.lists(st.tuples(long_text, long_text), min_size=1, max_size=4), st.integers(0, 3),
       st.integers(1, 64))
@example([('\\n', '\\n' + 'a:' * 50)], 0, 1)
def test_strings_with_escapes(pairs, depth, piece):
    """Keys and values, in namespaces within namespaces, in buffers just long enough."""
    inner = ",".join(f'"{key}":"{value}"' for key, value in pairs)
    for key, _ in pairs[:depth]:
        inner = f'"{key}":{{{inner}}}'
    line = ('{"_label_cost":-1,"_labelIndex":0,"_label_probability":1,"c":{"_multi":[{"x":1,'
            f'{inner}}}],{inner},"_text":"{pairs[0][1]}"}}}}\n')
    whole = _compiled.Rounds
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_compiled, "Rounds", lambda *arguments: whole(*arguments, piece))
        same(line.encode(), format="dsjson")


@given(lines(), st.integers(1, 12), st.booleans())
def test_columns_of_the_table(line, bits, chain):
    same(line.encode(), format="dsjson", hash_bits=bits, chain_hash=chain)


top_keys = st.sampled_from(["_label_cost", "_label_probability", "_labelIndex", "_label_Action",
                            "a", "p", "_p", "c", "pdrop", "_skipLearn", "_label", "_slots", "o"])


@given(st.lists(st.tuples(top_keys, st.one_of(
           st.sampled_from([0, 1, 0.5, True, False, None, [1], [0.5]]), anything, features)),
                max_size=1), lines(), st.data(), st.sampled_from(["refuse", "skip"]))
@settings(max_examples=500)
def test_a_strange_document(more, line, data, unlabelled):
    inner = json.loads(line, object_pairs_hook=Members)
    gone = data.draw(st.sampled_from([None, *top_keys.elements]))
    line = written(Members([*(one for one in inner if one[0] != gone), *more]), data.draw)
    same(line.encode(), format="dsjson", unlabelled=unlabelled)


LINE = ('{"_label_cost":-1.0,"_label_probability":0.5,"_labelIndex":0,"o":[{"v":1e2,"w":null}],'
        '"c":{"User":{"age":31,"\\u0041b":"x\\ty"},"t":[1,2.5,{"k":true}],"_ua":"M (5.0)\\n",'
        '"_multi":[{"i":{"id":"a b"}},{"j":[{"p":-0.25}]}]},"p":[0.5,0.5],"pdrop":0.0}')


@given(st.data())
@settings(max_examples=500)
def test_a_damaged_line_is_refused_where_json_refuses_it(data):
    text = LINE
    for _ in range(data.draw(st.integers(1, 2))):
        at = data.draw(st.integers(0, len(text)))
        more = data.draw(st.sampled_from([*"{}[]\",:\\0123456789.eE+-tfnuN _ax\t\r\x00\x1f", ""]))
        text = text[:at] + more + text[at + data.draw(st.integers(0, 2)):]
    same(text.encode(), format="dsjson")


@given(st.integers(1, 70), st.sampled_from(["o", "c", "multi"]), st.booleans())
@example(62, "o", False)
@example(63, "o", False)
def test_depth(depth, where, arrays):
    deep = depth * "[" + depth * "]" if arrays else depth * '{"k":' + "1" + depth * "}"
    line = LINE
    if where == "o":
        line = line.replace('"w":null', f'"w":{deep}')
    elif where == "c":
        line = line.replace('"User":', f'"deep":{deep},"User":')
    else:
        line = line.replace('"id":"a b"', f'"deep":{deep}')
    same(line.encode(), format="dsjson")


# --- cb_adf text ----------------------------------------------------------------------------------

typed = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.sampled_from(["1", "-2", "+.5", "3.", "0", "1e400", "1e2", "nan", "-inf", "1.5.3", "12abc",
                     "-x", "red", "http://x|y", "", ".", "-", "inf5", "3|", "a:b", "0x10"]))
name = st.one_of(st.sampled_from(["a", "b", "ns", "12", "é", ""]),
                 st.text(st.characters(codec="utf-8", exclude_characters=" \t\r\n|:"), max_size=5))
token = st.one_of(name, name, st.builds("{}:{}".format, name, typed))
right = st.one_of(name, st.builds("{}:{}".format, name, st.sampled_from(["1", "2.5", "-3", "red"])))
gaps = st.sampled_from([" ", " ", "  ", "\t"])


@st.composite
def text_line(draw, head, tokens):
    parts = [head]
    for _ in range(draw(st.integers(0, 2))):
        parts.append("|" + draw(tokens))
        for one in draw(st.lists(tokens, max_size=3)):
            parts.append(draw(gaps) + one)
        parts.append(draw(st.sampled_from(["", " "])))
    return "".join(parts)


heads = st.sampled_from(["", "", " ", "0:-1:0.5 ", "0:-1:0.5 'tag", "1:2:0.25 ", "tag", "shared ",
                         "shared", "0:1:2 ", "0:1 ", "3 ", "x ", "0:1:0.5", "0:nan:0.5 ",
                         "0:1:0 ", "0:1:0.5 1:1:0.5 ", "-1:1:0.5 ", "1.5:1:1 ", "shared 'x"])


@st.composite
def blocks(draw):
    """An example of text that is right but for its features."""
    tokens = draw(st.sampled_from([right, right, right, token]))
    count = draw(st.integers(1, 3))
    chosen = draw(st.integers(0, count - 1))
    fronts = ["0:-0.5:0.25 " if i == chosen else draw(st.sampled_from(["", " ", "'t"]))
              for i in range(count)]
    rows = [draw(text_line(front, tokens)) for front in fronts]
    if draw(st.booleans()):
        rows.insert(0, draw(text_line("shared ", tokens)))
    return "\n".join(rows)


ends = st.sampled_from(["\n\n", "\n\n", "\n \n\n", "\n\r\n", "\n"])


@given(st.lists(st.tuples(blocks(), ends), min_size=1, max_size=3))
@settings(max_examples=300)
def test_text(document):
    same("".join(block + end for block, end in document).encode(), format="cb")


@given(blocks(), heads.flatmap(lambda head: text_line(head, right)), st.integers(0, 4),
       st.sampled_from(["refuse", "skip"]))
@settings(max_examples=300)
def test_strange_heads(block, line, at, unlabelled):
    rows = block.split("\n")
    rows.insert(at, line)
    same("\n".join(rows).encode(), format="cb", unlabelled=unlabelled)


@given(blocks(), st.integers(1, 12))
def test_columns_of_the_table_for_text(block, bits):
    same(block.encode(), format="cb", hash_bits=bits)


# --- pieces ---------------------------------------------------------------------------------------


@given(st.one_of(st.lists(lines(), min_size=1, max_size=8).map("\n".join),
                 st.lists(blocks(), min_size=1, max_size=8).map("\n\n".join)),
       st.integers(1, 200))
@settings(max_examples=200)
def test_the_size_of_pieces_plays_no_part(document, piece):
    data = document.encode()

    def read(size):
        whole = _compiled.Rounds
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_compiled, "Rounds", lambda *arguments: whole(*arguments, size))
            try:
                log = BanditLog.from_vw(io.BytesIO(data), dense=True)
            except ValueError as error:
                return str(error)
        arrays = [getattr(log, part) for part in COMPARED]
        return ([None if array is None else array.tolist() for array in arrays],
                log.feature_names, log.context_names, log.left_out)

    assert read(piece) == read(1 << 18)
