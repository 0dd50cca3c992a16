"""C from a finite system: successor generation and property checks as straight-line code over packed words.

The text holds only names made here.  It is filled into `search.c` for the CPU and `search.cu` for the GPU; both define
`EMIT`, which takes the successor in `n0, n1, ..`, and may leave it where nothing has `CHANGED`.
Conditions on single bits of one word become one mask and one comparison, and conditions that several rules share are
tested once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from importlib.resources import files

from quorate.engines.explicit.expressions import (
    AND,
    CHOICE,
    CONST,
    EQUAL,
    FIELD,
    IF,
    LEAVES,
    NOT,
    OR,
    RIGID,
    Graph,
    Node,
)
from quorate.engines.explicit.peers import Peers
from quorate.engines.explicit.system import MOST_PROPERTIES, WORD, Layout, Place, Rule, System

LARGEST_TREE = 64
"""A shared subexpression with more nodes than this is computed once and kept."""


def emit(system: System) -> tuple[str, str]:
    """The model-specific parts of the engine: its sizes, and its functions."""
    if len(system.properties) > MOST_PROPERTIES:
        raise ValueError(
            f"a system has at most {MOST_PROPERTIES} properties: a word tells which of them a state violates"
        )
    return _Emitter(system).text()


def fill(runtime: str, system: System) -> str:
    """The text of a runtime of this folder with the model filled in where it says so."""
    folder = files("quorate.engines.explicit")
    text = folder.joinpath(runtime).read_text(encoding="utf-8")
    sizes, functions = emit(system)
    parts = {"SIZES": sizes, "MODEL": functions, "COMMON": folder.joinpath("common.c").read_text(encoding="utf-8")}
    parts["PEERS"] = folder.joinpath("peers.c").read_text(encoding="utf-8") if system.peers else ""
    for name, part in parts.items():
        text = text.replace(f"//{name}//", part)
    return text


class _Emitter:
    def __init__(self, system: System) -> None:
        self.system = system
        self.graph: Graph = system.graph
        self.layout: Layout = system.layout
        self.rigid = Layout.of(system.rigid, 1)
        self.kept: dict[Node, str] = {}
        self.lines: list[str] = []

    def text(self) -> tuple[str, str]:
        system, layout = self.system, self.layout
        words = range(layout.words)
        sizes = [
            f"#define WORDS {layout.words}",
            f"#define WORLDS {len(system.worlds)}",
            f"#define TRANSITIONS {max(1, len(system.transitions))}",
            f"#define PROPERTIES {len(system.properties)}",
            f"#define RIGID_WORDS {self.rigid.words}",
            f"#define WORLD_OF(s) ({self._read(layout.world, 's[{}]')})",
            "#define STORE(o) " + " ".join(f"(o)[{i}] = n{i};" for i in words),
            "#define CHANGED (" + " | ".join(f"(n{i} ^ s{i})" for i in words) + ")",
        ]
        self._worlds()
        for number, name in enumerate(system.transitions):
            self._transition(number, [rule for rule in system.rules if rule.name == name])
        self._expand()
        self._initial()
        self._violated()
        if system.peers:
            self._peers(system.peers)
        else:
            self._arrange()
        return "\n".join(sizes), "\n".join(self.lines)

    # -- the parts ----------------------------------------------------------------------------------------------

    def _worlds(self) -> None:
        packed = [self.rigid.pack(world, 0) for world in self.system.worlds]
        numbers = [f"0x{word:x}ull" for world in packed for word in world] or ["0"]
        self.lines.append("TABLE u64 rigid_words[] = {")
        self.lines += ["  " + ", ".join(numbers[i : i + 6]) + "," for i in range(0, len(numbers), 6)]
        self.lines.append("};")

    def _open(self, title: str, reads_state: bool, nodes: Iterable[Node]) -> None:
        """The head of a function: the words of the state and of the world, and what is computed once."""
        self.kept = {}
        wanted = list(nodes)
        self.lines.append(title + " {")
        if reads_state:
            self.lines += [f"  const u64 s{i} = s[{i}]; (void)s{i};" for i in range(self.layout.words)]
            if any(self.graph.reads(node, RIGID) for node in wanted):
                self.lines.append("  const u64 *const w = rigid_words + WORLD_OF(s) * RIGID_WORDS;")
        sizes: dict[Node, int] = {}
        uses = Counter(wanted)
        order: list[Node] = []
        for node in wanted:
            self._measure(node, sizes, uses, order)
        for node in order:
            if sizes[node] > LARGEST_TREE and uses[node] > 1 and not self.graph.reads(node, CHOICE):
                self.lines.append(f"  const unsigned t{node} = {self._expression(node)};")
                self.kept[node] = f"t{node}"

    def _measure(self, node: Node, sizes: dict[Node, int], uses: Counter[Node], order: list[Node]) -> int:
        """The size of a node's expression tree, saturating; counts how often each node is used."""
        if node not in sizes:
            operator, *operands = self.graph.nodes[node]
            total = 1
            if operator not in LEAVES:
                uses.update(operands)
                total += sum(self._measure(operand, sizes, uses, order) for operand in operands)
            sizes[node] = min(total, 1 << 20)
            order.append(node)
        return 1 if sizes[node] > LARGEST_TREE and uses[node] > 1 else sizes[node]

    def _transition(self, number: int, rules: Sequence[Rule]) -> None:
        nodes = [node for rule in rules for node in (*rule.guard, *(value for _, value in rule.updates))]
        self._open(f"FUNCTION void transition_{number}(const u64 *s, SINK)", True, nodes)
        frequency = Counter(node for rule in rules for node in rule.guard if not self.graph.reads(node, CHOICE))
        items = []
        for rule in rules:
            plain = [node for node in rule.guard if not self.graph.reads(node, CHOICE)]
            items.append((sorted(plain, key=lambda node: (-frequency[node], node)), rule))
        self._tree(items, number, "  ")
        self.lines.append("}")

    def _tree(self, items: Sequence[tuple[Sequence[Node], Rule]], number: int, indent: str) -> None:
        """Rules by the conditions they share: a decision tree."""
        position = 0
        while position < len(items):
            conditions, rule = items[position]
            if not conditions:
                self._fire(rule, number, indent)
                position += 1
                continue
            end = position + 1
            while end < len(items) and items[end][0][:1] == conditions[:1]:
                end += 1
            group = items[position:end]
            shared = 1
            while all(len(item[0]) > shared and item[0][shared] == conditions[shared] for item in group):
                shared += 1
                if shared == len(conditions):
                    break
            self.lines.append(f"{indent}if ({self._junction(AND, conditions[:shared])}) {{")
            self._tree([(item[0][shared:], item[1]) for item in group], number, indent + "  ")
            self.lines.append(indent + "}")
            position = end

    def _fire(self, rule: Rule, number: int | None, indent: str) -> None:
        self.lines.append(indent + "{")
        opened = self._loops(rule, indent + "  ")
        emit = "EMIT_INITIAL" if number is None else f"EMIT({number})"
        self.lines.append(f"{indent}  {'  ' * opened}{self._successor(rule)} {emit};")
        self.lines += [indent + "  " * level + "}" for level in range(opened, -1, -1)]

    def _loops(self, rule: Rule, indent: str) -> int:
        """A loop per free choice, each condition tested as soon as it can be; returns how many loops are open."""
        tests: list[list[Node]] = [[] for _ in rule.choices]
        fixed = {index: 0 for index, size in enumerate(rule.choices) if size == 1}
        for node in rule.guard:
            reads = self.graph.reads(node, CHOICE)
            literal = self._choice_literal(node)
            if literal is not None and literal[0] not in fixed:
                fixed[literal[0]] = literal[1]
            elif reads:
                tests[max(reads)].append(node)
        used = {index for node in rule.guard for index in self.graph.reads(node, CHOICE)}
        used |= {index for _, node in rule.updates for index in self.graph.reads(node, CHOICE)}
        opened = 0
        for index, size in enumerate(rule.choices):
            at = indent + "  " * opened
            if index in fixed:
                if index in used:
                    self.lines.append(f"{at}enum {{ c{index} = {fixed[index]} }};")
                if tests[index]:
                    self.lines.append(f"{at}if ({self._junction(AND, tests[index])}) {{")
                    opened += 1
            else:
                mark = "" if index in used else " (void)c" + str(index) + ";"
                self.lines.append(f"{at}for (unsigned c{index} = 0; c{index} < {size}; c{index}++) {{{mark}")
                opened += 1
                if tests[index]:
                    self.lines.append(f"{at}  if (!({self._junction(AND, tests[index])})) continue;")
        return opened

    def _choice_literal(self, node: Node) -> tuple[int, int] | None:
        """The choice and the value that a condition fixes outright."""
        operator, *operands = self.graph.nodes[node]
        if operator == CHOICE:
            return operands[0], 1
        if operator == NOT and self.graph.nodes[operands[0]][0] == CHOICE:
            return self.graph.nodes[operands[0]][1], 0
        if operator == EQUAL:
            for left, right in (operands, operands[::-1]):
                value = self.graph.value(right)
                if self.graph.nodes[left][0] == CHOICE and value is not None:
                    return self.graph.nodes[left][1], value
        return None

    def _successor(self, rule: Rule) -> str:
        """Declarations of the successor's words."""
        cleared = [0] * self.layout.words
        constant = [0] * self.layout.words
        parts: list[list[str]] = [[] for _ in range(self.layout.words)]
        for index, node in rule.updates:
            place = self.layout.places[index]
            if not place.bits:
                continue
            cleared[place.word] |= place.mask
            value = self.graph.value(node)
            if value is not None:
                constant[place.word] |= value << place.shift
            else:
                parts[place.word].append(f"(u64)({self._expression(node)}) << {place.shift}")
        words = []
        for i in range(self.layout.words):
            terms = list(parts[i])
            kept = f"s{i} & 0x{~cleared[i] & (1 << 64) - 1:x}ull" if cleared[i] else f"s{i}"
            terms.insert(0, f"({kept})")
            if constant[i]:
                terms.insert(1, f"0x{constant[i]:x}ull")
            words.append(f"const u64 n{i} = {' | '.join(terms)};")
        return " ".join(words)

    def _expand(self) -> None:
        self.lines.append("FUNCTION void expand(const u64 *s, SINK) {")
        self.lines += [f"  transition_{number}(s, PASS);" for number in range(len(self.system.transitions))]
        self.lines.append("}")

    def _initial(self) -> None:
        nodes = [n for rule in self.system.initial for n in (*rule.guard, *(value for _, value in rule.updates))]
        self.kept = {}
        self.lines.append("FUNCTION void initial(unsigned world, SINK) {")
        place = self.layout.world
        for i in range(self.layout.words):
            start = f"(u64)world << {place.shift}" if i == place.word and place.bits else "0"
            self.lines.append(f"  const u64 s{i} = {start};")
        if any(self.graph.reads(node, RIGID) for node in nodes):
            self.lines.append("  const u64 *const w = rigid_words + world * RIGID_WORDS;")
        self.lines.append("  (void)world;")
        for rule in self.system.initial:
            plain = [node for node in rule.guard if not self.graph.reads(node, CHOICE)]
            self.lines.append(f"  if ({self._junction(AND, plain) if plain else 1}) {{")
            self._fire(rule, None, "    ")
            self.lines.append("  }")
        self.lines.append("}")

    def _violated(self) -> None:
        """A bit for each property that does not hold."""
        nodes = [node for _, node in self.system.properties]
        self._open("FUNCTION u64 violated(const u64 *s)", True, nodes)
        bits = [f"(u64)!({self._expression(node)}) << {i}" for i, node in enumerate(nodes)]
        self.lines += [f"  return {' | '.join(bits) or '0'};", "}"]

    def _arrange(self) -> None:
        """Sorting of the blocks, and in how many ways the members of all blocks can be arranged."""
        self.lines.append("FUNCTION void arrange(u64 *s) {")
        self.lines.append("  (void)s;")
        for block in self.system.blocks:
            places = [[self.layout.places[index] for index in fields] for fields in block]
            size = len(block)
            self.lines.append(f"  {{ u64 member[{size}];")
            for number, parts in enumerate(places):
                self.lines.append(f"    member[{number}] = {self._member(parts)};")
            self.lines += [
                f"    for (int i = 1; i < {size}; i++) {{",
                "      const u64 moving = member[i];",
                "      int j = i;",
                "      for (; j > 0 && member[j - 1] > moving; j--) member[j] = member[j - 1];",
                "      member[j] = moving;",
                "    }",
            ]
            for word in range(self.layout.words):
                mask = sum(place.mask for parts in places for place in parts if place.word == word)
                self.lines += [f"    s[{word}] &= 0x{~mask & (1 << 64) - 1:x}ull;"] if mask else []
            for number, parts in enumerate(places):
                shift = 0
                for place in parts:
                    value = f"(member[{number}] >> {shift} & {(1 << place.bits) - 1})"
                    self.lines.append(f"    s[{place.word}] |= {value} << {place.shift};")
                    shift += place.bits
            self.lines.append("  }")
        self.lines += ["}", "FUNCTION u64 arrangements(const u64 *s) {", "  u64 ways = 1; (void)s;"]
        for block in self.system.blocks:
            self.lines.append(f"  {{ u64 member[{len(block)}];")
            for number, fields in enumerate(block):
                parts = [self.layout.places[index] for index in fields]
                self.lines.append(f"    member[{number}] = {self._member(parts)};")
            self.lines += [
                f"    for (int i = 0; i < {len(block)}; i++) {{",
                "      u64 same = 1;",
                "      for (int j = 0; j < i; j++) same += member[j] == member[i];",
                "      ways = ways * (u64)(i + 1) / same;",
                "    }",
                "  }",
            ]
        self.lines += ["  return ways;", "}"]

    def _peers(self, peers: Peers) -> None:
        """Where the fields of each of the peers lie."""
        places = self.layout.places

        def table(indices: Iterable[int]) -> str:
            entries = (f"{{{places[i].word}, {places[i].shift}, {places[i].bits}}}" for i in indices)
            return "{" + ", ".join((*entries, "{0, 0, 0}")) + "}"

        own, names, about = len(peers.own[0]), len(peers.names[0]), len(peers.about[0][0])
        rows = [
            f"own_places[PEERS][OWN + 1][3] = {{{', '.join(map(table, peers.own))}}}",
            f"name_places[PEERS][NAMES + 1][3] = {{{', '.join(map(table, peers.names))}}}",
            "about_places[PEERS][PEERS][ABOUT + 1][3] = {"
            + ", ".join("{" + ", ".join(map(table, row)) + "}" for row in peers.about)
            + "}",
        ]
        self.lines.append(f"enum {{ PEERS = {len(peers)}, OWN = {own}, NAMES = {names}, ABOUT = {about} }};")
        self.lines += [f"TABLE unsigned char {row};" for row in rows]
        rest = [(1 << WORD) - 1] * self.layout.words
        for place in places:
            rest[place.word] &= ~place.mask
        self.lines.append(f"TABLE u64 rest[] = {{{', '.join(f'0x{word:x}ull' for word in rest)}}};")

    def _member(self, parts: Sequence[Place]) -> str:
        """All fields of one member of a block as one number."""
        terms, shift = [], 0
        for place in parts:
            terms.append(f"(s[{place.word}] >> {place.shift} & {(1 << place.bits) - 1}) << {shift}")
            shift += place.bits
        if shift > WORD:
            raise ValueError("the fields of a member of a block do not fit into a word")
        return " | ".join(terms) or "0"

    # -- expressions --------------------------------------------------------------------------------------------

    def _read(self, place: Place, word: str) -> str:
        """A field of a packed word as a number."""
        if not place.bits:
            return "0u"
        shifted = f"{word.format(place.word)} >> {place.shift}" if place.shift else word.format(place.word)
        return f"(unsigned)({shifted} & {(1 << place.bits) - 1})"

    def _place(self, node: Node) -> tuple[str, Place] | None:
        """The word and the bits that a field of the state or of the world is read from."""
        operator, index, *_ = self.graph.nodes[node]
        if operator == FIELD:
            place = self.layout.places[index]
            return f"s{place.word}", place
        if operator == RIGID:
            place = self.rigid.places[index]
            return f"w[{place.word}]", place
        return None

    def _literal(self, node: Node, positive: bool) -> tuple[str, int, int] | None:
        """A condition on the bits of one word, as `(word & mask) == value`; its negation if not `positive`."""
        operator, *operands = self.graph.nodes[node]
        if operator == NOT:
            return self._literal(operands[0], not positive)
        if operator == EQUAL:
            for left, right in (operands, operands[::-1]):
                value, found = self.graph.value(right), self._place(left)
                if value is not None and found is not None:
                    word, place = found
                    if positive:
                        return word, place.mask, value << place.shift
                    return (word, place.mask, (1 - value) << place.shift) if place.bits == 1 else None
            return None
        found = self._place(node)
        if found is None or found[1].bits != 1:
            return None
        word, place = found
        return word, place.mask, place.mask if positive else 0

    def _expression(self, node: Node) -> str:
        if node in self.kept:
            return self.kept[node]
        operator, *operands = self.graph.nodes[node]
        if operator == CONST:
            return f"{operands[0]}u"
        if operator == CHOICE:
            return f"(unsigned)c{operands[0]}"
        if operator in (AND, OR):
            return self._junction(operator, operands)
        if operator in (NOT, EQUAL):
            literal = self._literal(node, True)
            if literal is not None:
                return f"((({literal[0]}) & 0x{literal[1]:x}ull) == 0x{literal[2]:x}ull)"
        if operator == NOT:
            return f"(!{self._expression(operands[0])})"
        if operator == EQUAL:
            return f"({self._expression(operands[0])} == {self._expression(operands[1])})"
        if operator == IF:
            test, then, otherwise = (self._expression(operand) for operand in operands)
            return f"({test} ? {then} : {otherwise})"
        found = self._place(node)
        assert found is not None
        word, place = found
        return self._read(Place(0, place.shift, place.bits), word.replace("{", "{{"))

    def _junction(self, operator: int, nodes: Sequence[Node]) -> str:
        """A conjunction or disjunction, with the conditions on the bits of each word gathered into one comparison."""
        masks: dict[str, tuple[int, int]] = {}
        parts = []
        for node in nodes:
            literal = None if node in self.kept else self._literal(node, operator == AND)
            if literal is None:
                parts.append(self._expression(node))
                continue
            word, mask, value = literal
            known_mask, known_value = masks.get(word, (0, 0))
            if known_mask & mask & (known_value ^ value):
                return "0u" if operator == AND else "1u"
            masks[word] = known_mask | mask, known_value | value
        sign = "==" if operator == AND else "!="
        tests = [f"((({word}) & 0x{mask:x}ull) {sign} 0x{value:x}ull)" for word, (mask, value) in masks.items()]
        joined = (" && " if operator == AND else " || ").join(tests + parts)
        return f"({joined})"
