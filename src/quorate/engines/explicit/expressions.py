"""Expressions over the fields of a finite system: a shared graph that folds constants while it is built.

A node is a number.  Values are small numbers from 0 up; truth values are 0 and 1.  The same graph is read by the
reference engine (`compile_python`) and by the emitter of C.  Read `system` next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

Node = int
State = Sequence[int]

CONST, FIELD, RIGID, CHOICE, NOT, AND, OR, EQUAL, IF = range(9)

FALSE, TRUE = 0, 1
"""The first two nodes of every graph."""

LEAVES = (CONST, FIELD, RIGID, CHOICE)


class Graph:
    """Nodes as `(operator, *operands)`; equal nodes are one node.

    `CONST` holds its value; `FIELD`, `RIGID` and `CHOICE` hold the index of what they read: a field of the state, of the
    world (what never changes in a run) or of the choices made in one step.  All other operands are nodes.
    """

    def __init__(self) -> None:
        self.nodes: list[tuple[int, ...]] = []
        self._known: dict[tuple[int, ...], Node] = {}
        self.const(0)
        self.const(1)

    def _make(self, *node: int) -> Node:
        found = self._known.get(node)
        if found is None:
            found = self._known[node] = len(self.nodes)
            self.nodes.append(node)
        return found

    def const(self, value: int) -> Node:
        return self._make(CONST, value)

    def field(self, index: int) -> Node:
        return self._make(FIELD, index)

    def rigid(self, index: int) -> Node:
        return self._make(RIGID, index)

    def choice(self, index: int) -> Node:
        return self._make(CHOICE, index)

    def value(self, node: Node) -> int | None:
        """The value of a constant, None of anything else."""
        operator, operand, *_ = self.nodes[node]
        return operand if operator == CONST else None

    def neg(self, node: Node) -> Node:
        if node in (TRUE, FALSE):
            return TRUE - node
        return self.nodes[node][1] if self.nodes[node][0] == NOT else self._make(NOT, node)

    def conj(self, nodes: Iterable[Node]) -> Node:
        return self._junction(AND, nodes, TRUE)

    def disj(self, nodes: Iterable[Node]) -> Node:
        return self._junction(OR, nodes, FALSE)

    def _junction(self, operator: int, nodes: Iterable[Node], unit: Node) -> Node:
        members: set[Node] = set()
        for node in nodes:
            if node == TRUE - unit:
                return node
            if node == unit:
                continue
            if self.nodes[node][0] == operator:
                members.update(self.nodes[node][1:])
            else:
                members.add(node)
        for node in members:
            if self.nodes[node][0] == NOT and self.nodes[node][1] in members:
                return TRUE - unit
        if len(members) < 2:
            return members.pop() if members else unit
        return self._make(operator, *sorted(members))

    def iff(self, left: Node, right: Node) -> Node:
        """Equality of two truth values."""
        if left in (TRUE, FALSE):
            left, right = right, left
        if right in (TRUE, FALSE):
            return left if right == TRUE else self.neg(left)
        if left == self.neg(right):
            return FALSE
        return self.equal(left, right)

    def equal(self, left: Node, right: Node) -> Node:
        if left == right:
            return TRUE
        if self.value(left) is not None and self.value(right) is not None:
            return FALSE
        return self._make(EQUAL, min(left, right), max(left, right))

    def choose(self, condition: Node, then: Node, otherwise: Node) -> Node:
        """`then` where the condition holds, else `otherwise`; both of one kind, truth values excepted (see `choose_truth`)."""
        if condition in (TRUE, FALSE) or then == otherwise:
            return then if condition == TRUE or then == otherwise else otherwise
        return self._make(IF, condition, then, otherwise)

    def choose_truth(self, condition: Node, then: Node, otherwise: Node) -> Node:
        """The same between truth values, as and, or and not where one branch is constant."""
        if then == TRUE:
            return self.disj((condition, otherwise))
        if then == FALSE:
            return self.conj((self.neg(condition), otherwise))
        if otherwise == TRUE:
            return self.disj((self.neg(condition), then))
        if otherwise == FALSE:
            return self.conj((condition, then))
        return self.choose(condition, then, otherwise)

    def conjuncts(self, node: Node) -> tuple[Node, ...]:
        if node == TRUE:
            return ()
        return self.nodes[node][1:] if self.nodes[node][0] == AND else (node,)

    def reads(self, node: Node, kind: int) -> frozenset[int]:
        """The indices of all leaves of one kind below a node."""
        found: set[int] = set()
        seen: set[Node] = set()
        stack = [node]
        while stack:
            operator, *operands = self.nodes[stack.pop()]
            if operator == kind:
                found.add(operands[0])
            elif operator not in LEAVES:
                stack += [operand for operand in operands if operand not in seen]
                seen.update(operands)
        return frozenset(found)


Compiled = Callable[[State, State, Sequence[int]], int]
"""Takes the state, the world and the choices."""


def compile_python(graph: Graph, node: Node, done: dict[Node, Compiled] | None = None) -> Compiled:
    """A node as a Python function."""
    known = {} if done is None else done
    if node in known:
        return known[node]
    operator, *operands = graph.nodes[node]
    index = operands[0]
    parts = [] if operator in LEAVES else [compile_python(graph, operand, known) for operand in operands]
    result: Compiled
    if operator == CONST:
        result = lambda state, world, choices: index  # noqa: E731
    elif operator == FIELD:
        result = lambda state, world, choices: state[index]  # noqa: E731
    elif operator == RIGID:
        result = lambda state, world, choices: world[index]  # noqa: E731
    elif operator == CHOICE:
        result = lambda state, world, choices: choices[index]  # noqa: E731
    elif operator == NOT:
        result = lambda state, world, choices: 1 - parts[0](state, world, choices)  # noqa: E731
    elif operator == AND:
        result = lambda state, world, choices: int(all(part(state, world, choices) for part in parts))  # noqa: E731
    elif operator == OR:
        result = lambda state, world, choices: int(any(part(state, world, choices) for part in parts))  # noqa: E731
    elif operator == EQUAL:
        result = lambda s, w, c: int(parts[0](s, w, c) == parts[1](s, w, c))  # noqa: E731
    else:
        result = lambda s, w, c: parts[1](s, w, c) if parts[0](s, w, c) else parts[2](s, w, c)  # noqa: E731
    known[node] = result
    return result
