"""``dse calibrate import-throughput``: a profile from samples/s that the user measured."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def import_throughput(
    file: Annotated[
        Path,
        typer.Argument(
            help="Table with a row for each rate: workload, accelerator, samples_per_s, precision, "
            "batch_per_gpu, and where they differ from 1 and vendor gpus, stack, accumulation; "
            "gpus_per_node where gpus are more than 8; of several gpus how they summed gradients: "
            "aggregation, inter_node or node."
        ),
    ],
    name: Annotated[
        str | None, typer.Option(help="Name of the profile [default: that of FILE].")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the profile.")] = Path("calibrations"),
) -> None:
    """Make a profile of training rates that you measured yourself.

    Studies that name it predict training like yours by them. A rate that is possible but strange
    is written all the same, and said on stderr. A table of two lines:

    workload,accelerator,samples_per_s,precision,batch_per_gpu,gpus,aggregation

    bert-large-s128,a100-sxm4-40gb,1950,fp16,64,8,ring-nccl
    """
    import sys

    from dse.calibration import arguments, write_profile
    from dse.calibration.files import check_writable
    from dse.calibration.importers.logs import counted
    from dse.calibration.importers.throughput import read_throughput, throughput_profile
    from dse.calibration.profile_files import check_replaces_profile
    from dse.pricing.rate_doubts import doubts

    called = file.stem if name is None else name
    arguments.check_profile_name(called)
    path = out / f"{called}.yaml"
    profile = throughput_profile(file, called)
    check_writable(out)
    check_replaces_profile(path, rates=True)
    write_profile(profile, path)
    for line, rate in read_throughput(file).items():
        if strange := doubts(rate):
            print(f"warning: {file}:{line}: {strange}", file=sys.stderr)
    print(f"wrote {path}: {counted(len(profile.throughput), 'rate')}")
