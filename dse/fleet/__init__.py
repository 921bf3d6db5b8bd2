"""Many jobs at once: a population's time, what hardware and architecture would change, and money.

The model is the PAI paper's (:mod:`dse.model.pai`), on arrays of all jobs of a class.
"""

from dse.fleet.answers import answer
from dse.fleet.breakdown import breakdown, priced
from dse.fleet.document import from_plain, plain
from dse.fleet.job_table import read_table
from dse.fleet.reader import read_fleet
from dse.fleet.recipe import draw, population_path, read_recipe

__all__ = [
    "answer",
    "breakdown",
    "draw",
    "from_plain",
    "plain",
    "population_path",
    "priced",
    "read_fleet",
    "read_recipe",
    "read_table",
]
