"""How a prompt varies: a persona's rewrite, a person's text, what is sent for code, whether a rewrite can be used."""

from simulator.prompts.generate import render_generate
from simulator.prompts.human import draw_texts, human_variants
from simulator.prompts.judge import judge_rewrite
from simulator.prompts.rewrite import TEMPLATE_VARIABLES, find_template_problems, render_rewrite

__all__ = [
    "TEMPLATE_VARIABLES",
    "draw_texts",
    "find_template_problems",
    "human_variants",
    "judge_rewrite",
    "render_generate",
    "render_rewrite",
]
