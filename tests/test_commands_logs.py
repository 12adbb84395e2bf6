"""``coactive-fast evaluate`` and ``replay``: policies and learners on a log of decisions."""

import gzip
import json
import subprocess

import numpy as np
import pytest
from command_cases import call, feed, started

import coactive_fast as cf
from coactive_fast.logs import BanditLog, evaluate, replay

ITEMS = [("red", 0.5), ("blue", 1.5), ("green", 2.5)]
ROUNDS = 400


def text_of(seed=0, rounds=ROUNDS, items=ITEMS):
    """A log of uniform choices; the reward is 1 more often for red, the more so for the old."""
    rng = np.random.default_rng(seed)
    blocks = []
    for _ in range(rounds):
        age, chosen = rng.random(), int(rng.integers(len(items)))
        good = rng.random() < (0.3 + 0.6 * age if items[chosen][0] == "red" else 0.2)
        rows = [f"shared |user age:{age!r}"]
        rows += [f"{f'0:{-int(good)}:{1 / len(items)!r} ' if i == chosen else ''}"
                 f"|item {colour} size:{size}" for i, (colour, size) in enumerate(items)]
        blocks.append("\n".join(rows) + "\n")
    return "\n".join(blocks)


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.txt"
    path.write_text(text_of())
    return path


@pytest.fixture
def other(tmp_path):
    """The same columns in another order, and one that is new."""
    path = tmp_path / "other.txt"
    path.write_text(text_of(1, items=[("grey", 1.0), *reversed(ITEMS)]))
    return path


def lines(capsys):
    """The JSON objects that were printed."""
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def same(told, found):
    assert told["value"] == found.value and told["standard_error"] == found.standard_error
    assert told["interval"] == list(found.interval) and told["rounds"] == found.rounds
    assert told["effective_sample_size"] == found.effective_sample_size
    assert told["at_all_times"] == [found.running.lower[-1], found.running.upper[-1]]


# --- both together --------------------------------------------------------------------------------


def test_a_learner_is_replayed_saved_and_judged_by_its_own_columns(log, other, tmp_path, capsys):
    model = tmp_path / "model.cf"
    assert call("replay", log, "linear-bandit", "--set", "floor=0.2", "--set", "context_features=1",
                "--seed", 3, "--json", "--model", model) == 0
    read = BanditLog.from_vw(log)
    own = cf.LinearBandit(floor=0.2, context_features=1, seed=3)
    history = replay(own, read, seed=3)
    told, = lines(capsys)
    assert told == {"learner": "linear-bandit", "mean_reward": history.mean_reward,
                    "standard_error": history.standard_error, "accepted": len(history),
                    "rounds": ROUNDS}
    np.testing.assert_array_equal(cf.load(model).weights, own.weights)

    assert call("evaluate", other, "--policy", model, "uniform", "--estimator", "snips",
                "--json") == 0
    told = lines(capsys)
    judged = BanditLog.from_vw(other, names=read.feature_names, context_names=read.context_names)
    assert judged.feature_names != BanditLog.from_vw(other).feature_names
    same(told[0], evaluate(own, judged, estimator="snips"))
    same(told[1], evaluate(np.full(judged.n_actions, 0.25), judged, estimator="snips"))
    assert [one["policy"] for one in told] == [str(model), "uniform"]


def test_a_model_goes_on(log, other, tmp_path, capsys):
    first, second = tmp_path / "first.cf", tmp_path / "second.cf"
    assert call("replay", log, "linear-bandit", "--model", first) == 0
    assert call("replay", other, first, "--model", second) == 0
    assert call("replay", other, second, "--json") == 0
    own, names = cf.LinearBandit(seed=0), BanditLog.from_vw(log).feature_names
    replay(own, BanditLog.from_vw(log), seed=0)
    again = BanditLog.from_vw(other, names=names)
    replay(own, again, seed=0)
    np.testing.assert_array_equal(cf.load(second).weights, own.weights)
    assert f"saved: {second}" in capsys.readouterr().out


def test_columns_of_the_table_are_the_same_in_every_log(log, other, tmp_path, capsys):
    model = tmp_path / "model.cf"
    options = ["--hash-bits", 6, "--context-bits", 1]
    assert call("replay", log, "linear-bandit", *options, "--model", model) == 0
    capsys.readouterr()
    for more in ([], options):
        assert call("evaluate", other, "--policy", model, "--force", "--json", *more) == 0
        told, = lines(capsys)
        found = BanditLog.from_vw(other, hash_bits=6, context_bits=1)
        same(told, evaluate(cf.load(model), found, force=True))
    assert call("evaluate", other, "--policy", model, "--hash-bits", 7) == 1
    assert f"--hash-bits is 6 in {model}, got 7" in capsys.readouterr().err


