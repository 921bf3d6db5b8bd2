"""Runners: each starts real ranks of one transport and returns its measurements."""
