"""How fast: `make bench` measures sweeps, workers, evaluations beside other tools, and filters.

Every figure is measured here and now; none is a pass or a fail of the tests.
"""
