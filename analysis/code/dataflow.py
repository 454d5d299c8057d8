"""Where the values of a Python program come from: the data flow of CodeBLEU, in the order of the text.

An item says of one token from which names its value comes (an occurrence of a name from the last ones before it) or is
computed (the target of an assignment from all names and literals on the right). Names are then numbered in the order in
which they appear in the items, so that two programs that differ in names alone have equal items.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from analysis.code.published_leaves import read_leaves

if TYPE_CHECKING:
    from analysis.code.syntax_tree import SyntaxTree

__all__ = ["DataFlowError", "Flow", "list_flows"]

Flow = tuple[int, bool, tuple[int, ...]]
"""A name's number, whether its value is computed, and the numbers of the names that it comes from."""

_MOST_STEPS = 2_000_000
_TARGETS = frozenset({"assignment", "augmented_assignment", "for_in_clause"})
_BRANCHES = frozenset({"elif_clause", "else_clause"})
_LISTS = frozenset(
    {"pattern_list", "tuple_pattern", "list_pattern", "expression_list", "tuple", "list", "parenthesized_expression"}
)
_PARAMETERS = frozenset({"default_parameter", "typed_default_parameter"})
_SPLATS = frozenset({"typed_parameter", "list_splat_pattern", "dictionary_splat_pattern"})

_Places = tuple[int, ...]
_Changes = dict[str, _Places | None]


class DataFlowError(Exception):
    """The data flow takes too many steps, or, in the published way, meets what ends the published program."""


def list_flows(tree: SyntaxTree, *, published: bool = False) -> list[Flow]:
    r"""Return the data flow of a Python program, in the order of its tokens.

    Parameters
    ----------
    tree
        Of any depth.
    published
        As both published programs, faults included: names of one function flow into the next, ``for a, b in zip(x, y)``
        pairs ``a`` with ``zip``, the body of a loop with an ``else`` is left out, an f-string hides its names, a line
        that is not ASCII has shifted tokens, and ``a.b = "c"`` ends it all. What those leave to the hash seed, the
        order of names that come from several places, is that of first occurrence.

    Raises
    ------
    DataFlowError
        More than two million steps; in ``published`` also where the published program breaks off.

    References
    ----------
    D. Guo et al., "GraphCodeBERT: Pre-training Code Representations with Data Flow", ICLR 2021.
    https://arxiv.org/abs/2009.08366

    Examples
    --------
    >>> from analysis.code.syntax_tree import parse_syntax
    >>> list_flows(parse_syntax("x = 1\ny = x + x\n", "python"))
    [(1, True, (0,)), (0, False, ()), (2, True, (1,)), (1, False, (1,)), (1, False, (1,))]
    """
    walk = _Walk(tree, published=published)
    walk.run()
    return _number(walk.items)


def _number(items: dict[int, _Item]) -> list[Flow]:
    """Leave out tokens with no flow from or to them, and give names their numbers."""
    linked = {place for item in items.values() for place in item.places}
    linked.update(place for place, item in items.items() if item.places)
    numbers: dict[str, int] = {}
    flows: list[Flow] = []
    for place in sorted(linked & items.keys()):
        item = items[place]
        names = dict.fromkeys(item.names) if item.merged else item.names
        sources = tuple([numbers.setdefault(name, len(numbers)) for name in names])
        flows.append((numbers.setdefault(item.name, len(numbers)), item.computed, sources))
    return flows


class _Item:
    """What is known of one token: its name, and the names and places that its value comes from."""

    __slots__ = ("computed", "merged", "name", "names", "places")

    def __init__(self, name: str, names: list[str], places: _Places, *, computed: bool, merged: bool) -> None:
        self.name, self.names, self.places, self.computed, self.merged = name, names, places, computed, merged


