"""The guided engine: proposes, learns, and prices whole blocks of points at once.

For spaces too large to enumerate, and for continuous axes. Optuna's ask and tell runs in this
process; what was priced before is answered from a cache.
"""

from dse.search.guided.archive import Archive, Block
from dse.search.guided.engine import Guided
from dse.search.guided.points import Point, Points, continuous_numbers, number_name

__all__ = [
    "Archive",
    "Block",
    "Guided",
    "Point",
    "Points",
    "continuous_numbers",
    "number_name",
]
