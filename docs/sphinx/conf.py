"""Sphinx over the pages and the docstrings: ``sphinx-build -W -c docs/sphinx docs docs/_build``."""

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
