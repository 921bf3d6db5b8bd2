"""Words of the field, as the page explains them: on hover where they stand, and in a list."""

from __future__ import annotations

from dse.study.axes import ROWS, spoken

# Beside the axes; each in words that a buyer knows.
_OTHERS = {
    "baseline": "What the study compares with, usually what you have today.",
    "calibration": "Fitting the model to times that were measured on real machines.",
    "cost of ownership": "The price spread over the hours of its years in which the machines are "
    "busy, and their electricity: an hour costs more where they stand idle in others.",
    "feasible": "Meets every limit of the study.",
    "front": "The choices worth considering: nothing is better than one of them in every respect.",
    "global batch": "How many samples all accelerators together work on in a step.",
    "parameter server": "A server that collects the gradients of all accelerators and adds them.",
    "PUE": "All electricity of a data centre over that of its computers; the rest is cooling.",
    "speedup": "Samples trained per second, over those of the baseline. In a study with a target "
    "the baseline's time to the target over that of the point.",
    "step": "One round of training: every accelerator computes, then all exchange gradients.",
    "time to target": "How long a run takes: the start-up of machines that are rented for it, the "
    "training, and what failures and checkpoints take. Delivery is not in it.",
    "90 % interval": "The true value lies in it with a probability of 90 %, if the model's errors "
    "are as they were where they could be checked.",
}  # fmt: skip
_ALL = {spoken(row.name): row.meaning for row in ROWS if row.meaning} | _OTHERS
WORDS = dict(sorted(_ALL.items(), key=lambda one: (one[0][0].isdigit(), one[0].lower())))
