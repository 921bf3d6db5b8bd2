"""Fits: from measurements to the parameters of a profile, with their uncertainty."""
