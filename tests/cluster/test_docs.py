"""docs/cluster.md: its manifests and scripts, as far as they can be tried without a cluster."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.commands.command import dse

PAGE = Path(__file__).parents[2] / "docs" / "cluster.md"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[str]:
    return [text for name, text in BLOCKS if name == language]


def commands(program: str) -> list[list[str]]:
    """Every command of that program on the page, as words, without comments."""
    lines = "\n".join(blocks("bash")).replace("\\\n", " ").splitlines()
    found = [shlex.split(line, comments=True) for line in lines]
    found.append(shlex.split(job()["spec"]["entrypoint"]))
    return [words[words.index(program) :] for words in found if program in words]


def job() -> dict[str, Any]:
    (text,) = blocks("yaml")
    found: dict[str, Any] = yaml.safe_load(text)
    return found


@cache
def ray_help(command: str) -> str:
    ray = str(Path(sys.executable).with_name("ray"))
    done = subprocess.run(
        [ray, command, "--help"], capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout


def test_the_scripts_are_bash() -> None:
    assert len(blocks("bash")) >= 4
    for text in blocks("bash"):
        done = subprocess.run(
            ["bash", "-n"], input=text, capture_output=True, text=True, timeout=60
        )
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.evidence
def test_the_commands_of_ray_have_these_options() -> None:
    asked = [words[1:] for words in commands("ray")]
    assert {words[0] for words in asked} == {"get-auth-token", "start", "symmetric-run"}
    for command, *words in asked:
        mine = words[: words.index("--")] if "--" in words else words
        for option in (word.partition("=")[0] for word in mine if word.startswith("--")):
            assert f"{option} " in ray_help(command), (command, option)


def test_the_commands_of_dse_have_these_options(tmp_path: Path) -> None:
    known = dse("run", "--help", cwd=tmp_path).stdout
    asked = commands("dse")
    assert len(asked) >= 6
    for program, command, study, *words in asked:
        assert (program, command) == ("dse", "run")
        assert study in ("STUDY", "billion")
        for option in (word for word in words if word.startswith("--")):
            assert f"{option} " in known, option


def test_the_job_is_one_that_kuberay_takes() -> None:
    found = job()
    assert (found["apiVersion"], found["kind"]) == ("ray.io/v1", "RayJob")
    cluster = found["spec"]["rayClusterSpec"]
    groups = [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]
    containers = [group["template"]["spec"]["containers"][0] for group in groups]
    assert len({container["image"] for container in containers}) == 1
    for group in groups:  # what Ray is started with are options of ray start, all of them texts
        assert all(isinstance(value, str) for value in group["rayStartParams"].values())
    for group in cluster["workerGroupSpecs"]:
        assert group["minReplicas"] <= group["replicas"] <= group["maxReplicas"]
    head = cluster["headGroupSpec"]["template"]["spec"]
    claimed = {volume["name"] for volume in head["volumes"]}
    mounted = {mount["name"]: mount["mountPath"] for mount in containers[0]["volumeMounts"]}
    assert set(mounted) == claimed
    words = shlex.split(found["spec"]["entrypoint"])
    assert words[words.index("--out") + 1].startswith(f"{mounted['reports']}/")
    assert "--resume" in words  # or a second try would begin anew


def test_one_version_of_ray_is_spoken_of() -> None:
    (image,) = blocks("dockerfile")
    versions = set(re.findall(r"rayproject/ray:([\d.]+)-", image))
    versions |= set(re.findall(r"ray\[client\]==([\d.]+)", TEXT))
    versions.add(job()["spec"]["rayClusterSpec"]["rayVersion"])
    assert len(versions) == 1
