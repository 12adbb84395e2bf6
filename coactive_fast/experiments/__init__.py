"""The papers' figures and tables: ``python -m coactive_fast.experiments``.

One module an experiment (or a few that share their tasks); never loaded by
``import coactive_fast``.
"""

import importlib

MODULES = (  # in the order of the report
    "coactive_clicks", "coactive_alpha", "theorems_coactive", "coactive_figures", "clicks_online",
    "confidit_versions", "theorems_confidit", "confidit_text", "confidit_vowel", "filtering",
    "theorems_onseg", "onseg",
)


def experiments():
    """All experiments by name, in the order of the report."""
    found = {}
    for name in MODULES:
        module = importlib.import_module(f"coactive_fast.experiments.{name}")
        found.update((experiment.name, experiment) for experiment in module.EXPERIMENTS)
    return found
