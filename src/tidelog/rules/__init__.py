"""Typed program → rules: `compile_rules` runs the whole front end."""

from tidelog.rules.compile_rules import CompiledRules, compile_rules

__all__ = ["CompiledRules", "compile_rules"]
