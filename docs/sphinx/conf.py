"""Sphinx over the pages and the docstrings: ``sphinx-build -W -c docs/sphinx docs docs/_build``."""

import re
from importlib.util import find_spec

import coactive_fast

project = "coactive_fast"
author = "The coactive_fast developers"
release = version = coactive_fast.__version__
extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.autosummary"]
root_doc = "contents"
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
exclude_patterns = ["_build", "sphinx"]
html_theme = "alabaster"
html_theme_options = {"description": "Learning from weak feedback", "page_width": "1080px"}
myst_heading_anchors = 4
autosummary_generate = ["api.rst"]
if all(find_spec(name) for name in ("dask", "distributed", "river", "sklearn")):
    autosummary_generate += ["api_frameworks.rst"]
else:  # the extras sklearn, river and dask
    exclude_patterns += ["api_frameworks.rst"]
numpydoc_show_class_members = False  # the lists below do
autodoc_default_options = {"members": True, "inherited-members": True}
suppress_warnings = ["myst.xref_missing"]  # links to files outside docs/


def of_the_framework(app, what, name, obj, skip, options):
    """Leaves out what an estimator inherits from scikit-learn or river: their own pages have it."""
    home = getattr(getattr(obj, "fget", None) or obj, "__module__", None) or ""
    theirs = home.split(".")[0] in ("river", "sklearn")
    return True if theirs or re.fullmatch("set_[a-z_]+_request", name) else None


def setup(app):
    app.connect("autodoc-skip-member", of_the_framework)
