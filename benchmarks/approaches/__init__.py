"""Ways to sum a network's gradients, run for real across the emulated cluster, and modelled."""
