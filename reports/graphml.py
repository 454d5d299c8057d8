"""The speaker graph as GraphML, for the programs that draw and measure graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from reports.cells import Name, Row, value, whole
from reports.visible import xml_text

__all__ = ["write_graphml"]


def write_graphml(speakers: Sequence[Row], overlap: Sequence[Row], names: Mapping[str, Name], path: Path) -> None:
    """Write the speaker graph as GraphML, which Gephi, Cytoscape, igraph and networkx read.

    Characters that XML cannot hold are written as their code point. Attributes that have no value are left out.

    Parameters
    ----------
    speakers, overlap
        Rows of the two tables.
    names
        How each speaker is shown: the attribute ``label``.
    path
        The file; it is replaced.
    """
    import networkx as nx  # noqa: PLC0415

    graph: nx.Graph[str] = nx.Graph()
    for row in speakers:
        speaker = row["speaker"]
        numbers = {key: whole(row.get(key)) for key in ("texts", "words", "mentions", "entities")}
        label = names[speaker].full if speaker in names else speaker
        graph.add_node(xml_text(speaker), label=xml_text(label), **numbers)
    for row in overlap:
        attributes: dict[str, int | float | str] = {
            "weight": whole(row["shared_entities"]),
            "shared_pairs": whole(row["shared_pairs"]),
            "union_entities": whole(row["union_entities"]),
            "names": xml_text("; ".join(row.get("names") or [])),
        }
        for key in ("jaccard", "expected", "z", "p", "q"):
            found = value(row.get(key))
            if found is not None:
                attributes[key] = found
        graph.add_edge(xml_text(row["a"]), xml_text(row["b"]), **attributes)
    text = "\n".join(nx.generate_graphml(graph)) + "\n"
    path.write_text('<?xml version="1.0" encoding="utf-8"?>\n' + text, encoding="utf-8", newline="\n")
