"""Which film to show, by bandits: ``python bench/rewards_movielens.py FOLDER [ROUNDS]``.

FOLDER holds ratings.dat (packed or not) and users.dat of MovieLens 1M. The set is cut to the size
of MovieLens 100K: the 1,682 films rated most often, and 943 users of one half with 20 ratings of
them or more. What is known of a film comes from the ratings of the other half: a factorisation of
rank 16 and the mean rating; with a constant that makes 18 features. In each round a user comes,
and 20 films that this user has rated are the candidates; the reward is the rating r of the one
that is shown, as (r - 1) / 4. Users, candidates and their order are the same for all contenders.
Each row is the mean over three such streams, and the least processor time of one round (choose and
learn, with the loop in Python) among them.

MABWiser knows no features of arms: it gets one arm, and the candidates' rows as its contexts, which
makes its LinUCB the shared one. Contenders that are not installed are left out.
"""

import sys  # noqa: I001  (threads comes before numpy: one thread for everybody)
import time
from pathlib import Path

import threads  # noqa: F401

import numpy as np

import coactive_fast as cf

FILMS, USERS, CANDIDATES, RANK, WIDTH = 1682, 943, 20, 16, 0.25
STREAMS = 3


class Rounds:
    """Who comes, what may be shown, and what it would earn."""

    def __init__(self, folder, n, seed):
        rng = np.random.default_rng(seed)
        path = next(Path(folder).glob("ratings.dat*"))
        ratings, user_ids, _ = cf.data.load_movielens(path)
        most = np.argsort(-np.bincount(ratings.indices), kind="stable")[:FILMS]
        ratings = ratings[:, np.sort(most)]
        order = rng.permutation(ratings.shape[0])
        others, mine = ratings[order[::2]], order[1::2]
        mine = mine[np.diff(ratings.indptr)[mine] >= CANDIDATES][:USERS]
        self.means = mean_ratings(others)
        factors, _ = cf.data.factorize(others, rank=RANK, n_jobs=2)
        factors /= np.sqrt(np.mean(np.sum(factors**2, axis=1)))
        known = (self.means - self.means.mean()) / self.means.std()
        self.X = np.column_stack([factors, known, np.ones(FILMS)])
        about = read_users(Path(folder) / "users.dat", user_ids)
        self.users = rng.integers(USERS, size=n)
        self.context = about[mine][self.users]
        self.films = np.zeros((n, CANDIDATES), dtype=np.intp)
        self.rewards = np.zeros((n, CANDIDATES))
        for t, user in enumerate(mine[self.users]):
            row = ratings[user]
            picked = rng.permutation(row.nnz)[:CANDIDATES]
            self.films[t], self.rewards[t] = row.indices[picked], (row.data[picked] - 1.0) / 4.0

    def __len__(self):
        return len(self.users)


def mean_ratings(ratings):
    """Of each film, drawn towards the mean of all by five ratings."""
    sums, counts = np.asarray(ratings.sum(axis=0)).ravel(), np.bincount(ratings.indices)
    return (sums + 5.0 * ratings.data.mean()) / (counts + 5.0)


def read_users(path, ids):
    """Sex, and the seven groups of age: a row for each id."""
    table = {}
    for line in path.read_text(encoding="latin-1").splitlines():
        user, sex, age = line.split("::")[:3]
        table[int(user)] = (sex, int(age))
    ages = sorted({age for _, age in table.values()})
    found = np.zeros((len(ids), 1 + len(ages)))
    for i, user in enumerate(ids.tolist()):
        sex, age = table[user]
        found[i, 0], found[i, 1 + ages.index(age)] = 1.0 if sex == "F" else -1.0, 1.0
    return found


# --- contenders: each answers the index of what it shows in every round -------------------------


def by_chance(rounds, seed):
    return np.random.default_rng(seed).integers(CANDIDATES, size=len(rounds))


def best_fixed(rounds, seed):
    """Always the candidate with the best mean rating among the other half."""
    return rounds.means[rounds.films].argmax(axis=1)


def best_possible(rounds, seed):
    return rounds.rewards.argmax(axis=1)


def play(rounds, choose_and_learn):
    shown = np.zeros(len(rounds), dtype=np.intp)
    for t in range(len(rounds)):
        shown[t] = choose_and_learn(t, rounds.X[rounds.films[t]], rounds.rewards[t])
    return shown


