"""The extern function of `log`, and the callbacks for its messages.

A module has its own level and callback, or the default ones; without any, messages are dropped. The settings hold for
the process.
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
    """Sends messages of the module up to this level to the callback; None removes the module's own setting."""
    if callback is None:
        _modules.pop(module, None)
    else:
        _modules[module] = callback, level


def set_default_callback(callback: Callback | None, level: int) -> None:
    """Sends messages of all modules without their own setting to the callback; None drops them."""
    global _default
    _default = None if callback is None else (callback, level)
