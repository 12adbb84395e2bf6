"""Everything that can be read from a learner: what threads do while another one changes it."""

import copy
import os
import pickle
from functools import partial

import coactive_fast as cf

CHANGES = {"learn", "learn_clicks", "update", "run", "forward", "ask", "ask_pair", "tell",
           "tell_pair", "reset", "set_params", "add_class", "add_arm", "decide", "reward", "drop",
           "decay", "merge", "learn_pair"}
SINGLE = {"choose", "present"}  # these change learners that draw for it
DRAWING = (cf.Banditron, cf.Newtron, cf.DuelingBandit, cf.PairwisePerceptron, cf.PDGD)
NO_MEANING = ('with covariance="kernel"', "no attribute 'weights'", 'need link="logistic"',
              "must be given")  # what a form cannot be asked, as its errors say


def table(layout):
    return layout.probe


def row(layout):
    return layout.probe[0]


READS = {"decision_function": table, "predict": table, "choose": row, "margin": row,
         "scores": table, "present": table, "inverse": lambda layout: 0, "margins": table,
         "select": table, "probability": row, "probabilities": table, "choose_pair": table}
MORE = {"select": (2,)}
READS_OF = {cf.ArmBandit: {"scores": row, "probabilities": row}}
for _kind in (cf.LinearBandit, cf.OnlineRidge):
    READS_OF[_kind] = {"inverse": None}
ALONE = {"information", "health", "get_params", "clone", "save"}  # asked about nothing


def readings(layout, learner):
    """Calls without arguments: each reads something public."""
    kind, found = type(learner), {"repr": lambda: repr(learner)}
    for name in dir(kind):
        if name.startswith("_") or name in CHANGES | {"save"}:
            continue
        if name in learner.get_params():
            found[name] = partial(getattr, learner, name)
        elif not callable(getattr(kind, name)):
            found[name] = partial(asked, learner, name)
        elif name not in SINGLE or (kind not in DRAWING
                                    and "explore" not in learner.get_params()):
            asks = READS_OF.get(kind, {}).get(name, READS.get(name))
            alone = name in ALONE or asks is None
            arguments = () if alone else (asks(layout), *MORE.get(name, ()))
            found[name] = partial(asked, learner, name, *arguments)
    return found


def asked(learner, name, *arguments):
    """Reads an attribute or calls a method; the dual form has no weights and no inverses."""
    try:
        found = getattr(learner, name)
        return found(*arguments) if callable(found) else found
    except (AttributeError, ValueError) as error:
        if not any(words in str(error) for words in NO_MEANING):
            raise


def disturbers(layout, learner, folder):
    """What each of the other threads does again and again."""
    saving = [] if layout.own else [lambda: learner.save(os.path.join(folder, "learner.cf"))]
    copying = [lambda: copy.deepcopy(learner), lambda: pickle.dumps(learner),
               lambda: copy.copy(learner)]
    return [[*saving, learner._engine._state], copying, list(readings(layout, learner).values())]
