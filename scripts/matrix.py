"""``make matrix``: the wheel in empty environments, with the oldest and newest supported versions.

The wheel is built from the source distribution, as installers elsewhere would, and twine checks both.  Four
environments then try it: the oldest and the newest Python that the package declares, each with the oldest and
the newest versions of what Fyke depends on.  In each one ``scripts/try_wheel.py`` runs in an empty folder,
with nothing else installed, and then the golden cases.  The exit code is 0 if all environments pass; one
whose Python is not on this machine fails.
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
    """A version of Python and the requirements that narrow what is installed beside the wheel."""

    name: str
    version: str
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


def environments(versions: Sequence[str]) -> list[Environment]:
    """Return the corners: oldest and newest Python, each with the oldest and the newest dependencies.

    A new Python has no old numpy or numba, so there only pyspark and pyarrow are the oldest ones.
    """
    first, last = versions[0], versions[-1]
    lowest = tuple(oldest(each) for each in DECLARED["dependencies"])
    of_spark = tuple(each for each in lowest if each.startswith(OF_SPARK))
    return [
        Environment(f"Python {first}, oldest of all", first, lowest),
        Environment(f"Python {first}, newest of all", first, ()),
        Environment(f"Python {last}, oldest pyspark and pyarrow", last, of_spark),
        Environment(f"Python {last}, newest of all", last, ()),
    ]


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


def problems(environment: Environment, python: Path | None, wheel: Path) -> Iterator[str]:
    """Try the wheel in an environment of a Python; yield what is wrong."""
    if python is None:
        yield f"  Python {environment.version} is not on this machine\n"
        return
    name = re.sub(r"\W+", "-", environment.name.lower())
    python = new_environment(python, name, wheel, *environment.narrowed)
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the matrix; return the exit code."""
    parser = argparse.ArgumentParser(prog="scripts/matrix.py", description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="environments whose names contain this, such as 3.10")
    only = parser.parse_args(arguments).only
    versions = declared_pythons()
    chosen = [each for each in environments(versions) if only in each.name]
    if not chosen:
        parser.error(f"no environment has {only!r} in its name")
    pythons = here(versions)
    print(f"here: Python {', '.join(pythons) or 'none that is supported'}")
    wheel, wrong = built(), []
    for environment in chosen:
        print(f"{environment.name}", flush=True)
        begin = time.monotonic()
        found = list(problems(environment, pythons.get(environment.version), wheel))
        print("".join(found), end="")
        print(f"  {'FAILED' if found else 'passed'} in {time.monotonic() - begin:.0f} s", flush=True)
        wrong += [environment.name] if found else []
    print(f"FAILED: {'; '.join(wrong)}" if wrong else f"passed: {'; '.join(each.name for each in chosen)}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