class _Walk:
    """A walk through a program with its own stack: every entry is a method and what it is called with."""

    def __init__(self, tree: SyntaxTree, *, published: bool) -> None:
        self.tree = tree
        self.published = published
        self.steps = 0
        self.items: dict[int, _Item] = {}
        self.known: dict[str, _Places] = {}  # where each name got its value last
        self.log: list[tuple[str, _Places | None]] = []  # what each change of `known` replaced
        self.loops = 0
        self.stack: list[tuple[Callable[..., None], tuple[Any, ...]]] = [(self.visit, ([0],))]
        self.passed: dict[tuple[int, tuple[_Places | None, ...]], _Changes] = {}
        self.names_in: dict[int, list[str]] = {}
        self.skipped = frozenset[int]() if published else tree.skipped
        if published:
            self.leaves, self.names, self.places, self.varies = read_leaves(tree)
        else:
            self.leaves = tree.leaves
            self.names = tree.texts(tree.leaves)
            self.places = list(range(len(self.leaves)))
            self.varies = [tree.named[leaf] for leaf in self.leaves]
        self.rules: dict[str, Callable[[int], None]] = {
            **dict.fromkeys(_TARGETS, self.assign),
            "default_parameter": self.take_default,
            "if_statement": self.branch,
            "for_statement": self.begin_loop,
            "while_statement": self.begin_loop,
        }
        if not published:
            self.rules |= {"function_definition": self.enter_function, "lambda": self.enter_function}
        self.comprehends = "for_in_clause" in tree.kinds
        self.silent = {leaf for leaf, varies in zip(self.leaves, self.varies, strict=True) if not varies}
        self.leaf_at = {leaf: number for number, leaf in enumerate(self.leaves)}

    def run(self) -> None:
        stack = self.stack
        while stack:
            self.steps += 1
            if self.steps > _MOST_STEPS:
                raise DataFlowError
            act, arguments = stack.pop()
            act(*arguments)

    def spend(self, steps: int) -> None:
        self.steps += steps
        if self.steps > _MOST_STEPS:
            raise DataFlowError

    def visit_all(self, nodes: list[int]) -> None:
        self.stack.append((self.visit, (nodes[::-1],)))

    # What is known of names, with a way back.

    def learn(self, name: str, places: _Places | None) -> None:
        self.log.append((name, self.known.get(name)))
        if places is None:
            self.known.pop(name, None)
        else:
            self.known[name] = places

    def go_back(self, mark: int) -> _Changes:
        """Undo all changes since a mark and return them."""
        changed: _Changes = {name: self.known.get(name) for name, _ in self.log[mark:]}
        self.spend(len(self.log) - mark)
        while len(self.log) > mark:
            name, before = self.log.pop()
            if before is None:
                self.known.pop(name, None)
            else:
                self.known[name] = before
        return changed

    def leave_scope(self, mark: int) -> None:
        self.go_back(mark)

    # Items.

    def add(self, leaf: int, names: list[str], places: _Places, *, computed: bool) -> None:
        self.spend(1 + len(names))
        place = self.places[leaf]
        item = self.items.get(place)
        if item is None:
            merged = self.loops > 0 or not self.published
            self.items[place] = _Item(self.names[leaf], names, places, computed=computed, merged=merged)
        elif not item.merged or not set(names) <= set(item.names) or not set(places) <= set(item.places):
            item.names = list(dict.fromkeys([*item.names, *names]))
            item.places = tuple(dict.fromkeys([*item.places, *places]))
            item.merged = True

    def variables(self, node: int) -> list[int]:
        """Return the numbers of the leaves under a node that have a name or are a value."""
        begin, end = bisect_left(self.leaves, node), bisect_left(self.leaves, self.tree.after[node])
        if begin == end:
            self.refuse_within_text(node)
        return [leaf for leaf in range(begin, end) if self.varies[leaf]]

    def refuse_within_text(self, node: int) -> None:
        """Break off where the published program asks for a token that is only a part of a string."""
        if self.published and self.tree.after[node] == node + 1 and self.tree.kinds[node] != "comment":
            raise DataFlowError

    # The grammar.

    def visit(self, waiting: list[int]) -> None:
        """Visit nodes, the last one first, up to one that has a rule of its own; what is left waits until after it."""
        kinds, after = self.tree.kinds, self.tree.after
        leaf_at, silent, skipped, rules = self.leaf_at, self.silent, self.skipped, self.rules
        while waiting:
            self.steps += 1
            node = waiting.pop()
            leaf = leaf_at.get(node)
            if leaf is not None:
                self.use(leaf)
            elif node not in skipped:
                rule = rules.get(kinds[node])
                if rule is not None:
                    self.stack.append((self.visit, (waiting,)))
                    rule(node)
                    return
                self.refuse_within_text(node)
                children = []
                child, end = node + 1, after[node]
                while child < end:
                    if child not in silent:
                        children.append(child)
                    child = after[child]
                if self.comprehends and len(children) > 1:
                    children.sort(key=lambda child: kinds[child] != "for_in_clause")
                waiting += children[::-1]

    def begin_loop(self, node: int) -> None:
        self.loops += 1
        self.stack += [(self.leave_loop, ()), (self.pass_loop, (node,)), (self.pass_loop, (node,))]

    def use(self, leaf: int) -> None:
        if not self.varies[leaf]:
            return
        name = self.names[leaf]
        places = self.known.get(name)
        if places is not None:
            self.add(leaf, [name], places, computed=False)
            self.spend(len(places))
            return
        if self.tree.kinds[self.leaves[leaf]] == "identifier":
            self.learn(name, (self.places[leaf],))
        self.add(leaf, [], (), computed=False)

    def take_default(self, node: int) -> None:
        name, value = self.tree.child(node, "name"), self.tree.child(node, "value")
        if name is None:
            if self.published:
                raise DataFlowError
            return
        self.stack.append((self.bind_default, (name, value)))
        if value is not None:
            self.stack.append((self.visit, ([value],)))

    def bind_default(self, name: int, value: int | None) -> None:
        sources = [] if value is None else self.variables(value)
        for leaf in self.variables(name):
            if value is None:
                self.add(leaf, [], (), computed=False)
            for source in sources:
                self.add(leaf, [self.names[source]], (self.places[source],), computed=False)
            self.learn(self.names[leaf], (self.places[leaf],))

    def assign(self, node: int) -> None:
        left, right = self.tree.child(node, "left"), self.tree.child(node, "right")
        if self.tree.kinds[node] == "for_in_clause":
            right = max(self.tree.children(node)) if self.published else right
            self.bind(left, right, [])
        elif right is not None:
            self.bind(left, right, None)

    def bind(self, left: int | None, right: int | None, parts: list[tuple[int, int]] | None) -> None:
        """Visit what is on the right, and then let what is on the left be computed from it, part by part."""
        if left is None or right is None:
            if self.published:
                raise DataFlowError
            return
        pairs = (self.split(left, right) if parts is None else parts) or [(left, right)]
        self.stack.append((self.compute, (pairs,)))
        self.visit_all([source for _, source in pairs])

    def split(self, left: int, right: int) -> list[tuple[int, int]]:
        """Return which part of the left goes with which of the right, where they have equally many."""
        kinds = self.tree.kinds
        if self.published:
            targets = [child for child in self.tree.children(left) if kinds[child] != ","]
            sources = [child for child in self.tree.children(right) if kinds[child] != ","]
        elif kinds[left] in _LISTS and kinds[right] in _LISTS:
            named, skipped = self.tree.named, self.skipped
            targets = [child for child in self.tree.children(left) if named[child] and child not in skipped]
            sources = [child for child in self.tree.children(right) if named[child] and child not in skipped]
        else:
            return []
        return list(zip(targets, sources, strict=True)) if len(targets) == len(sources) else []

    def compute(self, pairs: list[tuple[int, int]]) -> None:
        for left, right in pairs:
            targets, sources = self.variables(left), self.variables(right)
            self.spend(len(sources))
            names = [self.names[source] for source in sources]
            places = tuple(self.places[source] for source in sources)
            for leaf in targets:
                self.add(leaf, names, places, computed=True)
                self.learn(self.names[leaf], (self.places[leaf],))

    # Branches: each begins with what was known before the first.

    def branch(self, node: int) -> None:
        kinds = self.tree.kinds
        children = list(self.tree.children(node))
        main = [child for child in children if kinds[child] not in _BRANCHES]
        others = [child for child in children if kinds[child] in _BRANCHES]
        whole = any("else" in kinds[child] for child in children)
        mark, outcomes = len(self.log), list[_Changes]()
        self.stack.append((self.join, (outcomes, whole)))
        for other in reversed(others):
            self.stack += [(self.end_branch, (outcomes, mark)), (self.visit, ([other],))]
        self.stack.append((self.end_branch, (outcomes, mark)))
        self.visit_all(main)

    def end_branch(self, outcomes: list[_Changes], mark: int) -> None:
        outcomes.append(self.go_back(mark))

    def join(self, outcomes: list[_Changes], whole: bool) -> None:
        """After all branches a name has the values that it has after any; without an ``else`` also the one before."""
        for name in dict.fromkeys(name for outcome in outcomes for name in outcome):
            before = self.known.get(name)
            found = {place for outcome in outcomes for place in outcome.get(name, before) or ()}
            if not whole:
                found.update(before or ())
            self.spend(len(outcomes) + len(found))
            self.learn(name, tuple(sorted(found)))

    # Loops: two passes, as what is known at the end is known at the next beginning.

    def pass_loop(self, node: int) -> None:
        """Pass through a loop once; the same pass with the same knowledge adds nothing but its outcome."""
        names = self.names_in.get(node)
        if names is None:
            begin, end = bisect_left(self.leaves, node), bisect_left(self.leaves, self.tree.after[node])
            self.spend(end - begin)
            names = self.names_in[node] = list(dict.fromkeys(self.names[begin:end]))
        self.spend(len(names))
        key = (node, tuple(map(self.known.get, names)))
        outcome = self.passed.get(key)
        if outcome is not None:
            for name, places in outcome.items():
                if self.known.get(name) != places:
                    self.learn(name, places)
            return
        self.stack.append((self.end_pass, (key,)))
        children = list(self.tree.children(node))
        if self.tree.kinds[node] == "while_statement":
            self.visit_all(children)
            return
        body = [child for child in children if self.tree.kinds[child] == "block"]
        if self.published:
            body = [child for child in children[-1:] if child in body]
        else:
            body += [child for child in children if self.tree.kinds[child] == "else_clause"]
        self.visit_all(body)
        self.bind(self.tree.child(node, "left"), self.tree.child(node, "right"), None if self.published else [])

    def end_pass(self, key: tuple[int, tuple[_Places | None, ...]]) -> None:
        names = self.names_in[key[0]]
        self.passed[key] = {name: places for name in names if (places := self.known.get(name)) is not None}

    def leave_loop(self) -> None:
        self.loops -= 1

    # Functions: what is bound within one is not known behind it.

    def enter_function(self, node: int) -> None:
        name, parameters = self.tree.child(node, "name"), self.tree.child(node, "parameters")
        self.stack.append((self.open_scope, (node, name, parameters)))
        if name is not None:
            self.stack.append((self.visit, ([name],)))

    def open_scope(self, node: int, name: int | None, parameters: int | None) -> None:
        self.stack.append((self.leave_scope, (len(self.log),)))
        for child in () if parameters is None else self.tree.children(parameters):
            named: int | None = child
            if self.tree.kinds[child] in _PARAMETERS:
                named = self.tree.child(child, "name")
            elif self.tree.kinds[child] in _SPLATS:
                named = next(iter(self.tree.children(child)), None)
            leaf = None if named is None else self.leaf_at.get(named)
            if leaf is not None and self.names[leaf] in self.known:
                self.learn(self.names[leaf], None)
        self.visit_all([child for child in self.tree.children(node) if child != name])
