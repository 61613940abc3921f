"""The stored program of a database: the texts of its files, and the options of compiling them.

So a database can be opened without the files, and a changed program is noticed (`same_program`). The names of the files
are stored too: errors show them, and functions as values are known by their place in them.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from tidelog.database.program.program import Program, compile_source
from tidelog.database.storage.journal import Journal
from tidelog.diagnostics.spans import Source
from tidelog.engine.storage_errors import damaged
from tidelog.rules.lower.checked_arithmetic import WAYS, WRAP
from tidelog.rules.lower.program import FIRST_LAYOUT, Options


@dataclass(frozen=True, slots=True)
class StoredProgram:
    """`texts` and `names` are by module; the main one's name is empty.

    `identity` is the digest that the state was derived under, where the texts were replaced since by others with the
    same meaning; otherwise it is empty.
    """

    texts: Mapping[str, str]
    names: Mapping[str, str]
    keep_duplicates: bool = False
    output_internal: bool = False
    layout: int = FIRST_LAYOUT  # earlier versions did not store it
    identity: str = ""
    overflow: str = WRAP
    dialect: str = ""
    word_bits: int = 32
    macros: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def of(program: Program) -> StoredProgram:
        sources = program.stages.typed.sources
        texts = {module: source.text for module, source in sources.items()}
        names = {module: source.name for module, source in sources.items()}
        options = program._options
        return StoredProgram(
            texts,
            names,
            options.keep_duplicates,
            options.output_internal,
            options.layout,
            dialect=options.dialect,
            word_bits=options.word_bits,
            macros=dict(options.macros),
            overflow=options.overflow,
        )

    @staticmethod
    def of_document(document: dict[str, Any]) -> StoredProgram:
        return StoredProgram(**document)

    def document(self) -> dict[str, Any]:
        """Returns the program as a JSON object; what earlier versions did not know is there only if it is said."""
        made = asdict(self)
        for name, usual in (("identity", ""), ("overflow", WRAP), ("dialect", ""), ("word_bits", 32), ("macros", {})):
            if made[name] == usual:
                del made[name]
        return made

    @property
    def digest(self) -> str:
        """The digest that checkpoints and manifests have for this program: of its texts when the state was made."""
        return self.identity or self.text_digest

    @property
    def text_digest(self) -> str:
        """The hash of texts and options: not of the names of the files, nor of the layout."""
        left_out = ("names", "layout", "identity")
        texts = {name: value for name, value in self.document().items() if name not in left_out}
        return hashlib.sha256(json.dumps(texts, sort_keys=True).encode()).hexdigest()

    def compile(self, externs: Mapping[str, Callable[..., Any]]) -> Program:
        """Compiles the stored texts. Raises UsageError where a function is missing."""
        modules = {module: Source(self.names[module], text) for module, text in self.texts.items()}
        main = modules.pop("")
        options = Options(
            externs,
            self.keep_duplicates,
            self.output_internal,
            self.layout,
            self.overflow,
            self.dialect,
            self.word_bits,
            macros=self.macros,
        )
        return compile_source(main, modules, options)

    def compiled_alike(self, given: StoredProgram) -> bool:
        """True if the same program, given now, has the same names of files and the same layout."""
        return (self.names, self.layout) == (given.names, given.layout)

    def changed_options(self, given: StoredProgram) -> list[str]:
        """Returns two lines for each option that differs."""
        lines = []
        for option in ("keep_duplicates", "output_internal", "overflow", "word_bits", "macros"):
            stored, now = getattr(self, option), getattr(given, option)
            if stored != now:
                lines += [f"-{option}={stored}", f"+{option}={now}"]
        return lines

    def difference(self, given: StoredProgram) -> Iterator[str]:
        """Yields the lines of the difference of options and texts."""
        for line in self.changed_options(given):
            yield f"{line}\n"
        for module in sorted({*self.texts, *given.texts}):
            old, new = (each.texts.get(module, "").splitlines(keepends=True) for each in (self, given))
            names = (f"stored {self.names.get(module, module)}", given.names.get(module, module))
            for line in difflib.unified_diff(old, new, *names, n=1):
                yield line if line.endswith("\n") else f"{line}\n"


def extern_versions(externs: Mapping[str, Callable[..., Any]]) -> dict[str, str]:
    """Returns the declared versions of functions: the attribute `version` of those that have one."""
    return {name: str(function.version) for name, function in externs.items() if hasattr(function, "version")}


def read_stored_program(journal: Journal) -> StoredProgram:
    """Returns the program of a journal. Raises DataError if it is none."""
    found = journal.document("program")
    if (
        not isinstance(found, dict)
        or not {"texts", "names"} <= found.keys() <= {each.name for each in fields(StoredProgram)}
        or not all(_is_texts(found[name]) for name in ("texts", "names"))
        or found["texts"].keys() != found["names"].keys()
        or "" not in found["texts"]
        or not all(type(found.get(name, False)) is bool for name in ("keep_duplicates", "output_internal"))
        or type(found.get("layout", FIRST_LAYOUT)) is not int
        or type(found.get("identity", "")) is not str
        or found.get("overflow", WRAP) not in WAYS
        or type(found.get("dialect", "")) is not str
        or type(found.get("word_bits", 32)) is not int
        or not _is_texts(found.get("macros", {}))
    ):
        raise damaged(journal.directory, "its program is not one that Tidelog writes")
    return StoredProgram.of_document(found)


def _is_texts(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())
