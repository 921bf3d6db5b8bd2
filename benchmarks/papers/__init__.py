"""What papers published, beside what dse computes; ``python -m benchmarks.papers`` writes it."""
