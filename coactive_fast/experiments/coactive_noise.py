"""Figure 3 of the coactive papers: feedback that no linear utility explains."""

from . import _coactive
from ._coactive import Case
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
        plots=[_coactive.average_plot("web search", "noisy", web),
               _coactive.average_plot("movies", "noisy", film)],
        findings=[settles(web), higher(film), deeper(web)])


def settles(web):
    *noisy, strict = web
    shares = [r.end / r.at(r.rounds[-1] // 10) for r in web]
    return Finding(
        "With noisy feedback the regret does not go to zero (web search).",
        f"{_coactive.ends(web)}; the last tenfold of rounds leaves "
        + ", ".join(f"{share:.0%}" for share in shares),
        all(r.end > 3.0 * strict.end for r in noisy) and min(shares[:-1]) > 0.75,
        "More than three times that of strict feedback, and no more than a quarter of it goes in "
        "the last tenfold of rounds.")


def higher(film):
    *noisy, strict = film
    return Finding("With noisy feedback the regret is higher than with strict (movies).",
                   _coactive.ends(film), all(r.end - r.error > strict.end for r in noisy))


def deeper(web):
    ten, more, _ = web
    return Finding(
        "The regret is slightly higher when the user looks deeper (web search).",
        _coactive.ends(web[:2]), more.end - ten.end > max(ten.error, more.error),
        "The paper's reason is that labels are noisier than the fit: the more of them the user "
        "chooses from, the more errors are chosen.")


EXPERIMENTS = [_coactive.experiment(
    "coactive-noise", "Regret for noisy feedback", "figure 3", play, (1, 80))]
