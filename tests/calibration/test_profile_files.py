"""Where the file of a profile is looked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.calibration.profile_files import find_profile
from dse.errors import StudyError


def test_profiles_are_found_by_name_or_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shipped = tmp_path / "shipped"
    for folder, name in ((shipped, "polaris"), (shipped, "mine"), (Path("calibrations"), "mine")):
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.yaml").write_text("x")
    assert find_profile("mine", shipped) == Path("calibrations/mine.yaml")
    assert find_profile("polaris", shipped) == shipped / "polaris.yaml"
    assert find_profile("a/b.yaml", shipped) == Path("a/b.yaml")
    with pytest.raises(StudyError, match=r"no calibration profile 'polaros'.*mean polaris"):
        find_profile("polaros", shipped)
    with pytest.raises(StudyError, match="dse calibrate run --name zzz, or use mine, polaris"):
        find_profile("zzz", shipped)
    (tmp_path / "zzz").mkdir()
    with pytest.raises(StudyError, match="zzz: is a folder, and no profile has that name; name a"):
        find_profile("zzz", shipped)
