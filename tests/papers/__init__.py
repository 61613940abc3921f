"""The programs that the papers print, as tests; `docs/papers.md` says what was respelt."""
