"""How many samples training takes to a given quality, by the samples of a step.

    E(B) = max(E_min (1 + B / B_crit), B)

Steps of few samples learn as much from each; of steps of many, samples tell in part the same:
McCandlish et al. (2018), An Empirical Model of Large-Batch Training, section 2.3, with E samples in
all and B in a step. At the critical batch a run takes twice the least samples. A run of a given
number of samples has no critical batch (infinite), and takes as many at every B. Nothing is
learned before a step is complete, so that every run takes at least one.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from dse.model.arrays import Array, ArrayLike, Mask


@dataclass(frozen=True)
class Convergence:
    """The samples of a run. least_samples: E_min, in samples; critical_batch: B_crit, in samples a
    step; each a number, or an array that broadcasts against batches, such as draws. fitted: the
    least and the largest batch that E was observed at."""

    least_samples: ArrayLike
    critical_batch: ArrayLike = inf
    fitted: tuple[float, float] = (0.0, inf)

    def samples(self, global_batch: ArrayLike) -> Array:
        """Samples to the quality, of the shape that the arguments broadcast to."""
        return np.asarray(np.maximum(self.learned_from(global_batch), global_batch))

    def learned_from(self, global_batch: ArrayLike) -> Array:
        """The same as if steps could be parted, ``E_min (1 + B / B_crit)``."""
        return np.asarray(self.least_samples * (1 + global_batch / np.asarray(self.critical_batch)))

    def beyond(self, global_batch: ArrayLike) -> Mask:
        """Whether a batch lies outside of those that were observed."""
        least, largest = self.fitted
        batch = np.asarray(global_batch)
        return np.asarray((batch < least) | (batch > largest))
