"""What the tests of the metrics share."""

import copy
import pickle

import pytest

import coactive_fast as cf

MODULES = {"compiled": cf.metric, "twin": cf.reference}
modules = pytest.mark.parametrize("module", MODULES.values(), ids=list(MODULES))
FORMS = {
    "full": lambda n, **kwargs: cf.metric.Full(n, **kwargs),
    "robust": lambda n, **kwargs: cf.metric.Full(n, precision="robust", **kwargs),
    "diagonal": lambda n, **kwargs: cf.metric.Diagonal(n, **kwargs),
}
forms = pytest.mark.parametrize("form", list(FORMS))
COPIES = {
    "copy": lambda m: m.copy(),
    "copy.copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda m: pickle.loads(pickle.dumps(m)),
}


def made(form, n, **kwargs):
    return FORMS[form](n, **kwargs)


def twin_of(form, n, **kwargs):
    return (cf.reference.Diagonal if form == "diagonal" else cf.reference.Full)(n, **kwargs)


def fed(m, rng, T=30):
    for x in rng.standard_normal((T, m.n)):
        m.update(x, c=0.7)
    return m
