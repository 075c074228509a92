"""What can be said of the site without building it; `make docs` also finds linked headings that are gone."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
AROUND = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "STABILITY.md", "CHANGELOG.md")]
VARIABLE = re.compile(r"KERNELGAUGE_[A-Z]+(?:_[A-Z]+)*")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```", re.MULTILINE | re.DOTALL)
INCLUDED = re.compile(r"^<!-- included: (\S+) -->$", re.MULTILINE)


def test_every_variable_of_the_program_is_documented() -> None:
    files = [p for p in (ROOT / "src").rglob("*") if p.suffix in (".py", ".j2", ".toml", ".md")]
    read = {name for path in files for name in VARIABLE.findall(path.read_text())}
    assert "KERNELGAUGE_CACHE" in read
    assert read == set(VARIABLE.findall((DOCS / "reference" / "environment.md").read_text()))


def test_every_page_is_in_a_list_of_pages() -> None:
    listed = {DOCS / "index.md"}
    for page in PAGES:
        for entries in TOCTREE.findall(page.read_text()):
            names = [line for line in entries.splitlines() if line and not line.startswith(":")]
            found = [path for name in names for path in sorted(page.parent.glob(f"{name}.md"))]
            assert len(found) >= len(names), page
            listed.update(found)
    assert listed == set(PAGES)


@pytest.mark.parametrize("page", [*PAGES, *AROUND], ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_a_file_leads_to_one(page: Path) -> None:
    text = CODE.sub("", FENCE.sub("", page.read_text()))
    links = [link.partition("#")[0] for link in LINK.findall(text) if "://" not in link] + INCLUDED.findall(text)
    assert [link for link in links if link and not (page.parent / link).exists()] == []


def test_a_page_begins_with_its_title() -> None:
    bare = [page for page in PAGES if not page.read_text().startswith("# ") and not INCLUDED.search(page.read_text())]
    assert bare == []
