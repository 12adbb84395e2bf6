"""The coactive papers' findings on real data: ``python bench/findings_coactive.py --data DIR``.

Web search: MQ2008 for the paper's web search set, all queries in 20 permutations. Movies:
MovieLens 1M, item features from one half of the users, 1,500 rounds for each user of the other
half (figure 2). Writes the curves as CSV and PNG and prints each finding as seen or not seen.
"""

import argparse
import csv
import time
from pathlib import Path

import numpy as np

import coactive_fast as cf

ALPHAS = (0.1, 0.5, 1.0)


def mq2008(folder):
    parts = [cf.data.RankingData.from_svmlight(folder / "mq2008" / f"S{i}.txt.gz", n_features=46)
             for i in range(1, 6)]
    sizes = np.concatenate([np.diff(p.offsets) for p in parts])
    return cf.data.RankingData(np.concatenate([p.features for p in parts]),
                               np.concatenate([p.relevance for p in parts]),
                               np.concatenate([[0], np.cumsum(sizes)]))


def web_search(data, users, permutations=20, passes=1):
    """Average regret, permutations x rounds, for each user."""
    found = {}
    for name, user in users.items():
        curves = []
        for p in range(permutations):
            order = np.concatenate([np.random.default_rng([p, q]).permutation(len(data))
                                    for q in range(passes)])
            learner = cf.PreferencePerceptron(cf.Ranking(k=5))
            curves.append(cf.simulate(learner, data, user, order=order, seed=p).average_regret)
        found[name] = np.array(curves)
    return found


def halves(ratings, seed=0):
    """Item features from one half of the users, w* of the other half over them."""
    order = np.random.default_rng(seed).permutation(ratings.shape[0])
    half = len(order) // 2
    train, test = np.sort(order[half:]), np.sort(order[:half])
    items, _ = cf.data.factorize(ratings[train], rank=50, seed=seed)
    return items, cf.data.fit_user_weights(ratings[test], items), ratings[test]


def movies(items, weights, alphas, rounds, n_jobs):
    found = {}
    learner = cf.PreferencePerceptron(cf.Items(items))
    for alpha in alphas:
        user = cf.users.AlphaInformative(alpha)
        history = cf.simulate_items(learner, items, weights, user, rounds=rounds, n_jobs=n_jobs)
        found[f"alpha {alpha:g}"] = history
    return found


def write_curves(path, curves):
    """CSV: a row a round, a column a curve (and its standard error)."""
    names = list(curves)
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["round", *(f"{n}{s}" for n in names for s in ("", " error"))])
        means = {n: (c.mean(0), c.std(0, ddof=1) / np.sqrt(len(c))) for n, c in curves.items()}
        for t in range(len(means[names[0]][0])):
            out.writerow([t + 1, *(f"{v[t]:.10g}" for n in names for v in means[n])])


def plot(path, curves, title):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    ax = figure.add_subplot()
    for name, c in curves.items():
        mean, error = c.mean(0), c.std(0, ddof=1) / np.sqrt(len(c))
        t = np.arange(1, len(mean) + 1)
        line, = ax.plot(t, mean, label=name)
        ax.fill_between(t, mean - error, mean + error, color=line.get_color(), alpha=0.25)
    ax.set(title=title, xlabel="round", ylabel="average regret", xscale="log")
    ax.set_ylim(bottom=0)
    ax.legend()
    figure.savefig(path, dpi=120)


def say(finding, seen, why):
    print(f"{'seen    ' if seen else 'NOT SEEN'}  {finding}: {why}")


def at(curves, name, t):
    return float(curves[name][:, t - 1].mean())


def report_web(curves, long_run):
    last = next(iter(curves.values())).shape[1]
    ends = {name: (at(curves, name, 50), at(curves, name, last), at(long_run, name, -1))
            for name in curves}
    for name, (early, late, far) in ends.items():
        print(f"  {name:10} average regret {early:.4f} after 50, {late:.4f} after {last}, "
              f"{far:.4f} after {long_run[name].shape[1]} rounds")
    strict = [f"alpha {a:g}" for a in ALPHAS]
    say("average regret falls towards zero with strict feedback",
        all(ends[n][2] < 0.5 * ends[n][1] < 0.5 * ends[n][0] for n in strict),
        "it goes on falling, pass after pass")
    say("alpha = 1 lowest", ends["alpha 1"][1] == min(ends[n][1] for n in strict),
        ", ".join(f"{n} {ends[n][1]:.4f}" for n in strict))
    noisy = [n for n in curves if n.startswith("depth")]
    floor = max(ends[n][2] for n in strict)
    say("noisy feedback settles above zero", all(ends[n][2] > 2 * floor for n in noisy),
        ", ".join(f"{n} {ends[n][2]:.4f}" for n in noisy) + f" against {floor:.4f} at most")


def report_movies(histories):
    ends = {}
    for name, h in histories.items():
        r = h.average_regret
        ends[name] = r[-1]
        print(f"  {name:10} average regret {r[9]:.4f} after 10, {r[99]:.4f} after 100, "
              f"{r[-1]:.4f} after {len(r)} rounds")
    values = list(ends.values())
    say("regret falls with the rounds", all(h.average_regret[-1] < h.average_regret[9]
                                            for h in histories.values()), "every alpha")
    say("higher alpha, lower regret", values == sorted(values, reverse=True),
        ", ".join(f"{n} {v:.4f}" for n, v in ends.items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("findings"))
    parser.add_argument("--users", type=int, help="movie users (default: half of all)")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)

    data = mq2008(given.data)
    print(f"MQ2008: {len(data)} queries, {data.n_documents} documents")
    users = {f"alpha {a:g}": cf.users.AlphaInformative(a) for a in ALPHAS}
    users |= {f"depth {d}": cf.users.NoisyDepth(d) for d in (10, 25)}
    begin = time.perf_counter()
    curves = web_search(data, users)
    print(f"  {len(users)} users x 20 permutations in {time.perf_counter() - begin:.2f} s")
    long_run = web_search(data, users, permutations=5, passes=40)
    write_curves(given.out / "web_search.csv", curves)
    plot(given.out / "web_search.png", curves, "Preference Perceptron, MQ2008, 20 permutations")
    plot(given.out / "web_search_long.png", long_run, "The same, 40 passes, 5 permutations")
    report_web(curves, long_run)

    ratings, _, _ = cf.data.load_movielens(given.data / "ml-1m" / "ratings.dat.gz")
    begin = time.perf_counter()
    items, weights, _ = halves(ratings)
    print(f"MovieLens: {ratings.shape}, features and w* in {time.perf_counter() - begin:.1f} s")
    weights = weights[:given.users]
    begin = time.perf_counter()
    histories = movies(items, weights, ALPHAS, 1500, given.jobs)
    print(f"  {len(ALPHAS)} x {len(weights)} users x 1500 rounds in "
          f"{time.perf_counter() - begin:.1f} s on {given.jobs} threads")
    per_user = {n: np.cumsum(h.regret_per_user, 1) / np.arange(1, 1501)
                for n, h in histories.items()}
    write_curves(given.out / "movies.csv", per_user)
    plot(given.out / "movies.png", per_user, "Preference Perceptron, MovieLens 1M")
    report_movies(histories)


if __name__ == "__main__":
    main()
