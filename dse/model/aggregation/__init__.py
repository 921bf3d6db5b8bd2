"""How gradients are summed: one interface (:mod:`.base`), one file a kind."""
