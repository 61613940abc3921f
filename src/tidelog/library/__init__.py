"""The standard library: modules of the language (`NAME.dl`), and Python for their extern functions (`NAME.py`).

An extern function is a Python function with the name that the `.dl` file declares, in the Python module of the same
path, marked by `@extern`, or any Python function that the table `EXTERNS` of that module gives this name.
`_runtime/registry.py` finds it by its qualified name.
"""
