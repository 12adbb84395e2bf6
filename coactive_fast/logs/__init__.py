"""Logs of decisions: what was offered, what was chosen with which probability, what came back.

``BanditLog``  the log itself, checked
``evaluate``   what another policy would have earned in its rounds, with what that is worth
``replay``     a learner lives through those rounds that it would have met
"""

from ._evaluate import Evaluation, RunningValue, evaluate
from ._log import BanditLog
from ._replay import ReplayHistory, replay

__all__ = ["BanditLog", "Evaluation", "ReplayHistory", "RunningValue", "evaluate", "replay"]
