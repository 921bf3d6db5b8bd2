"""The command line: ``main`` is its way in, ``app`` lists the commands, each has a file."""
