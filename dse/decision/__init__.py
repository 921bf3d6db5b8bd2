"""What to do: the numbers that follow from the outcome of a search."""
