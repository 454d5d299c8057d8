"""The rules by which features are found in code: what a rule is, the built-in ones (YAML), and reading a user's own."""

from __future__ import annotations

from analysis.code.rules.reading import builtin_rules, read_rules
from analysis.code.rules.rule import Feature, Rules, Sign

__all__ = ["Feature", "Rules", "Sign", "builtin_rules", "read_rules"]
