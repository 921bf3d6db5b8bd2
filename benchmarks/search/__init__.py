"""How good the guided search is, beside others, at equal numbers of evaluations."""
