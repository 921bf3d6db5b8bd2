"""How sure the answer of a run is: in its document, in words, and as a chart."""
