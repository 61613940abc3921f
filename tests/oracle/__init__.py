"""A second, naive Tidelog for the tests: its own form of programs, its own evaluation. It imports nothing of `tidelog`.

| module | turns … into … |
| --- | --- |
| `types`, `program` | (the form itself: values and their types; relations, rules, expressions) |
| `value`, `instances`, `evaluate` | an expression into its value, a rule into its instances, a program into relations |
| `order` | a program into the order in which its relations are computed |
| `algorithm3` | a program, epoch by epoch, into the iteration and the count of every row, as the paper has them |
| `recount` | an exported ranked state into the list of its mistakes |
| `write`, `read` | the form into program text, and back (the core of the language) |
| `history` | (transactions: lists of inserts and deletes) |
| `case` | a program with a history into a script that repeats it |
| `generate`, `shapes`, `expressions` | randomness into a case of the core language |
| `compose`, `vocabulary` | randomness into a case of the wider language, with functions beside their text |
| `shrink` | a failing case into a small failing case |
"""
