"""What holds for all tests."""

from hypothesis import settings

# No test asserts how long anything takes: the machine may be busy.
settings.register_profile("dse", settings(), deadline=None)
settings.load_profile("dse")
