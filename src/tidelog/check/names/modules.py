"""The main program → all modules that it needs, each with what it imports.

`import a::b` is the file `a/b.dl` in the directory of the main program, in one of the given directories, or in the
library; exactly one of them may have it. A program that was stored comes with the texts of its modules instead, and no
directory is looked at. Modules may import each other in a circle, but not the main program. The
library's basic modules are imported everywhere. Library modules are read once for all programs of the process, so what
is declared in them must not depend on the program that imports them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import listdir
from os.path import isfile
from pathlib import Path

from tidelog.check.names.scope import Module
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.errors import ProgramError
from tidelog.diagnostics.report import Diagnostic, diagnostic
from tidelog.diagnostics.spans import Source
from tidelog.diagnostics.suggest import suggest
from tidelog.syntax import ast
from tidelog.syntax.parse import parse

LIBRARY = Path(__file__).parents[2] / "library"
EVERYWHERE = ("ddlog_rt", "ddlog_std", "ddlog_bigint", "ddlog_log", "debug", "internment")

SearchPath = Sequence[Path] | Mapping[str, Source]
"""The directories to look for modules in, or the texts of all modules by their names."""

_libraries: dict[Path, dict[str, Module]] = {}


def load(
    program: ast.Program, search_path: SearchPath, diagnostics: list[Diagnostic], library: Path = LIBRARY
) -> list[Module]:
    """Returns the main module and all that it imports, however far; the main one is the last.

    What cannot be found, or does not parse, is reported and left out.
    """
    loading = _Loading(program, search_path, diagnostics, library)
    return [*loading.modules.values(), loading.main]


class _Loading:
    def __init__(
        self, program: ast.Program, search_path: SearchPath, diagnostics: list[Diagnostic], library: Path
    ) -> None:
        self._diagnostics = diagnostics
        self._library = library
        self._known = _libraries.setdefault(library, {})
        self._main_path = _path(program.span.source)
        own = [self._main_path.parent] if self._main_path else []
        self._stored = search_path if isinstance(search_path, Mapping) else {}
        directories = [] if isinstance(search_path, Mapping) else [*reversed(search_path), *own]
        self._search_path = list({path.resolve(): path for path in directories}.values())[::-1]
        self._by_path: dict[Path, Module | None] = {}
        self.modules: dict[str, Module] = {}
        self.main = Module("", program)
        self._import(self.main)

    def _import(self, main: Module) -> None:
        """Follows the imports of all modules, without recursion."""
        waiting = [main]
        while waiting:
            module = waiting.pop()
            if module.is_library and module.imports:
                waiting += self._add([each for each, _ in module.imports])
                continue
            for item in module.program.items:
                if isinstance(item, ast.Import):
                    found = self._find(item, module)
                    if found is not None:
                        module.imports.append((found, item.alias.text if item.alias else None))
            for name in EVERYWHERE:
                found = self._basic(name)
                if found is not None and found is not module and (found, None) not in module.imports:
                    module.imports.append((found, None))
            waiting += self._add([each for each, _ in module.imports])

    def _add(self, modules: list[Module]) -> list[Module]:
        new = [module for module in dict.fromkeys(modules) if module.name not in self.modules]
        self.modules.update((module.name, module) for module in new)
        return new

    def _find(self, item: ast.Import, importer: Module) -> Module | None:
        name = item.module.text
        if name in self._stored and not importer.is_library:
            return self._read(name, Path(self._stored[name].name), item)
        relative = Path(*name.split("::")).with_suffix(".dl")
        directories = [self._library] if importer.is_library else [*self._search_path, self._library]
        # `isfile`, unlike `is_file`, also answers for names that no file can have.
        hits = [path for path in (directory / relative for directory in directories) if isfile(path)]
        if not hits:
            self._unknown(item, directories)
            return None
        if len(hits) > 1:
            self._report(
                item,
                Code.AMBIGUOUS_MODULE,
                f"module `{name}` is in more than one place",
                "which one is meant?",
                notes=[f"one is {'in the library' if self._is_library(hit) else f'`{hit}`'}" for hit in hits],
                help="give one of them another name",
            )
            return None
        if self._main_path is not None and hits[0].resolve() == self._main_path.resolve():
            self._report(item, Code.IMPORTED_MAIN, f"module `{name}` is the main program", "it cannot be imported")
            return None
        return self._read(name, hits[0], item)

    def _basic(self, name: str) -> Module | None:
        path = self._library / f"{name}.dl"
        return self._read(name, path) if name in self._known or path.is_file() else None

    def _read(self, name: str, path: Path, item: ast.Import | None = None) -> Module | None:
        stored = self._stored.get(name)
        is_library = stored is None and self._is_library(path)
        if is_library and name in self._known:
            return self._known[name]
        if path not in self._by_path:
            self._by_path[path] = None
            try:
                program = parse(stored or Source(str(path), path.read_text(encoding="utf-8-sig")))
                self._by_path[path] = Module(name, program, is_library)
            except ProgramError as error:
                self._diagnostics += error.diagnostics
            except (OSError, UnicodeDecodeError) as error:
                self._unreadable(path, error, item)
        module = self._by_path[path]
        if is_library and module is not None:
            self._known[name] = module
        return module

    def _is_library(self, path: Path) -> bool:
        return path.is_relative_to(self._library)

    def _unreadable(self, path: Path, error: OSError | UnicodeDecodeError, item: ast.Import | None) -> None:
        reason = error.strerror if isinstance(error, OSError) else f"byte {error.start} is not UTF-8"
        span = item.module.span if item is not None else self.main.program.span
        message = f"the module {path} cannot be read: {reason}"
        self._diagnostics.append(diagnostic(Code.UNKNOWN_MODULE, message, span, "imported from here"))

    def _unknown(self, item: ast.Import, directories: Sequence[Path]) -> None:
        name = item.module.text
        parent = Path(*name.split("::")[:-1])
        beside = [each for directory in directories for each in _modules_in(directory / parent)]
        guess = suggest(item.module.last, beside)
        scoped = f"{item.module.module}::{guess}" if item.module.module else guess
        self._report(
            item,
            Code.UNKNOWN_MODULE,
            f"there is no module `{name}`",
            "no such module",
            notes=[f"looked for `{Path(*name.split('::')).with_suffix('.dl')}` {_listed(directories, self._library)}"],
            help=f"did you mean `{scoped}`?" if guess else None,
        )

    def _report(
        self,
        item: ast.Import,
        code: Code,
        message: str,
        label: str,
        *,
        notes: Sequence[str] = (),
        help: str | None = None,
    ) -> None:
        self._diagnostics.append(diagnostic(code, message, item.module.span, label, notes=notes, help=help))


def _modules_in(directory: Path) -> list[str]:
    """Returns the names of the modules in a directory; none where there is no such directory."""
    try:
        return [name.removesuffix(".dl") for name in listdir(directory) if name.endswith(".dl")]
    except OSError:
        return []


def _path(source: Source) -> Path | None:
    """Returns the file of a source, or None for a text that has none."""
    return Path(source.name) if source.name.endswith(".dl") else None


def _listed(directories: Sequence[Path], library: Path) -> str:
    named = [f"in `{directory}`" for directory in directories if directory != library]
    return ", ".join([*named, "in the library"])
