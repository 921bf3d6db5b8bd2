"""Tests of the report; documents.py builds the run documents they read."""
