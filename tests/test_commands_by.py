"""``train --by``: a model for each key, in the file of a fleet."""

import gzip
import json
import signal
import subprocess

import numpy as np
import pytest
from command_cases import call, feed, started, train

import coactive_fast as cf
from coactive_fast.fleet._fleet import beside_of, create

COLUMNS = ["price", "age"]
BLOCK = 1 << 14  # rows of a table that are learned in one go


def rows_of(n=500, keys=7, seed=3, text=False):
    rng = np.random.default_rng(seed)
    owners = rng.integers(keys, size=n)
    X = rng.random((n, 2)).round(6)
    y = ((X * rng.standard_normal((keys, 2))[owners]).sum(axis=1)
         + 0.1 * rng.standard_normal(n)).round(6)
    return [f"u{key}" for key in owners] if text else owners - 3, X, y


def table_of(keys, X, y, order=("user", "price", "age", "rating")):
    columns = {"user": keys, "price": X[:, 0], "age": X[:, 1], "rating": y}
    return {name: np.asarray(columns[name]).tolist() for name in order}


def csv_of(table):
    lines = [",".join(table), *(",".join(map(str, row)) for row in zip(*table.values(),
                                                                        strict=True))]
    return "\n".join(lines) + "\n"


def same_models(path, expected):
    """Every model has the very weights of the fleet that was run without the command line."""
    with cf.Fleet(path, mode="r") as fleet:
        assert sorted(map(str, fleet)) == sorted(map(str, expected)) and len(fleet) > 0
        assert fleet.health()["damaged"] == 0
        for key in expected:
            np.testing.assert_array_equal(fleet[key].weights, expected[key].weights)
            assert fleet[key].rounds == expected[key].rounds


def own(keys, X, y, template=None):
    fleet = cf.Fleet(None, cf.OnlineRidge() if template is None else template, 100)
    return fleet, fleet.run(list(keys), X, y)


def written(folder, form, keys, X, y):
    """The same rows in one of the forms, and the options that read them."""
    table = table_of(keys, X, y)
    options = ("--by", "user", "--label", "rating")
    path = folder / f"rows.{form}"
    if form == "csv":
        path.write_text(csv_of(table))
    elif form == "csv.gz":
        path.write_bytes(gzip.compress(csv_of(table).encode()))
    elif form == "jsonl":
        path.write_text("".join(json.dumps(dict(zip(table, row, strict=True))) + "\n"
                                for row in zip(*table.values(), strict=True)))
    elif form == "svm":
        path.write_text("".join(f"{target!r} qid:{key} 1:{a!r} 2:{b!r}\n" for key, (a, b), target
                                in zip(keys, X.tolist(), y.tolist(), strict=True)))
        options = ("--by", "qid")
    else:
        parquet = pytest.importorskip("pyarrow.parquet")
        pyarrow = pytest.importorskip("pyarrow")
        parquet.write_table(pyarrow.table(table), path)
    return path, options


# --- the same models ------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["csv", "csv.gz", "jsonl", "svm", "parquet"])
@pytest.mark.parametrize("text", [False, True])
def test_models_are_those_of_the_fleets_own_run(form, text, tmp_path, capsys):
    if text and form == "svm":
        pytest.skip("a query has a number")
    keys, X, y = rows_of(text=text)
    path, options = written(tmp_path, form, keys, X, y)
    expected, history = own(keys, X, y)
    model = tmp_path / "users.fleet"
    assert train("online-ridge", path, *options, "--model", model) == 0
    out, err = capsys.readouterr()
    last = out.splitlines()[-3].split()
    assert last[0] == "500" and float(last[1]) == pytest.approx(history.loss.mean(), rel=1e-5)
    assert out.splitlines()[-2:] == ["7 models", f"saved: {model}"] and err == ""
    same_models(model, expected)
    assert call("fleet", model, "--key", keys[0]) == 0


@pytest.mark.parametrize("form", ["csv", "csv.gz", "jsonl"])
def test_standard_input(form, tmp_path, monkeypatch, capsys):
    keys, X, y = rows_of()
    path, options = written(tmp_path, form, keys, X, y)
    feed(monkeypatch, path.read_bytes())
    model = tmp_path / "users.fleet"
    assert train("online-ridge", "-", *options, "--model", model) == 0
    same_models(model, own(keys, X, y)[0])


def test_parameters_passes_and_columns(tmp_path, capsys):
    keys, X, y = rows_of()
    path, options = written(tmp_path, "csv", keys, X, y)
    model = tmp_path / "users.fleet"
    assert train("online-ridge", path, *options, "--columns", "age", "--set", "ridge=0.5",
                 "--passes", 2, "--model", model) == 0
    expected, _ = own([*keys, *keys], np.tile(X[:, 1:], (2, 1)), np.tile(y, 2),
                      cf.OnlineRidge(ridge=0.5))
    same_models(model, expected)


