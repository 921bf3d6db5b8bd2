"""Tests of the catalogue; one file for each module of dse/catalog, and test_data.py for models/."""
