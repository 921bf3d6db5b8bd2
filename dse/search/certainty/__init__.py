"""How sure a recommendation is: the points near the front, priced once per draw."""