def test_bandits_learn_rewards(tmp_path, capsys):
    keys, X, y = rows_of()
    path, options = written(tmp_path, "csv", keys, X, y)
    assert train("linear-bandit", path, *options, "--model", tmp_path / "b.fleet") == 0
    same_models(tmp_path / "b.fleet", own(keys, X, y, cf.LinearBandit())[0])
    out = capsys.readouterr().out
    assert "reward/row" in out
    assert float(out.splitlines()[-3].split()[1]) == pytest.approx(y.mean(), rel=1e-4)


@pytest.mark.parametrize("relevant, labels", [
    (None, lambda y: y), (1, lambda y: np.where(y > 0, 1, 2)),
    ("yes", lambda y: np.where(y > 0, "yes", "no"))])
def test_filters_learn_what_is_relevant(relevant, labels, tmp_path, capsys):
    keys, X, y = rows_of()
    path = tmp_path / "rows.csv"
    path.write_text(csv_of(table_of(keys, X, labels(y))))
    fleet = cf.Fleet(None, cf.RidgeFilter(), 100)
    history = fleet.run(keys, X, y > 0)
    options = () if relevant is None else ("--relevant", relevant)
    assert train("ridge-filter", path, "--by", "user", "--label", "rating", *options, "--model",
                 tmp_path / "f.fleet") == 0
    told = capsys.readouterr().out
    assert f"precision {history.precision:.4f}, recall {history.recall:.4f}" in told
    with cf.Fleet(tmp_path / "f.fleet", mode="r") as found:
        for key in fleet:
            assert found[key].margin([1.0, 1.0]) == fleet[key].margin([1.0, 1.0])


# --- going on -------------------------------------------------------------------------------------


def test_going_on_goes_by_the_names_of_columns(tmp_path, capsys):
    keys, X, y = rows_of(text=True)
    path, options = written(tmp_path, "csv", keys[:200], X[:200], y[:200])
    model, later = tmp_path / "users.fleet", tmp_path / "later.csv"
    assert train("online-ridge", path, *options, "--model", model) == 0
    table = table_of(keys[200:], X[200:], y[200:], ("age", "rating", "user", "price"))
    later.write_text(csv_of({"other": ["x"] * 300, **table}))
    assert train("online-ridge", later, "--by", "user", "--from", model, "--model", model) == 0
    same_models(model, own(keys, X, y)[0])
    later.write_text("user,price,rating\nu1,1,2\n")
    capsys.readouterr()
    assert train("online-ridge", later, "--by", "user", "--from", model) == 1
    assert f"--from age: {later} has the columns user, price, rating" in capsys.readouterr().err


def test_a_fleet_of_python_goes_on(tmp_path, capsys):
    """One that knows nothing of columns takes them as they come."""
    keys, X, y = rows_of()
    path, options = written(tmp_path, "csv", keys, X, y)
    with cf.Fleet(tmp_path / "a.fleet", cf.OnlineRidge(), 10) as fleet:
        assert beside_of(fleet) is None
    assert train("online-ridge", path, *options, "--from", tmp_path / "a.fleet") == 0
    same_models(tmp_path / "a.fleet", own(keys, X, y)[0])


def fed(tmp_path, model, text):
    """A training on standard input that has learned one block and waits for more."""
    process = started(tmp_path, "train", "online-ridge", "-", "--by", "user", "--label", "rating",
                      "--model", model, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                      stderr=subprocess.PIPE, text=True)
    process.stdin.write(text)
    process.stdin.flush()
    while "16,384" not in process.stdout.readline():
        pass
    return process


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGINT"])
def test_what_is_killed_goes_on(name, tmp_path, capsys):
    """Whoever kills it, all rows of the blocks that were learned are there, and the rest, learned
    behind them, gives the models of a run that nobody disturbed."""
    if not hasattr(signal, name):
        pytest.skip("signals of POSIX")
    keys, X, y = rows_of(BLOCK + 900, text=True)
    path, options = written(tmp_path, "csv", keys, X, y)
    model, number = tmp_path / "users.fleet", getattr(signal, name)
    process = fed(tmp_path, model, path.read_text())
    process.send_signal(number)
    told = process.communicate()[1]
    if name == "SIGKILL":
        assert process.returncode == -number
    else:
        assert process.returncode == 128 + number
        assert f"{model} has learned 16,384 rows; --from {model} --skip 16384 goes on" in told
    same_models(model, own(keys[:BLOCK], X[:BLOCK], y[:BLOCK])[0])
    assert train("online-ridge", path, *options, "--from", model, "--skip", BLOCK) == 0
    same_models(model, own(keys, X, y)[0])


# --- what is refused ------------------------------------------------------------------------------


GOOD = "user,price,rating\n1,2,3\n2,4,5\n"


