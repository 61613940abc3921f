"""Every file and folder that the documentation names exists; `path.py: name` also names something in that file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
NAMED = re.compile(r"`(?P<path>[\w./-]*\w\.(?:py|dl|md|toml)|[\w./-]+/)(?::? ?(?P<name>\w+))?[^`\n]*`")
COMMAND = re.compile(r"(?:python|\$\(PYTHON\)) -m (?P<module>(?:tests|tidelog)[\w.]+)")
LINK = re.compile(r"\]\((?P<target>[^)#:]+)(?:#[\w-]+)?\)")
FOLDERS = {"src", "tests", "docs", "examples", "scripts", *(each.name for each in (ROOT / "src/tidelog").iterdir())}


def candidates(path: str, page: Path) -> list[Path]:
    return [base / path for base in (ROOT, ROOT / "src/tidelog", ROOT / "docs", page.parent)]


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_the_files_that_a_page_names_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    missing = []
    for found in NAMED.finditer(text):
        path, name = found["path"], found["name"]
        if path.split("/")[0] not in FOLDERS or "/" not in path:
            continue
        files = [each for each in candidates(path, page) if each.exists()]
        if not files:
            missing.append(path)
        elif name and files[0].suffix == ".py" and not re.search(rf"\b{name}\b", files[0].read_text()):
            missing.append(f"{path}: {name}")
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_the_modules_and_links_of_a_page_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    modules = {found["module"].rstrip(".").replace(".", "/") for found in COMMAND.finditer(text)}
    lost = [each for each in modules if not any((ROOT / base / f"{each}.py").exists() for base in ("", "src"))]
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    lost += [found["target"] for found in LINK.finditer(text) if not (page.parent / found["target"]).exists()]
    assert lost == []
