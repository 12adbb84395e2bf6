"""Streams of every learner give what version 0.2.1 gave.

Decisions, messages and types must be equal, and real numbers to the last bit. To 1e-9 they must be
equal where `MERGED` says that two implementations became one, where `FOREIGN` says that their last
bits are those of another library, and everywhere on a machine without a fused multiply-add.
"""

import copy
import fnmatch
import sys

import numpy as np
import pytest
from pins import all_streams, notes
from pins.play import played

import coactive_fast as cf

# Patterns of streams, or of "stream: label", and why their last bits differ from those of 0.2.1.
MERGED = {}
# The same, and which library decides their last bits.
FOREIGN = {
    "RankingSVM/*": "scikit-learn solves",
    "logs.evaluate/*: *estimator=dr*": "BLAS and LAPACK solve the regressions",
    "logs/messages: folds": "the same",
    "Full/*: sample": "LAPACK factorises",
    "*: merged *": "BLAS adds the matrices of the robust form",
    "Dual/*: *matrix": "BLAS multiplies the factor",
    "Fleet/*: weights": "BLAS multiplies the factors of a record",
    "Fleet/*: margin": "the same",
    "Fleet/*/prior": "the same, of the prior",
    "users/*: *CustomPreferencePerceptron*": "utilities in Python's loop are those of BLAS",
    "CustomPreferencePerceptron/*: simulate *": "the same",
    "*PreferencePerceptron/*kernel*: simulate *": "the same",
    "*PreferencePerceptron/*Disc*: simulate *": "the same",
    "sets: * direction *": "BLAS sums the squares",
    "O*EG/own*": "the same, in a set of one's own",
}
# Patterns of streams that enlarge rounding errors, how near they come where bits do not count, why.
ILL = {
    "RankingSVM/*": (1e-3, "the solver ends at a tolerance"),
    "*fast/scaled5": (1e-6, "the fast form of a matrix that needs the robust one"),
    "*/large7": (1e-6, "rows of length 1e4 on a ridge of 1"),
    "Newtron/*/long3": (1e-6, "columns whose scales differ by 1e6"),
}
RECORDED = notes.read()
STREAMS = all_streams()
FUSED = cf.show_config("dicts")["isa"]["fused_multiply_add"]


def among(patterns, name):
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def differences(name, found, recorded=RECORDED, fused=FUSED):
    def bits(label):
        near = (*MERGED, *FOREIGN)
        return fused and not among(near, name) and not among(near, f"{name}: {label}")

    near = [limit for pattern, (limit, _) in ILL.items() if among([pattern], name)]
    return notes.differences(recorded[name], found, bits=bits,
                             tolerance=max(near, default=notes.TOLERANCE))


@pytest.mark.parametrize("name", RECORDED)
def test_a_stream_is_as_it_was(name):
    if name.startswith("RankingSVM"):
        pytest.importorskip("sklearn")
    if name.startswith("Fleet") and not sys.platform.startswith("linux"):
        pytest.skip("fleets need Linux")
    assert name in STREAMS, "the stream is not there any more: are its parameters refused?"
    lines = differences(name, played(STREAMS[name]))
    assert not lines, "\n".join([name, *lines])


def test_no_stream_is_new():
    assert [name for name in STREAMS if name not in RECORDED] == []


# --- it can fail ------------------------------------------------------------------------------

NAME, LABEL = "Confidit/full/csr32of9", "end weights"


def changed(part, change, label=LABEL):
    """The recorded stream with one change."""
    found = copy.deepcopy(RECORDED[NAME])
    found[label][part] = change(found[label][part])
    return found


@pytest.mark.parametrize("part, label, change", [
    ("ints", "choose", lambda ints: [*ints[:-1], ints[-1] + 1]),
    ("ints", "choose", lambda ints: ints[:-1]),
    ("texts", "repr", lambda texts: [texts[0] + "."]),
    ("kinds", "choose", lambda kinds: ["numpy int64 x 27"]),
    ("n", LABEL, lambda n: n + 1),
    ("digest", LABEL, lambda digest: digest[::-1]),
], ids=["decision", "count", "text", "type", "size", "bits"])
def test_a_change_is_reported(part, label, change):
    assert differences(NAME, RECORDED[NAME], fused=True) == []
    lines = differences(NAME, changed(part, change, label), fused=True)
    assert len(lines) == 1 and lines[0].startswith(f"{label}: ")


def test_without_bits_a_small_change_passes_and_a_larger_one_does_not():
    for step, wrong in ((1e-12, False), (1e-7, True), (np.nan, True), (np.inf, True)):
        found = changed("reals", lambda reals, step=step: reals + step)
        found[LABEL]["digest"] = "another"
        assert bool(differences(NAME, found, fused=False)) == wrong
        assert differences(NAME, found, fused=True)


def test_a_label_more_or_less_is_reported():
    found = dict(RECORDED[NAME])
    found["another"] = found.pop(LABEL)
    assert differences(NAME, found) == [f"{LABEL}: not there any more", "another: not recorded"]


def test_another_behaviour_is_reported():
    """The stream itself, of a learner with one parameter changed a little."""
    stream = copy.copy(STREAMS[NAME])
    stream.given = {**stream.given, "eta": 1.0 + 1e-12}
    lines = differences(NAME, played(stream))
    assert any(line.startswith("repr: ") for line in lines)
    stream.given["eta"] = 2.0
    lines = differences(NAME, played(stream))
    assert any(line.startswith(f"{LABEL}: ") for line in lines)


def test_patterns_name_streams():
    names = [name for name in RECORDED]
    names += [f"{name}: {label}" for name in RECORDED for label in RECORDED[name]]
    for pattern in (*MERGED, *FOREIGN, *ILL):
        assert fnmatch.filter(names, pattern), pattern
