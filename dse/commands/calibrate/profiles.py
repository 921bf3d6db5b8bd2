"""A profile as the user names it, and the options of the commands that predict with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from dse.calibration import Profile

RanksPerNode = Annotated[
    int | None, typer.Option(min=1, help="Ranks on each full node [default: as measured].")
]
Algorithm = Annotated[
    str | None,
    typer.Option(
        help="ring, tree, ..., or auto for the library's own choice [default: what was measured]."
    ),
]
PROFILE = "A profile: its path, or its name in ./calibrations or among those that come with dse."


def named_profile(given: str) -> Profile:
    """A profile by its path, or by its name in ./calibrations or among those that come with dse."""
    from dse import catalog
    from dse.calibration import read_profile
    from dse.calibration.profile_files import find_profile

    return read_profile(find_profile(given, catalog.models_dir() / "calibrations"))


def print_other_parts(profile: Profile) -> None:
    """Print what a profile holds besides allreduce."""
    from dse.calibration.compute_part import compute_text
    from dse.calibration.profile import exchange_text

    for transport, part in profile.ps.items():
        print(f"  ps-{transport}: median error {part.error:.0%} on numbers of workers and servers "
              "left out of the fit")  # fmt: skip
    for operation, exchange in profile.exchanges.items():
        print(f"  {exchange_text(operation, exchange)}")
    for line in map(compute_text, profile.compute):
        print(f"  {line}")
    for rate in profile.throughput:
        print(f"  {rate.what}, {rate.precision}, on {rate.accelerator}: "
              f"{rate.samples_per_s:,.4g} samples/s")  # fmt: skip
    for one in profile.layouts:
        print(f"  {one.workload}, {one.layout}, {one.precision}, on {one.gpus:,} "
              f"{one.node or one.accelerator}: {one.rate:,.4g} {one.rate_of}")  # fmt: skip
