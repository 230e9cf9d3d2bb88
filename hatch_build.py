"""Build hook: the README's links and the project's URLs, made from one repository address.

The address is `repository` of `[tool.hatch.metadata.hooks.custom]` in pyproject.toml. In the README
of a distribution, relative links become links to the files of the release's tag, which work on a
package index. While the address is empty, the README is unchanged.
"""

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(!?)(\[[^][]*\])\((?!https?:|#)([^)]+)\)")


class ReadmeHook(MetadataHookInterface):
    """Set the README and the URLs."""

    def update(self, metadata: dict[str, object]) -> None:
        """Add the fields to the metadata of the project."""
        address: str = self.config.get("repository", "")
        text = (Path(self.root) / "README.md").read_text("utf-8")
        if address:
            text = absolute_links(text, address, f"v{metadata['version']}")
            metadata["urls"] = {"Repository": address, "Issues": f"{address}/issues"}
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def absolute_links(text: str, address: str, tag: str) -> str:
    """Return a Markdown text with its relative links made absolute; images become raw files."""

    def replace(match: re.Match[str]) -> str:
        kind = "raw" if match[1] else "blob"
        return f"{match[1]}{match[2]}({address}/{kind}/{tag}/{match[3]})"

    return LINK.sub(replace, text)
