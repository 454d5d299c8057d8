"""What ``init`` writes: a study with a persona, a task and a campaign, each commented, and schemas for editors."""

from __future__ import annotations

import json
import textwrap
import unicodedata
from pathlib import Path

from simulator.definitions.dumping import quote
from simulator.definitions.fields import check_id
from simulator.definitions.schemas import schema_text
from simulator.errors import StorageError, UsageError

__all__ = ["persona_text", "write_new", "write_study"]

_SCHEMA_LINE = "# yaml-language-server: $schema=../schemas/{name}.schema.json\n"

_PERSONA = """\
# A persona: who they are, what they know, how they talk. `description` alone is enough; leave out what does not matter.
# Values are text as you write them: `country: NO` stays NO, an age of 007 stays 007.
id: {id}
name: {name}
role: {role}

# Who they are, in free text. Concrete beats general: what do they do with computers, what do they care about?
description: >
  {description}

# Programs they use, programming languages they know, languages they speak (the first one first).
tools: [Excel, a phone]
languages: []
spoken: [English]

# What they do not know, so that the model does not put it into their mouth.
not_known: [programming, databases]

# How they write, and what they want from software.
communication: Friendly and a little wordy; explains with examples from the shop.
goals:
  - something that works on the shop's old laptop

# Anything else, name and text.
attributes:
  age: 52
"""

_TASK = """\
# A task: a programming request. Personas put `short` into their own words; `prompt` says it in full.
id: opening-hours
title: Opening hours
topic: application development # any topic; tasks are listed by it

# One line, underspecified on purpose: the persona fills in what matters to them.
short: Write code to manage a shop's opening hours

# In full, with the details that set it apart from a textbook exercise. A campaign uses it with `from: prompt`.
prompt: |
  Write a program that keeps a shop's opening hours: weekly hours, exceptions on single days, and hours that cross
  midnight. Given a date and a time in any time zone, it says whether the shop is open and when that changes next.
language: python
tags: [dates, shop]
"""

_CAMPAIGN = """\
# A campaign: who asks for what, which model rewrites, which models write the code.
#   sociolect plan {path}    shows what would be sent, and sends nothing
#   sociolect run {path}     runs it; running again runs what is missing
name: first-campaign
study: personas

# Ids of this study's tasks (tasks/) or of built-in ones (`sociolect task list`).
tasks: [opening-hours, calculator]

prompts:
  from: short # which text of a task is rewritten: short or prompt
  personas: [maria, harold] # ids of this study's personas or of built-in ones (`sociolect persona list`), or all
  iterations: 2 # rewrites of each task by each persona
  model: embedded # needs no key; or mock (for trying out), openai:gpt-4o-mini, ollama:llama3.2, ...
  temperature: 1.0 # rewrites are to differ
  max_tokens: 110

# Prompts that real people wrote, sent as they stand beside the rewrites: CSV or JSONL, a speaker, text and task a row.
# humans:
#   - texts: people.csv # its path from the study's folder
#     columns: {{text: statement}} # the file's own names, where they are others
#     suffix: " (human)" # behind every speaker's name, where it is also a persona's

generate:
  models: [embedded] # a list; each writes code for every sampled rewrite
  sample: 1 # how many of the rewrites, and of a person's texts, code is written for
  repeats: 1 # replies to each of them
  temperature: 0
  max_tokens: 350
  suffix: Answer with one short, complete Python program in a single code block, without any explanation.

# Where every random choice begins: the same seed, the same campaign.
seed: 1
"""

_README = """\
# A Sociolect study

| folder | holds |
| --- | --- |
| `personas/` | people, one YAML file each |
| `tasks/` | programming requests, one YAML file each |
| `campaigns/` | who asks for what, with which models |
| `schemas/` | JSON Schemas, by which an editor with YAML support completes and checks these files |

Run these in this folder:

```
sociolect persona check          # are all personas right?
sociolect plan first-campaign    # what would be sent? Nothing is.
sociolect run first-campaign     # run it, or run on where it stopped
```

A definition of your own goes before a built-in one with the same id.
"""

_MARIA = "Runs a small flower shop with two helpers; does the orders and the accounts herself in the evening, in Excel."


def write_study(folder: Path) -> list[Path]:
    """Write a study that loads and runs; return the files in the order in which they are best read.

    Raises
    ------
    UsageError
        The folder is a file, or one of the files is already there: nothing is written then, and never over a file.
    StorageError
        The disk does not take the files.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file; name a folder for the study.")
    maria = persona_text("maria", name="Maria", role="florist", description=_MARIA)
    files = {
        "README.md": _README,
        "personas/maria.yaml": maria,
        "tasks/opening-hours.yaml": _SCHEMA_LINE.format(name="task") + _TASK,
        "campaigns/first-campaign.yaml": _SCHEMA_LINE.format(name="campaign") + _CAMPAIGN.format(path="first-campaign"),
        "schemas/persona.schema.json": schema_text("persona"),
        "schemas/task.schema.json": schema_text("task"),
        "schemas/campaign.schema.json": schema_text("campaign"),
    }
    there = [name for name in files if (folder / name).exists() or (folder / name).is_symlink()]
    if there:
        raise UsageError(
            f"{folder} already has {', '.join(there)}; nothing was written. Name an empty folder, or move these away."
        )
    for name, text in files.items():
        write_new(folder / name, text, root=folder)
    return [folder / name for name in files]


def write_new(path: Path, text: str, *, root: Path) -> None:
    """Write a file that does not exist yet, inside ``root``, whole or not at all.

    Raises
    ------
    UsageError
        The file is there already, or a link leads it out of ``root``.
    StorageError
        The disk does not take it.
    """
    created = False
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.parent.resolve().is_relative_to(root.resolve()):
            raise UsageError(
                f"{path.parent} is a link that leads out of the study {root}; make it a folder of the study."
            )
        with path.open("x", encoding="utf-8", newline="\n") as stream:
            created = True
            stream.write(text)
    except FileExistsError:
        raise UsageError(
            f"{path} is already there, and is left as it is; choose another name or move it away."
        ) from None
    except (OSError, RuntimeError) as error:
        if created:
            path.unlink(missing_ok=True)
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise StorageError(
            f"{path} cannot be written ({reason}); check the disk's space and the folder's permissions."
        ) from None


def persona_text(
    identifier: str, *, name: str | None = None, role: str | None = None, description: str | None = None
) -> str:
    """Return a commented persona file that is valid as it stands; what is not given is an example to be replaced."""
    return _SCHEMA_LINE.format(name="persona") + _PERSONA.format(
        id=_inline(check_id(identifier)),
        name=_inline(name or unicodedata.normalize("NFC", identifier).replace("-", " ").replace("_", " ").title()),
        role=_inline(role or "owner of a small shop"),
        description=_folded(description or _MARIA),
    )


def _inline(text: str) -> str:
    """Write text in one line, plain where that is safe, else as a JSON string, which is YAML as well."""
    return quote(" ".join(text.split()))


def _folded(text: str) -> str:
    line = " ".join(text.split())
    return "\n  ".join(textwrap.wrap(line, 110, break_long_words=False, break_on_hyphens=False)) or json.dumps(line)
