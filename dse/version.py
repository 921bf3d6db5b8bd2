"""The version of dse, which results, reports and measurement files carry."""

__version__ = "0.1.0"
