"""dse: which training cluster, and which way of training on it, buys most speed for the money."""

__version__ = "0.1.0"
