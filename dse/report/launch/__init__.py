"""A point of a front as what starts it: a SkyPilot task, an sbatch script, a torchrun command."""

from dse.report.launch.files import FORMATS, launch_file

__all__ = ["FORMATS", "launch_file"]
