"""Documents as counts of terms: files of labels and terms, and RCV1-v2. All of it is made up."""

import gzip
import io

import numpy as np
import pytest

from coactive_fast import data

TERMS = b"good_film:2 a:b:1 #label#:up\n\nbad:1 a:b:3.5 #label#:down\n#label#:up\n"
TOKENS = b".I 31\n.W\noil tax oil\nbank\n\n.I 40\n.W\n\n.I 35\n.W\nbank\n"
VECTORS = b"31  1:0.5 4:0.25\n40 \n35  2:1\n"
TOPICS = b"GTAX 31 1\nCCAT 31 1\nGTAX 35 1\nGTAX 7777 1\n"


def file(content):
    return io.BytesIO(content)


# --- labels and terms -----------------------------------------------------------------------------


def test_terms_with_their_labels(tmp_path):
    path = tmp_path / "reviews.gz"
    path.write_bytes(gzip.compress(TERMS))
    for source in (file(TERMS), path, file(b"\xef\xbb\xbf" + TERMS), file(TERMS[:-1])):
        found = data.load_terms(source)
        assert found.terms == ("good_film", "a:b", "bad") and found.names == ("down", "up")
        assert found.labels.tolist() == [1, 0, 1] and found.labels.dtype == np.int64
        np.testing.assert_array_equal(found.X.toarray(), [[2, 1, 0], [0, 3.5, 1], [0, 0, 0]])
        assert found.X.has_canonical_format
    assert data.load_terms(path, dtype=np.float32).X.dtype == np.float32


def test_labels_in_a_file_of_their_own():
    found = data.load_terms(file(b"b:1 a:2\na:1\n"), labels=file(b"sports\nnews desk\n"))
    assert found.names == ("news desk", "sports") and found.labels.tolist() == [1, 0]


def test_a_file_a_class():
    found = data.load_terms({"music": file(b"b:1 #label#:up\na:1\n"), "books": file(b"b:2\n")})
    assert found.names == ("books", "music") and found.labels.tolist() == [1, 1, 0]
    assert found.terms == ("b", "a")


@pytest.mark.parametrize("content, more, says", [
    (b"a:1 #label#:x\na:1\n", {}, "line 2: expected #label#:name at the end, got 'a:1'"),
    (b"a:1 #label#:\n", {}, "line 1: expected #label#:name"),
    (b"a:1 b #label#:x\n", {}, "line 1: expected term:count, got 'b'"),
    (b"a:one #label#:x\n", {}, "line 1: expected term:count, got 'a:one'"),
    (b":3 #label#:x\n", {}, "line 1: expected term:count, got ':3'"),
    (b"a:inf #label#:x\n", {}, "line 1: expected term:count, got 'a:inf'"),
    (b"a:1 b:1 a:2 #label#:x\n", {}, "line 1: the term 'a' occurs twice"),
    (b"a:1\n\nb:1\n", {"labels": file(b"x\n")}, "the file has 1 labels, and there are 2 documents"),
    (b"a:1 #label#:x\n", {"labels": file(b"x\n")}, "without #label#:"),
    (b"\n", {}, "holds no documents"), (b"a:\xff1\n", {}, "line 1: must be text in UTF-8"),
    (b"a:1 #label#:x\n", {"dtype": int}, "dtype must be"),
])
def test_terms_that_are_refused(content, more, says):
    with pytest.raises(ValueError, match=says):
        data.load_terms(file(content), **more)


def test_an_error_names_the_file(tmp_path):
    path = tmp_path / "desk.terms"
    path.write_bytes(b"a:1 #label#:x\nb:x #label#:y\n")
    with pytest.raises(ValueError, match="desk.terms': line 2: expected term:count, got 'b:x'"):
        data.load_terms(path)
    path.with_suffix(".gz").write_bytes(gzip.compress(TERMS)[:-9])
    with pytest.raises(ValueError, match="truncated or damaged"):
        data.load_terms(path.with_suffix(".gz"))
    with pytest.raises(ValueError, match="labels must be None"):
        data.load_terms({"a": path}, labels=path)


# --- RCV1-v2 --------------------------------------------------------------------------------------


def test_tokens():
    found = data.load_rcv1(file(TOKENS), file(TOPICS))
    assert found.terms == ("oil", "tax", "bank") and found.ids.tolist() == [31, 40, 35]
    np.testing.assert_array_equal(found.X.toarray(), [[2, 1, 1], [0, 0, 0], [0, 0, 1]])
    assert found.names == ("CCAT", "GTAX") and found.topics.dtype == bool
    np.testing.assert_array_equal(found.topics.toarray(), [[1, 1], [0, 0], [0, 1]])


def test_vectors_of_several_packed_files(tmp_path):
    paths = [tmp_path / "train.dat.gz", tmp_path / "test.dat", tmp_path / "topics.gz"]
    for path, content in zip(paths, (VECTORS, b"90  9:1\n", TOPICS), strict=True):
        path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    found = data.load_rcv1(paths[:2], paths[2], dtype=np.float32)
    assert found.terms is None and found.X.shape == (4, 9) and found.X.dtype == np.float32
    np.testing.assert_array_equal(found.X.toarray()[:, [0, 1, 3, 8]],
                                  [[0.5, 0, 0.25, 0], [0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1]])
    assert found.ids.tolist() == [31, 40, 35, 90] and found.topics.sum() == 3


def test_topics_that_are_wanted_and_documents_of_one_of_them():
    found = data.load_rcv1(file(TOKENS), file(TOPICS), names=["GTAX", "NONE"])
    assert found.names == ("GTAX", "NONE")
    np.testing.assert_array_equal(found.topics.toarray(), [[1, 0], [0, 0], [1, 0]])
    both = data.load_rcv1(file(TOKENS), file(TOPICS))
    X, labels = both.single(["CCAT", "GTAX"])
    assert labels.tolist() == [1] and X.toarray().tolist() == [[0, 0, 1]]
    with pytest.raises(ValueError, match="topics of the documents, got 'X'"):
        both.single(["X"])


@pytest.mark.parametrize("content, topics, says", [
    (b"31  1:x\n", TOPICS, "line 1"), (b"31  0:1\n", TOPICS, "line 1"),
    (b"1.5  1:1\n", TOPICS, "line 1: the label 1.5 is no integer"),
    (b"31  1:1\n31  2:1\n", TOPICS, "document 2: the document 31 comes twice"),
    (b".I x\n.W\na\n", TOPICS, "line 1: expected .I number, got 'x'"),
    (b".I 3\na b\n", TOPICS, "line 2: expected .W, got 'a b'"),
    (b".W\na\n", TOPICS, "line 1: expected .I number, got '.W'"),
    (b".I 3\n.W\na\n.I 3\n.W\nb\n", TOPICS, "line 4: the document 3 comes twice"),
    (TOKENS, b"GTAX 31\n", "line 1: expected topic number 1, got 'GTAX 31'"),
    (TOKENS, b"GTAX 31 1\nGTAX 35 0\n", "line 2: expected topic number 1"),
    (TOKENS, b"GTAX x31 1\n", "line 1: expected a document's number, got 'x31'"),
    (b"", TOPICS, "holds no documents"),
])
def test_what_of_rcv1_is_refused(content, topics, says):
    with pytest.raises(ValueError, match=says):
        data.load_rcv1(file(content), file(topics))
    with pytest.raises(ValueError, match="got both"):
        data.load_rcv1([file(TOKENS), file(b"7  1:1\n")], file(TOPICS))
