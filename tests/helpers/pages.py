"""The pages of the documentation."""

from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def english_pages(pattern: str) -> list[Path]:
    """Return the pages that match a pattern, without translations: these have the same programs."""
    return sorted(page for page in DOCS.glob(pattern) if not page.name.endswith(".zh.md"))
