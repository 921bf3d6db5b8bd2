"""Planning of measurements: what to measure next, for which gain."""