# --- replay ---------------------------------------------------------------------------------------


def test_many_learners_each_as_if_alone(log, capsys):
    names = ["linear-bandit", "linear-bandit:explore=squarecb,scale=20", "arm-bandit",
             "arm-bandit:explore=greedy,floor=0.5", "confidit", "banditron", "newtron"]
    assert call("replay", log, *names, "--set", "seed=4", "--p-min", "0.2", "--json") == 0
    read = BanditLog.from_vw(log)
    own = [cf.LinearBandit(seed=4), cf.LinearBandit(explore="squarecb", scale=20, seed=4),
           cf.ArmBandit(3, seed=4), cf.ArmBandit(3, explore="greedy", floor=0.5, seed=4),
           cf.Confidit(3), cf.Banditron(3, seed=4), cf.Newtron(3, seed=4)]
    histories = replay(own, read, p_min=0.2, seed=0)
    for told, name, history in zip(lines(capsys), names, histories, strict=True):
        assert (told["learner"], told["accepted"]) == (name, len(history))
        assert told["mean_reward"] == history.mean_reward


def test_the_table_of_learners(log, capsys):
    assert call("replay", log, "linear-bandit", "confidit") == 0
    told = capsys.readouterr()
    head, first, second = told.out.splitlines()
    assert head.split() == ["learner", "mean", "reward", "error", "accepted", "of"]
    assert first.split()[0] == "linear-bandit" and first.split()[-1] == "400"
    assert second.split()[0] == "confidit"
    assert told.err == f"{log}: 400 rounds, 1,200 actions, 4 features, 1 of context\n"


def test_quiet_leaves_the_results(log, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)  # where a bar is drawn
    model = tmp_path / "model.cf"
    for command, *more in (("replay", "linear-bandit", "--model", model),
                           ("evaluate", "--policy", "uniform", model)):
        assert call(command, log, *more) == 0
        loud = capsys.readouterr()
        assert "400 rounds, 1,200 actions" in loud.err and "%" in loud.err
        assert call(command, log, *more, "--quiet") == 0
        assert capsys.readouterr() == (loud.out.replace(f"saved: {model}\n", ""), "")


@pytest.mark.parametrize("arguments, words", [
    (["nobody"], "LEARNER nobody: there is no such file, and it is none of linear-bandit, arm-"),
    (["linear-bandit:width"], "--set width: expected name=value"),
    (["linear-bandit:widths=2"], "--set widths=2: linear-bandit has explore, width"),
    (["linear-bandit:explore=no"], "linear-bandit: explore must be"),
    (["linear-bandit", "--set", "eta=2"], "--set eta=2: no new learner here has a parameter eta"),
    (["linear-bandit", "--p-min", "0.9"], "p_min must not be above the least probability of log"),
    (["linear-bandit:context_features=5"], "context of log must have 5 features"),
    (["linear-bandit", "confidit", "--model", "x"], "--model takes one learner"),
    (["linear-bandit", "--model", "no/where"], "--model no/where: expected a file in a folder"),
    (["linear-bandit", "--action", "a"], "--action is not for cb"),
    (["linear-bandit", "--format", "table", "--hash-bits", "3"], "--hash-bits is not for table"),
    (["linear-bandit", "--format", "dsjson"], "line 1: expected a JSON object"),
    (["linear-bandit", "--hash-bits", "32"], "hash_bits"),
])
def test_what_replay_refuses(log, arguments, words, capsys):
    assert call("replay", log, *arguments) == 1
    told = capsys.readouterr().err.replace(f"{str(log)!r}: ", "")
    assert f"coactive-fast replay: {words}" in told


def test_a_parameter_in_each_learner_that_has_it(log, capsys):
    assert call("replay", log, "confidit", "linear-bandit", "--set", "floor=0.5", "--set",
                "eta=0.1", "--json") == 0
    assert len(lines(capsys)) == 2


# --- evaluate -------------------------------------------------------------------------------------


