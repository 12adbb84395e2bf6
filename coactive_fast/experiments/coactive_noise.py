"""Figure 3 of the coactive papers: feedback that no linear utility explains."""

import numpy as np

from . import _coactive, _judge
from ._coactive import FALL, Case
from ._plan import Finding

DEPTHS = (10, 25)


def play(setting):
    strict = Case("strict, alpha = 0.5")
    web, film = yield from _coactive.run(
        setting, [*(Case(f"noisy, depth {d}", web_user=("depth", {"depth": d})) for d in DEPTHS),
                  strict],
        [*(Case(f"noisy, {name}", movie_user=(name, {})) for name in ("better", "best")), strict])
    return _coactive.outcome(
        setting, groups={"web search": web, "movies": film},
        plots=[_coactive.average_plot("web search", "noisy", web, story=True),
               _coactive.average_plot("movies", "noisy", film)],
        findings=[settles(web), higher(film), deeper(web)])


def settles(web):
    kept = [r.log().minus(r.log(int(r.rounds[-1]) // 10)) for r in web]
    return Finding(
        "With noisy feedback the regret does not go to zero (web search).",
        f"{_coactive.ends(web)}; the last tenfold of rounds leaves "
        + ", ".join(one.times for one in kept),
        _judge.every(_judge.above(one, np.log(FALL)) for one in kept[:-1]),
        test=f"In both noisy curves the last tenfold of rounds leaves more than {FALL:.2f} of the "
             "regret (1/√t leaves 0.32).", plot="web-search-noisy",
        main="noisy feedback leaves a regret that stays")


def higher(film):
    *noisy, strict = film
    more = [r.log().minus(strict.log()) for r in noisy]
    return Finding("With noisy feedback the regret is higher than with strict (movies).",
                   f"{_coactive.ends(film)}; " + ", ".join(one.times for one in more)
                   + " times that of strict feedback",
                   _judge.every(_judge.above(one) for one in more), plot="movies-noisy",
                   test="Both noisy users leave more regret after the last round, user by user.")


def deeper(web):
    ten, more, _ = web
    gap = more.log().minus(ten.log())
    return Finding(
        "The regret is slightly higher when the user looks deeper (web search).",
        f"depth 25: {gap.times} times the regret of depth 10", _judge.above(gap),
        "The paper's reason is that labels are noisier than the fit: the more of them the user "
        "chooses from, the more errors are chosen.", plot="web-search-noisy",
        test="Depth 25 has more regret than depth 10 after the last round, run by run.")


EXPERIMENTS = [_coactive.experiment(
    "coactive-noise", "Regret for noisy feedback", "figure 3", play, (1, 1))]
