"""The extern function of `log`, and who decides what becomes of messages.

Modules have a level and a callback each; those without have the default ones; without any, messages are dropped. The
settings hold for the process.
"""

from __future__ import annotations

from collections.abc import Callable

from tidelog.library._runtime.extern import extern

Callback = Callable[[int, str], None]

_modules: dict[int, tuple[Callback, int]] = {}
_default: tuple[Callback, int] | None = None


@extern
def log(module: int, level: int, message: str) -> tuple[()]:
    setting = _modules.get(module, _default)
    if setting is not None and level <= setting[1]:
        setting[0](level, message)
    return ()


def set_callback(module: int, callback: Callback | None, level: int) -> None:
    """Messages of the module up to this level go to the callback; None takes the module's own setting away."""
    if callback is None:
        _modules.pop(module, None)
    else:
        _modules[module] = callback, level


def set_default_callback(callback: Callback | None, level: int) -> None:
    """The same for all modules without a setting of their own; None drops their messages."""
    global _default
    _default = None if callback is None else (callback, level)