def test_the_options_of_evaluate(log, tmp_path, capsys):
    bandit = cf.LinearBandit(explore="thompson", seed=0)
    read = BanditLog.from_vw(log)
    replay(bandit, read, seed=0)
    bandit.save(tmp_path / "model.cf")
    options = {"estimator": "dr", "folds": 3, "max_weight": 2.0, "reward_range": (-1.0, 2.0),
               "samples": 20, "force": True}
    assert call("evaluate", log, "--policy", tmp_path / "model.cf", "--estimator", "dr", "--folds",
                3, "--max-weight", 2, "--reward-range", -1, 2, "--samples", 20, "--force",
                "--json") == 0
    told, = lines(capsys)
    same(told, evaluate(bandit, read, **options))
    assert told["estimator"] == "dr" and told["logged"] == read.reward.mean()


def test_the_table_of_policies(log, capsys):
    assert call("evaluate", log, "--policy", "uniform") == 0
    head, row, last = capsys.readouterr().out.splitlines()
    found = evaluate(np.full(1200, 1 / 3), BanditLog.from_vw(log))
    assert head.split()[:3] == ["policy", "value", "error"]
    assert row.split()[0] == "uniform" and float(row.split()[1]) == pytest.approx(found.value, 1e-4)
    assert last == f"the log's own policy: {found.value:.5g} in 400 rounds"


def test_no_bounds_are_null(log, tmp_path, capsys):
    path = tmp_path / "big.txt"
    path.write_text(log.read_text().replace(":-1:", ":-7:"))
    assert call("evaluate", path, "--policy", "uniform", "--json") == 0
    assert lines(capsys)[0]["at_all_times"] == [None, None]


def test_what_evaluate_refuses(log, other, tmp_path, capsys):
    def told(*arguments):
        assert call("evaluate", *arguments) == 1
        return capsys.readouterr().err.splitlines()[-1].removeprefix("coactive-fast evaluate: ")

    saved = tmp_path / "model.cf"
    bandit = cf.LinearBandit()
    bandit.learn([1.0, 2.0], 1.0)
    bandit.save(saved)
    message = told(log, "--policy", saved)
    assert message.startswith(f"{saved}: features of log must have 2 features")
    assert "does not say which columns it goes by" in message
    cf.Confidit(3).save(saved)
    assert "a Confidit has no probabilities" in told(log, "--policy", saved)
    saved.write_bytes(b"no model")
    assert str(saved) in told(log, "--policy", saved)
    assert "No such file" in told(log, "--policy", tmp_path / "none")
    assert "No such file" in told(tmp_path / "none", "--policy", "uniform")
    few = tmp_path / "few.txt"
    few.write_text(text_of(rounds=20))
    assert "force" in told(few, "--policy", "uniform")
    assert "--reward-range" not in told(log, "--policy", "uniform", "--reward-range", 0, 0.5)
    greedy = tmp_path / "greedy.cf"
    assert call("replay", log, "linear-bandit", "--model", greedy) == 0
    capsys.readouterr()
    assert "--hash-bits is not for" in told(log, "--policy", greedy, "--hash-bits", 4)
    table = tmp_path / "log.csv"
    table.write_text("round,chosen,reward,probability,x\n" + "1,1,1,1,1\n")
    assert "has learned from VW text, and" in told(table, "--policy", greedy)


def test_text_models_are_refused(log, tmp_path, capsys):
    from coactive_fast.learner import _store

    _store.save(cf.LinearBandit(), tmp_path / "model.cf", ({"kind": "text"}, {}))
    assert call("evaluate", log, "--policy", tmp_path / "model.cf") == 1
    assert "was trained on text, not on rows of a log" in capsys.readouterr().err
    _store.save(cf.LinearBandit(), tmp_path / "model.cf", ({"kind": "log", "table": 3}, {}))
    assert call("evaluate", log, "--policy", tmp_path / "model.cf") == 1
    assert "what it says of its columns is damaged" in capsys.readouterr().err


# --- where the log comes from ---------------------------------------------------------------------


