"""``dse calibrate``: measure, read others' logs, fit, predict, compare; each command is a file."""
