"""``make matrix``: the wheel in empty environments, with the oldest and newest supported versions.

The wheel is built from the source distribution, as installers elsewhere would, and twine checks both.  Four
environments then try it: the oldest and the newest Python that is here, each with the oldest and the newest
versions of what Fyke depends on.  In each one ``scripts/try_wheel.py`` runs in an empty folder with nothing
else installed, and then the golden cases.  The exit code is 0 if all environments pass.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import tomllib

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "matrix"
DECLARED = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TESTS = ("tests/golden", "tests/test_errors.py")
TEST_TOOLS = ("pytest>=8.3", "pytest-timeout>=2.3", "hypothesis>=6.112")
OF_SPARK = ("pyspark", "pyarrow")


@dataclass(frozen=True, slots=True)
class Environment:
    """A Python and the requirements that narrow what is installed beside the wheel."""

    name: str
    version: str
    python: Path
    narrowed: tuple[str, ...]


def declared_pythons() -> list[str]:
    """Return the versions of Python that the package says it runs on, oldest first."""
    found = re.findall(r"Python :: (3\.\d+)", "\n".join(DECLARED["classifiers"]))
    return sorted(found, key=_number)


def oldest(requirement: str) -> str:
    """Return the requirement for the lowest version that another one allows.

    >>> oldest("pandas>=2.2,<3")
    'pandas==2.2.*'
    """
    name, bound = re.match(r"([\w-]+)>=([\d.]+)", requirement).groups()
    return f"{name}=={bound}.*"


def here(versions: Sequence[str]) -> Mapping[str, Path]:
    """Return which of some versions of Python are on this machine: on the PATH, or as pyenv keeps them."""
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found: dict[str, Path] = {}
    for version in versions:
        places = [*sorted(kept.glob(f"{version}.*/bin/python{version}")), shutil.which(f"python{version}")]
        for place in filter(None, places):
            asked = run([place, "-c", "import sys, venv; print('%d.%d' % sys.version_info[:2])"], check=False)
            if asked.stdout.strip() == version:
                found[version] = Path(place)
    return found


def environments(pythons: Mapping[str, Path]) -> list[Environment]:
    """Return the corners: oldest and newest Python, each with the oldest and the newest dependencies.

    A new Python has no old numpy or numba, so there only pyspark and pyarrow are the oldest ones.
    """
    first, last = min(pythons, key=_number), max(pythons, key=_number)
    lowest = tuple(oldest(each) for each in DECLARED["dependencies"])
    of_spark = tuple(each for each in lowest if each.startswith(OF_SPARK))
    corners = [
        Environment(f"Python {first}, oldest of all", first, pythons[first], lowest),
        Environment(f"Python {first}, newest of all", first, pythons[first], ()),
        Environment(f"Python {last}, oldest pyspark and pyarrow", last, pythons[last], of_spark),
        Environment(f"Python {last}, newest of all", last, pythons[last], ()),
    ]
    return list({(each.version, each.narrowed): each for each in corners}.values())


def run(
    command: Sequence[object], *, check: bool = True, folder: Path = ROOT
) -> subprocess.CompletedProcess[str]:
    """Run a command without what this environment brings along; print what it printed if it fails."""
    plain = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    plain |= {"NUMBA_CACHE_DIR": str(WORK / "kernels"), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    done = subprocess.run(
        [str(each) for each in command], capture_output=True, text=True, check=False, cwd=folder, env=plain
    )
    if check and done.returncode:
        sys.stdout.write(done.stdout + done.stderr)
        raise SystemExit(f"{' '.join(map(str, command))}: exit code {done.returncode}")
    return done


def new_environment(python: Path, name: str, *requirements: object) -> Path:
    """Make an environment anew and return its Python."""
    folder = WORK / name
    shutil.rmtree(folder, ignore_errors=True)
    run([python, "-m", "venv", folder])
    inside = folder / "bin" / "python"
    run([inside, "-m", "pip", "install", "--quiet", "--upgrade", "pip"])
    run([inside, "-m", "pip", "install", "--quiet", *requirements])
    return inside


def built() -> Path:
    """Build the source distribution and the wheel, have twine check both, and return the wheel."""
    tools = new_environment(Path(sys.executable), "tools", "build", "twine")
    packages = WORK / "dist"
    shutil.rmtree(packages, ignore_errors=True)
    run([tools, "-m", "build", "--outdir", packages, ROOT])
    files = sorted(packages.iterdir())
    run([tools, "-m", "twine", "check", "--strict", *files])
    print(f"built, and twine has nothing to say: {', '.join(each.name for each in files)}", flush=True)
    return next(each for each in files if each.suffix == ".whl")


def problems(environment: Environment, wheel: Path) -> Iterator[str]:
    """Try the wheel in an environment; yield what is wrong."""
    name = re.sub(r"\W+", "-", environment.name.lower())
    python = new_environment(environment.python, name, wheel, *environment.narrowed)
    empty = WORK / f"{name}-empty"
    shutil.rmtree(empty, ignore_errors=True)
    empty.mkdir()
    tried = run([python, ROOT / "scripts" / "try_wheel.py"], check=False, folder=empty)
    print(tried.stdout, end="")
    if tried.returncode:
        yield tried.stderr
        return
    run([python, "-m", "pip", "install", "--quiet", *TEST_TOOLS])
    tests = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not spark and not long"]
    tested = run([*tests, *TESTS], check=False)
    print(f"  {' and '.join(TESTS)}: {(tested.stdout.strip().splitlines() or ['nothing'])[-1]}")
    if tested.returncode:
        yield tested.stdout + tested.stderr


def _number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def main() -> int:
    """Run the matrix; return the exit code."""
    parser = argparse.ArgumentParser(prog="scripts/matrix.py", description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="environments whose names contain this, such as 3.10")
    chosen = parser.parse_args()
    versions = declared_pythons()
    pythons = here(versions)
    print(f"here: Python {', '.join(pythons) or 'none that is supported'}")
    missing = [each for each in versions if each not in pythons]
    if missing:
        print(f"not here, and not tried: Python {', '.join(missing)}")
    if not pythons:
        return 1
    wheel, wrong = built(), []
    for environment in environments(pythons):
        if chosen.only not in environment.name:
            continue
        print(f"{environment.name}", flush=True)
        begin, found = time.monotonic(), list(problems(environment, wheel))
        print("".join(found), end="")
        print(f"  {'FAILED' if found else 'passed'} in {time.monotonic() - begin:.0f} s", flush=True)
        wrong += [environment.name] if found else []
    print(f"FAILED: {'; '.join(wrong)}" if wrong else "all environments passed")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
