"""``dse calibrate import-throughput``: a profile from rates that the user measured."""

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
            "tokens_per_s_per_gpu, tokens_per_s, step_s, mfu or tflops_per_gpu in place of "
            "samples_per_s; "
            "gpus_per_node where gpus are more than 8; of several gpus how they summed gradients: "
            "aggregation, inter_node or node. Of transformers laid out: stack, sequence, node, the "
            "axes of layouts."
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
    from dse.calibration.throughput_part import Throughput
    from dse.pricing.load import of_layouts
    from dse.pricing.shapes import training_flops
    from dse.pricing.throughput import doubts

    called = file.stem if name is None else name
    arguments.check_profile_name(called)
    path = out / f"{called}.yaml"
    notes = list[str]()
    rates = read_throughput(
        file, of_layouts().own_layouts.refused, training_flops,
        lambda line, said: notes.append(f"note: {file}:{line}: {said}"),
    )  # fmt: skip
    profile = throughput_profile(file, called, rates.values())
    check_writable(out)
    check_replaces_profile(path, rates=True)
    write_profile(profile, path)
    print(*dict.fromkeys(notes), sep="\n", end="\n" * bool(notes), file=sys.stderr)
    for line, rate in rates.items():
        if isinstance(rate, Throughput) and (strange := doubts(rate)):
            print(f"warning: {file}:{line}: {strange}", file=sys.stderr)
    stalled = {one.rate for one in of_layouts(profile).own_layouts.measured if one.out}
    for line, rate in rates.items():
        if rate in stalled:
            told = "left out: its micro-batches take far longer than others of that TP and PP"
            print(f"note: {file}:{line}: {told}, as where a pipeline stalls", file=sys.stderr)
    print(f"wrote {path}: {counted(len(rates), 'rate')}")
