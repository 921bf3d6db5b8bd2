"""Transformers laid out over many accelerators: where ranks stand, what they compute and send."""
