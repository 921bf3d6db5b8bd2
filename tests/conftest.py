"""What holds for all tests."""

from hypothesis import settings

# No test asserts how long anything takes: the machine may be busy. Each run tries the same inputs;
# `pytest --hypothesis-profile=default` tries others.
settings.register_profile("dse", settings(), deadline=None, derandomize=True)
settings.load_profile("dse")
