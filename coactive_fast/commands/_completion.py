"""``coactive-fast --print-completion SHELL``: commands, options, learners and files, by shtab."""

import argparse

from coactive_fast.learner._extras import require

from . import _by, _learners

FILES = ("FILE", "MODEL", "OUT", "LOG", "POLICY")


def script(parser, shell):
    """What the shell reads to complete what is typed."""
    shtab = require("shtab", "completion", "--print-completion")
    _mark(parser, shtab)
    return shtab.complete(parser, shell)


def _mark(parser, shtab):
    """Says of each argument what may stand there."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                _mark(command, shtab)
        elif action.dest == "learner":
            action.choices = sorted({*_learners.CLASSES, *_by.CLASSES})
        elif action.metavar in FILES:
            action.complete = shtab.FILE
        elif action.metavar == "DIR":
            action.complete = shtab.DIRECTORY
