"""Programs as scikit-learn, river and MABWiser show them to their users, with one import changed.

Each is written anew after the example that it names: the same steps, on data that come with the
package or are generated. The target is an accuracy within 0.01 of the original's; beyond 0.05 below
it something is broken. The times are those of the whole program, scoring included.
"""

import functools

import contenders as others
import numpy as np
import threads
from ratio import Case, Contender, Plan, Target

TARGET, BROKEN = 0.01, 0.05  # how far ours may be below the original


def case(name, play, kinds):
    """The program played with each of `kinds`, (name, class of ours or theirs); theirs is last.

    `play(kind)` answers its accuracy.
    """
    found = {said: play(kind) for said, kind in kinds}
    (ours, _), *rest = kinds
    original = rest[-1][0]
    mine = [said for said in found if said.startswith("ours")]
    assert min(found[said] for said in mine) >= found[original] - BROKEN, found
    made = [Contender(said, functools.partial(repeated, play, kind), most=4,
                      own=said.startswith("ours") and said != ours) for said, kind in kinds]
    targets = [Target(f"{said}: accuracy >= the original's - {TARGET}",
                      lambda result, value=found[said] - found[original]: value, -TARGET, False, "")
               for said in mine]
    return Case("adapters", name, made[0], made[1:], targets=targets,
                figures={f"accuracy, {said}": value for said, value in found.items()})


def repeated(play, kind, n):
    for _ in range(n):
        play(kind)


# --- scikit-learn -------------------------------------------------------------------------------


def online_solvers():
    """After "Comparing various online solvers": digits, from ever more rows, several splits.

    Our Perceptron misses the target: with 90 rows of 64 pixels it is at 0.80, for pixels that are
    rarely on count as much as others once they are scaled; the original is at 0.85 there, and
    from 900 rows on behind ours (0.93 and 0.94, then 0.94 and 0.97).
    """
    from sklearn.datasets import load_digits
    from sklearn.linear_model import Perceptron
    from sklearn.model_selection import train_test_split

    from coactive_fast.adapters.sklearn import AROWClassifier, PerceptronClassifier

    X, y = load_digits(return_X_y=True)
    splits = 2 if threads.quick() else 5

    def play(kind):
        chance, right = np.random.RandomState(42), []
        for share in (0.95, 0.9, 0.75, 0.5, 0.01):
            for _ in range(splits):
                train, test, known, asked = train_test_split(X, y, test_size=share,
                                                             random_state=chance)
                right.append(np.mean(kind().fit(train, known).predict(test) == asked))
        return float(np.mean(right))

    return case("scikit-learn's comparison of online solvers, digits", play, [
        ("ours, AROWClassifier", functools.partial(AROWClassifier, random_state=0)),
        ("ours, PerceptronClassifier", functools.partial(PerceptronClassifier, random_state=0)),
        ("sklearn Perceptron", functools.partial(Perceptron, max_iter=110, random_state=0))])


def documents(n, seed=0):
    """Texts of words by Zipf's law; those of the one kind have some words more often."""
    rng = np.random.default_rng(seed)
    words = np.array([f"word{i}" for i in range(20_000)])
    usual = 1.0 / np.arange(1, len(words) + 1)
    own = usual * rng.lognormal(0.0, 0.6, len(words))
    chances = [usual / usual.sum(), own / own.sum()]
    kinds = (rng.random(n) < 0.3).astype(int)
    return [" ".join(rng.choice(words, size=60, p=chances[kind])) for kind in kinds], kinds


def out_of_core():
    """After "Out-of-core classification of text documents": hashed batches, partial_fit, and a
    score on documents held out after each; the texts are hashed beforehand."""
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.linear_model import Perceptron

    from coactive_fast.adapters.sklearn import AROWClassifier, PerceptronClassifier

    texts, labels = documents(3000 if threads.quick() else 8000)
    hashed = HashingVectorizer(n_features=2**18, alternate_sign=False).transform(texts)
    batches = [slice(i, i + 500) for i in range(1000, len(texts), 500)]

    def play(kind):
        model = kind()
        for batch in batches:
            model.partial_fit(hashed[batch], labels[batch], classes=np.array([0, 1]))
            found = model.score(hashed[:1000], labels[:1000])
        return float(found)

    return case("scikit-learn's out-of-core classification of texts", play, [
        ("ours, AROWClassifier", AROWClassifier), ("ours, PerceptronClassifier",
                                                   PerceptronClassifier),
        ("sklearn Perceptron", functools.partial(Perceptron, random_state=0))])


# --- river and MABWiser ---------------------------------------------------------------------------


def phishing():
    """After river's README: a scaler and a linear model, asked and then told, row by row."""
    from river import datasets, linear_model, metrics, preprocessing

    from coactive_fast.adapters.river import AROWClassifier, ConfiditClassifier

    rows = list(datasets.Phishing())

    def play(kind):
        model, metric = preprocessing.StandardScaler() | kind(), metrics.Accuracy()
        for x, y in rows:
            metric.update(y, model.predict_one(x))
            model.learn_one(x, y)
        return metric.get()

    return case("river's first steps, Phishing", play, [
        ("ours, AROWClassifier", AROWClassifier), ("ours, ConfiditClassifier (right or wrong only)",
                                                   ConfiditClassifier),
        ("river LogisticRegression", linear_model.LogisticRegression)])


def advertisements():
    """After MABWiser's parametric_mab: fit on logged ads, predict, expectations, an update by what
    came in, an arm more. The answers are the same, arm by arm."""
    import mabwiser.mab as theirs

    import coactive_fast.adapters.mabwiser as ours

    rng = np.random.default_rng(3)
    n = 300 if threads.quick() else 1500
    contexts, ads = rng.standard_normal((n, 3)), rng.integers(1, 6, n).tolist()
    revenues = (10.0 + contexts @ rng.standard_normal((3, 6)))[np.arange(n), ads]
    revenues = np.round(revenues + rng.standard_normal(n), 1).tolist()
    asked = rng.standard_normal((200, 3))

    def play(module):
        mab = module.MAB([1, 2, 3, 4, 5], module.LearningPolicy.LinUCB(alpha=1.25, l2_lambda=1))
        mab.fit(ads, revenues, contexts)
        first, expected = mab.predict(asked), mab.predict_expectations(asked)
        mab.partial_fit(first, [7.0] * len(asked), asked)
        mab.add_arm(6)
        return first, expected, mab.predict(asked)

    found, original = play(ours), play(theirs)
    assert found[0] == original[0] and found[2] == original[2]
    for one, other in zip(found[1], original[1], strict=True):
        np.testing.assert_allclose([one[arm] for arm in other], list(other.values()), rtol=1e-9)
    return Case("adapters", "MABWiser's advertisements by LinUCB",
                Contender("ours, MAB", functools.partial(repeated, play, ours), most=4),
                [Contender("mabwiser MAB", functools.partial(repeated, play, theirs), most=4)])


def plans():
    found = []
    if others.have("sklearn"):
        found += [Plan("solvers", online_solvers), Plan("texts", out_of_core)]
    if others.have("river"):
        found.append(Plan("phishing", phishing))
    if others.have("mabwiser"):
        found.append(Plan("advertisements", advertisements))
    return found


def test_adapters(compare, plan):
    compare(plan)
