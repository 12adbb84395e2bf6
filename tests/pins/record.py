"""Records the streams of the installed package into ``pins.npz``.

    python tests/pins/record.py [FILE]

It fails where a learner of the registry, a parameter of one, one of a parameter's words, or a
public method is in no stream.
"""

import inspect
import os
import re
import sys
import typing
import warnings
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import coactive_fast as cf
from pins import all_streams, grid, notes
from pins.play import played

# What else than the learners of the registry must occur, with all its parameters.
MORE = [cf.metric.Full, cf.metric.Diagonal, cf.metric.Dual, cf.Catalogue, cf.Fleet, cf.Ranking,
        cf.Items, cf.Ball, cf.Box, cf.L1Ball, cf.RewardTable, cf.LinearRewards, cf.logs.BanditLog,
        cf.logs.evaluate, cf.logs.replay, cf.simulate, cf.simulate_items, cf.simulate_bandit,
        cf.run_topics, cf.load, cf.feedback_from_clicks, cf.metrics.dcg, cf.metrics.ndcg,
        cf.metrics.evaluate, cf.metrics.convex_regret, cf.losses.Logistic, cf.losses.Squared,
        cf.losses.PortfolioReturn]
MORE += [getattr(cf.users, name) for name in cf.users.__all__]
MORE += [vars(cf.kernels)[name] for name in cf.kernels.__all__]
# Parameters that no number depends on, and those of tables of actions with names.
LEFT_OUT = {"progress", "feature_names", "context_names"}
QUIET = {"from_table", "from_vw"}  # readers, whose texts have tests of their own


def words_of(kind, name, annotation):
    """The words that a parameter's annotation names."""
    if isinstance(annotation, str):
        names = {**vars(typing), **vars(sys.modules[kind.__module__])}
        found = re.findall(r"Literal\[([^]]*)\]", annotation)
        for alias in re.findall(r"\b[A-Z]\w+\b", annotation):
            found += re.findall(r"Literal\[([^]]*)\]", str(names.get(alias, "")))
        return {word for part in found for word in re.findall(r"['\"]([^'\"]*)['\"]", part)}
    return set()


def missing():
    """What is in no stream, a line each."""
    from coactive_fast.learner._store import learners

    lines = []
    registry = learners()
    tried = [name for grids in grid.FAMILIES.values() for name in grids]
    lines += [f"{name}: a learner without streams" for name in registry if name not in tried]
    for kind in [*registry.values(), *MORE]:
        used = notes.used.get(kind.__name__)
        if used is None:
            lines.append(f"{kind.__name__}: in no stream")
            continue
        for parameter in inspect.signature(kind).parameters.values():
            if parameter.name in LEFT_OUT:
                continue
            values = used.get(parameter.name, [])
            if not [v for v in values if not grid.same(v, parameter.default)]:
                lines.append(f"{kind.__name__}({parameter.name}): only at its default")
            given = {v for v in values if isinstance(v, str)}
            if parameter.default is not inspect.Parameter.empty:
                given |= {parameter.default} if isinstance(parameter.default, str) else set()
            for word in sorted(words_of(kind, parameter.name, parameter.annotation) - given):
                lines.append(f"{kind.__name__}({parameter.name}): never {word!r}")
    for name, kind in [*registry.items(), *((k.__name__, k) for k in MORE if inspect.isclass(k))]:
        public = {n for n in dir(kind) if not n.startswith("_")} - QUIET
        for method in sorted(public - notes.asked.get(name, set())):
            lines.append(f"{name}.{method}: never asked")
    return lines


def main(path=notes.FILE):
    streams = all_streams()
    found = {name: played(stream) for name, stream in streams.items()}
    lines = missing()
    if lines:
        sys.exit("\n".join(lines))
    notes.write(found, path)
    size = Path(path).stat().st_size
    values = sum(len(entry["reals"]) for one in found.values() for entry in one.values())
    print(f"{cf.__version__}: {len(found)} streams, {values} real numbers, {size} bytes")
    if size > 2_000_000:
        sys.exit("the file is larger than 2 MB")


if __name__ == "__main__":
    warnings.simplefilter("error")
    main(*sys.argv[1:])
