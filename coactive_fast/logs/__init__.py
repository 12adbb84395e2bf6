"""Logs of decisions: what was offered, what was chosen with which probability, what came back.

``BanditLog``  the log itself, checked
"""

from ._log import BanditLog

__all__ = ["BanditLog"]
