"""Which of Optuna's samplers proposes points, and why."""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from typing import Any, get_args

from dse.errors import DseError
from dse.study.definition import Sampler

SAMPLERS: tuple[str, ...] = get_args(Sampler)
NAMES = {
    "nsga2": "NSGA-II",
    "nsga3": "NSGA-III",
    "tpe": "TPE",
    "gp": "GP",
    "random": "random",
}
GENETIC = ("nsga2", "nsga3")
POPULATION = 64  # of a genetic sampler, and the points of one block
FEW_TRIALS = 200  # below, TPE learns more from a trial than two generations of NSGA-II would


def choose_sampler(wanted: str, budget: int, objectives: int) -> tuple[str, str]:
    """(sampler, why): by budget and number of objectives, unless one is asked for.

    Raises :class:`DseError` where the GP sampler is asked for and its packages are not installed.
    """
    if wanted == "gp" and not (find_spec("torch") and find_spec("scipy")):
        raise DseError(
            "sampler gp needs torch: in the clone, pip install -e '.[torch]'; or use tpe"
        )
    if wanted != "auto":
        return wanted, "as requested"
    if budget < FEW_TRIALS:
        return "tpe", f"a budget below {FEW_TRIALS} points is less than a few generations"
    if objectives > 2:
        return "nsga3", f"{objectives} objectives need reference directions"
    return "nsga2", f"{objectives} objectives and a budget of {budget:,} points"


def make_sampler(name: str, seed: int) -> Any:
    """The Optuna sampler of that name."""
    from optuna import samplers
    from optuna.exceptions import ExperimentalWarning

    if name == "nsga2":
        return samplers.NSGAIISampler(population_size=POPULATION, seed=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        if name == "nsga3":
            return samplers.NSGAIIISampler(population_size=POPULATION, seed=seed)
        if name == "tpe":
            return samplers.TPESampler(seed=seed, n_startup_trials=20, constant_liar=True)
        if name == "gp":
            return samplers.GPSampler(seed=seed, warn_independent_sampling=False)
        return samplers.RandomSampler(seed=seed)
