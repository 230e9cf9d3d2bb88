"""Programs and exercises in the reader's browser: add the scripts and the package to the site.

Python for the browser, Pyodide, is loaded from the address `extra.pyodide.base` of mkdocs.yml, and
the package from an archive on the site.
"""

import io
from html import escape
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from lessons import BAR
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from mkdocs.utils import get_relative_url

from minispore._course.playground import part

# The scripts, and the classes with which lessons.py marks a program, exercises.py an exercise,
# playground.py its form, killing.py its
# training and figures.py a figure. Each script uses what those above it have made.
KEYS = "assets/editor.js"
SCRIPTS = {
    KEYS: ('class="program ', 'class="exercise"', 'class="playground"'),
    "assets/run.js": ('class="program ', 'class="exercise"', 'class="playground"'),
    "assets/exercise.js": ('class="exercise"',),
    "assets/kill.js": ('class="kill"',),
    "assets/frames.js": ('class="frames"',),
    "assets/slides.js": ('class="exercise"',),  # measures what the others have made
}
ARCHIVE = "assets/minispore.zip"
# Pure Python packages that Pyodide does not always include.
PACKAGES = ("minispore", "tqdm")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the archive to the site, and the script that `minispore play` also uses."""
    files.append(File.generated(config, KEYS, content=part("editor.js")))
    files.append(File.generated(config, ARCHIVE, content=archive(PACKAGES)))
    return files


def on_page_content(html: str, page: Page, config: MkDocsConfig, **_: object) -> str:
    """Add the scripts to a page that contains programs or an exercise."""
    options: dict[str, str] = config.extra["pyodide"] | {"bar": BAR.pattern}
    data = " ".join(f'data-{key}="{escape(value)}"' for key, value in options.items())
    scripts = [
        f'<script defer src="{get_relative_url(script, page.url)}" {data}></script>'
        for script, marks in SCRIPTS.items()
        if any(mark in html for mark in marks)
    ]
    return "\n".join([html, *scripts])


def archive(packages: tuple[str, ...]) -> bytes:
    """Return a zip archive of installed packages, without bytecode."""
    content = io.BytesIO()
    with ZipFile(content, "w", ZIP_DEFLATED) as zipped:
        for package in packages:
            spec = find_spec(package)
            assert spec is not None
            assert spec.origin is not None
            folder = Path(spec.origin).parent
            for path in sorted(folder.rglob("*")):
                if path.is_file() and "__pycache__" not in path.parts:
                    # Without a time stamp, so that the archive is reproducible.
                    entry = ZipInfo(path.relative_to(folder.parent).as_posix())
                    entry.compress_type = ZIP_DEFLATED
                    zipped.writestr(entry, path.read_bytes())
    return content.getvalue()