def test_models_of_train_live_through_a_log(tmp_path, capsys):
    """Those that go by indices as they are; those that go by names are refused, in words."""
    rng = np.random.default_rng(1)
    X, chosen = rng.random((300, 2)).round(4), rng.integers(2, size=300)
    table, model = tmp_path / "log.csv", tmp_path / "model.cf"
    table.write_text("arm,reward,probability,age,size\n" + "".join(
        f"{a},{int((x[0] > 0.5) == a)},0.5,{x[0]},{x[1]}\n"
        for a, x in zip(chosen, X, strict=True)))
    rows, named = tmp_path / "rows.svm", tmp_path / "rows.names"
    rows.write_text("".join(f"{1 + int(x[0] > 0.5)} 1:{x[0]} 2:{x[1]}\n" for x in X))
    named.write_text("".join(f"{int(x[0] > 0.5)} age:{x[0]} size:{x[1]}\n" for x in X))
    assert call("train", "confidit", rows, "--model", model) == 0
    capsys.readouterr()
    arguments = ("replay", table, model, "--action", "arm", "--json")
    assert call(*arguments) == 0
    history, = replay([cf.load(model)], BanditLog.from_table(str(table), action="arm"), seed=0)
    found, = lines(capsys)
    assert found["mean_reward"] == history.mean_reward and found["accepted"] == len(history) > 50
    assert call("train", "confidit", named, "--model", model) == 0
    assert call(*arguments) == 1
    assert "was trained on names of features, not on rows of a log" in capsys.readouterr().err
    text = tmp_path / "log.txt"
    text.write_text(text_of(rounds=50))
    assert call("replay", text, "confidit", "--model", model) == 0
    for command in (("choose", model, rows), ("train", "confidit", rows, "--from", model)):
        assert call(*command) == 1
        assert "has learned from a log of decisions: replay goes on" in capsys.readouterr().err


def test_tables(tmp_path, capsys):
    rng = np.random.default_rng(0)
    path, model = tmp_path / "log.csv", tmp_path / "model.cf"
    rows = [f"{t},{int(i == t % 2)},{rng.integers(2)},0.5,{rng.random()},{t % 5},{t % 7}"
            for t in range(200) for i in range(2)]
    path.write_text("\n".join(["round,chosen,reward,probability,x,hour,user", *rows]))
    assert call("replay", path, "linear-bandit", "--features", "x", "--context", "hour", "--group",
                "user", "--model", model) == 0
    assert call("evaluate", path, "--policy", model, "--force", "--features", "x", "--context",
                "hour", "--group", "user", "--json") == 0
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    read = BanditLog.from_table(path, features=["x"], context=["hour"], group="user")
    same(told, evaluate(cf.load(model), read, force=True))
    assert call("evaluate", path, "--policy", model) == 1
    assert f"{model} goes by other columns than {path} has" in capsys.readouterr().err

    wide = tmp_path / "wide.csv"
    wide.write_text("arm,reward,probability,age\n" + "".join(
        f"{t % 3},{int(t % 3 == 1)},0.5,{t % 4}\n" for t in range(300)))
    assert call("replay", wide, "arm-bandit", "--action", "arm", "--json") == 0
    assert json.loads(capsys.readouterr().out)["mean_reward"] > 0.5


def test_standard_input_and_packed_files(log, tmp_path, monkeypatch, capsys):
    assert call("evaluate", log, "--policy", "uniform", "--json") == 0
    expected = lines(capsys)
    packed = tmp_path / "log.gz"
    packed.write_bytes(gzip.compress(log.read_bytes()))
    assert call("evaluate", packed, "--policy", "uniform", "--json") == 0
    assert lines(capsys) == expected
    for content in (log.read_bytes(), packed.read_bytes()):
        feed(monkeypatch, content)
        assert call("evaluate", "-", "--policy", "uniform", "--json") == 0
        assert lines(capsys) == expected
    packed.write_bytes(packed.read_bytes()[:-30])
    assert call("evaluate", packed, "--policy", "uniform") == 1
    assert "truncated or damaged" in capsys.readouterr().err


def test_what_was_left_out_is_told(log, tmp_path, capsys):
    path = tmp_path / "log.json"
    line = ('{"_label_cost":0,"_label_probability":0.5,"_labelIndex":0,'
            '"c":{"_multi":[{"x":1},{"x":2}]}}\n')
    skipped = line.replace('"c"', '"_skipLearn":true,"c"')
    path.write_text(line * 50 + '{"RewardValue":1}\n' + skipped)
    assert call("evaluate", path, "--policy", "uniform") == 0
    assert "(left out: 1 dangling, 1 not learned)" in capsys.readouterr().err
    path.write_text(line * 50 + line.replace('"_label_cost":0,"_label_probability":0.5,', ""))
    assert call("evaluate", path, "--policy", "uniform") == 1
    assert "line 51: field '_label_cost': is missing" in capsys.readouterr().err
    assert call("evaluate", path, "--policy", "uniform", "--unlabelled", "skip") == 0
    assert "(left out: 1 unlabelled)" in capsys.readouterr().err


def test_a_process_of_its_own(log, tmp_path):
    with started(tmp_path, "evaluate", log, "--policy", "uniform", "--json",
                 stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        out, error = process.communicate(timeout=60)
    assert process.returncode == 0 and json.loads(out)["rounds"] == ROUNDS
    assert error.decode().splitlines()[0].endswith("1 of context")  # no bar: nobody watches
