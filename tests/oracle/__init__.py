"""A second, naive Tidelog for the tests: its own form of programs, its own evaluation. It imports nothing of `tidelog`.

| module | turns … into … |
| --- | --- |
| `program` | (the form itself: relations, rules, expressions) |
| `evaluate` | a program and its facts into its relations, round by round |
| `recount` | an exported ranked state into the list of its mistakes |
| `write`, `read` | the form into program text, and back |
| `history` | (transactions: lists of inserts and deletes) |
| `case` | a program with a history into a script that repeats it |
| `generate`, `shapes`, `expressions` | randomness into a case |
| `shrink` | a failing case into a small failing case |
"""