def shared(rounds, seed, **words):
    """One bandit for all; with `context_features` it also hears who the user is."""
    bandit = linear_bandit(seed=seed, **words)
    deep = bool(words.get("context_features"))

    def one(t, X, rewards):
        more = {"context": rounds.context[t]} if deep else {}
        i = bandit.choose(X, **more)
        bandit.learn(X[i], rewards[i], **more)
        return i

    return play(rounds, one)


def about_users(rounds, seed):
    return shared(rounds, seed, width=WIDTH, context_features=rounds.context.shape[1])


def per_user(rounds, seed):
    bandits = {}

    def one(t, X, rewards):
        user = rounds.users[t]
        if user not in bandits:
            bandits[user] = linear_bandit(width=WIDTH)
        i = bandits[user].choose(X)
        bandits[user].learn(X[i], rewards[i])
        return i

    return play(rounds, one)


def linear_bandit(**words):
    return cf.LinearBandit(**words)


def vw_squarecb(rounds, seed):
    """Costs are -reward; its own choices are drawn from the probabilities it gives."""
    import vowpalwabbit

    vw = vowpalwabbit.Workspace("--cb_explore_adf --squarecb --quiet "
                                f"--noconstant --random_seed {seed}")
    rng = np.random.default_rng(seed)

    def one(t, X, rewards):
        rows = ["|a " + " ".join(f"{j}:{v:.6f}" for j, v in enumerate(row)) for row in X]
        law = np.array(vw.predict(rows))
        i = int(rng.choice(CANDIDATES, p=law / law.sum()))
        rows[i] = f"0:{-rewards[i]}:{law[i]} {rows[i]}"
        vw.learn(rows)
        return i

    shown = play(rounds, one)
    vw.finish()
    return shown


def mabwiser_linucb(rounds, seed):
    from mabwiser.mab import MAB, LearningPolicy

    mab = MAB(["show"], LearningPolicy.LinUCB(alpha=WIDTH, l2_lambda=1.0))

    def one(t, X, rewards):
        i = 0
        if t:
            bounds = mab.predict_expectations(X)
            i = int(np.argmax([bound["show"] for bound in bounds]))
        mab.partial_fit(["show"], [rewards[i]], X[i:i + 1])
        return i

    return play(rounds, one)


CONTENDERS = [
    ("by chance", by_chance), ("best fixed order of films", best_fixed),
    ("LinearBandit ucb, shared", lambda r, s: shared(r, s, width=WIDTH)),
    ("LinearBandit thompson, shared", lambda r, s: shared(r, s, width=WIDTH, explore="thompson")),
    ("LinearBandit squarecb, shared", lambda r, s: shared(r, s, explore="squarecb")),
    ("LinearBandit greedy, shared", lambda r, s: shared(r, s, explore="greedy")),
    ("LinearBandit ucb, shared, sex and age", about_users),
    ("LinearBandit ucb, per user", per_user),
    ("Vowpal Wabbit squarecb, shared", vw_squarecb),
    ("MABWiser LinUCB, shared", mabwiser_linucb),
    ("the best candidate of each round", best_possible),
]


def main(folder, n):
    """Prints the table: mean rating, that of the last tenth of the rounds, time of a round."""
    streams = [Rounds(folder, n, seed) for seed in range(STREAMS)]
    print(f"{n:,} rounds, {CANDIDATES} candidates, {STREAMS} streams")
    print("| | mean rating | last tenth | µs a round |\n| --- | --- | --- | --- |")
    for name, contender in CONTENDERS:
        try:
            found, seconds = [], []
            for seed, rounds in enumerate(streams):
                begin = time.process_time()
                shown = contender(rounds, seed)
                seconds.append(time.process_time() - begin)
                found.append(1.0 + 4.0 * rounds.rewards[np.arange(n), shown])
        except ImportError as error:
            print(f"| {name} | {error} | | |")
            continue
        mean, last = np.mean(found), np.mean([one[-(n // 10):] for one in found])
        took = min(seconds) / n * 1e6
        print(f"| {name} | {mean:.3f} | {last:.3f} | {took:,.1f} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 10_000)