@pytest.mark.parametrize("text, options, expected", [
    (GOOD, ("--by", "usr"), "--by usr: {path} has the columns user, price, rating"),
    (GOOD, ("--by", "user", "--label", "user"), "--label user: it is the column of --by"),
    (GOOD, ("--by", "user"), "--label label: {path} has the columns"),
    (GOOD, ("--by", "user", "--label", "rating", "--columns", "age"), "--columns age: {path} has"),
    (GOOD, ("--by", "user", "--label", "rating", "--columns", "user"), "is the column of --by"),
    (GOOD, ("--by", "user", "--label", "rating", "--columns", "price,price"), "stands there twice"),
    (GOOD, ("--by", "user", "--label", "rating", "--shuffle"), "--shuffle does not go with --by"),
    (GOOD, ("--by", "user", "--label", "rating", "--relevant", "1"), "--relevant is for"),
    (GOOD, ("--by", "user", "--label", "rating", "--skip", "1", "--passes", "2"), "say one"),
    (GOOD, ("--by", "user", "--label", "rating", "--skip", "2"), "there was no row"),
    (GOOD, ("--by", "user", "--label", "rating", "--set", "covariance=diagonal"),
     'LEARNER online-ridge: template must have covariance="full"'),
    (GOOD, ("--label", "rating", "--columns", "price"), "--columns goes with --by"),
    ("user,rating\n1,2\n", ("--by", "user", "--label", "rating"), "no column of features"),
    ("user,price,rating\n1,x,3\n", ("--by", "user", "--label", "rating"),
     "line 2: column 'price': expected a number, got 'x'"),
    ("user,price,rating\n1,2,3\nanna,2,3\n", ("--by", "user", "--label", "rating", "--keys",
                                              "number"), "line 3: the keys so far are whole"),
    ("user,price,rating\n,2,3\n", ("--by", "user", "--label", "rating"), "nothing there"),
    ('{"user": 1, "price": 2, "rating": 3}\n{"user": 1, "price": 2}\n',
     ("--by", "user", "--label", "rating"), "line 2: there is no 'rating'"),
    ('{"user": 1, "price": "x", "rating": 3}\n', ("--by", "user", "--label", "rating"),
     "line 1: column 'price': expected a number, got 'x'"),
    ('{"user": null, "price": 2, "rating": 3}\n', ("--by", "user", "--label", "rating"),
     "line 1: column 'user': nothing there"),
    ('{"user": [1], "price": 2, "rating": 3}\n', ("--by", "user", "--label", "rating"),
     "line 1: a key must be a whole number or a text, got [1]"),
    ('{"user": 1, "price": 2, "rating": 3}\n[]\n', ("--by", "user", "--label", "rating"),
     "line 2: expected a JSON object, got []"),
    ("1 qid:1 1:1\n", ("--by", "qid", "--label", "rating"), "--label is for tables"),
    ("1 qid:x 1:1\n", ("--by", "qid"), "line 1"),
])
def test_what_is_refused(text, options, expected, tmp_path, capsys):
    path, model = tmp_path / "rows.csv", tmp_path / "users.fleet"
    path.write_text(text)
    assert train("online-ridge", path, *options, "--model", model) == 1
    told = capsys.readouterr().err
    assert expected.format(path=path) in told and told.count("\n") == 1
    assert not model.exists()  # nothing is left that would stand in the way


def test_files_of_fleets_that_are_refused(tmp_path, capsys):
    keys, X, y = rows_of()
    path, options = written(tmp_path, "csv", keys, X, y)
    svmlight, by_query = written(tmp_path, "svm", keys, X, y)
    model, plain = tmp_path / "users.fleet", tmp_path / "plain.cf"
    assert train("online-ridge", path, *options, "--model", model) == 0
    before = model.read_bytes()
    create(tmp_path / "odd.fleet", cf.OnlineRidge(), 3, {"kind": "table"}).close()
    cf.OnlineRidge().save(plain)
    cases = [
        (("online-ridge", path, *options, "--model", model), f"{model} is there already: --from"),
        (("ridge-filter", path, *options, "--from", model), "has models of OnlineRidge, not of"),
        (("online-ridge", path, *options, "--from", model, "--set", "ridge=2"), "--set is for a"),
        (("online-ridge", path, *options, "--from", model, "--model", plain), "goes on where it"),
        (("online-ridge", path, *options, "--from", model, "--keys", "text"), "are whole numbers"),
        (("online-ridge", path, *options, "--from", model, "--columns", "age"), "learned from "),
        (("online-ridge", svmlight, *by_query, "--from", model), "has learned from a table"),
        (("online-ridge", path, *options, "--from", plain), "plain.cf"),
        (("online-ridge", path, *options, "--from", tmp_path / "odd.fleet"), "is damaged"),
        (("online-ridge", path, *options, "--from", tmp_path / "none"), "none: No such file"),
        (("confidit", path, *options), "with --by it is one of online-ridge, linear-bandit"),
        (("confidit", path, "--skip", 2), "--skip goes with --by"),
        (("online-ridge", path), "a model for each key"),
    ]
    for arguments, expected in cases:
        capsys.readouterr()
        assert train(*arguments) == 1
        told = capsys.readouterr().err
        assert expected in told and told.count("\n") == 1, told
    assert model.read_bytes() == before


def test_models_that_are_not_kept(tmp_path, capsys):
    path, options = written(tmp_path, "csv", *rows_of())
    assert train("online-ridge", path, *options) == 0
    assert capsys.readouterr().err == ("coactive-fast train: warning: these models are not kept: "
                                       "--model OUT saves them\n")
    assert train("online-ridge", path, *options, "--quiet", "--model", tmp_path / "a.fleet") == 0
    assert capsys.readouterr() == ("", "")
