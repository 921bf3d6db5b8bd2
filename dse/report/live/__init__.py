"""The exact front of a study as somebody changes it: fewer values, other limits, prices, rule.

What is asked is checked here and told in one line; every answer searches the whole space again. Of
a continuous axis the values that are listed are tried, and none between them.
"""

from dse.report.live.answer import Answer, Found, search, words_of
from dse.report.live.changes import changed
from dse.report.live.draws import Chances, chances
from dse.report.live.prices import prices_of
from dse.report.live.questions import LIVE_RULES, Question, Refused, Superseded, question
from dse.report.live.values import axes, ranges

__all__ = [
    "LIVE_RULES",
    "Answer",
    "Chances",
    "Found",
    "Question",
    "Refused",
    "Superseded",
    "axes",
    "chances",
    "changed",
    "prices_of",
    "question",
    "ranges",
    "search",
    "words_of",
]
