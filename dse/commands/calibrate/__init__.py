"""``dse calibrate``: measure, read others' logs, fit, predict, compare."""
