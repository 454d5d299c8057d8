"""How a prompt varies: a persona's rewrite of a task, what is sent for code, and whether a rewrite can be used."""

from simulator.prompts.generate import render_generate
from simulator.prompts.judge import judge_rewrite
from simulator.prompts.rewrite import TEMPLATE_VARIABLES, find_template_problems, render_rewrite

__all__ = [
    "TEMPLATE_VARIABLES",
    "find_template_problems",
    "judge_rewrite",
    "render_generate",
    "render_rewrite",
]
