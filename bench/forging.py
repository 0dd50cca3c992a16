"""How certificates are forged: changes of the kind that somebody might try, put together at random.

`forge` takes a real certificate, the protocol it is to be shown for, and the property it is to prove.  Some changes are about
what certificates mean (invariants, cuts, refutations, cutoffs, stages), some about how they are written.  Sums are put right at
the end, mostly: else nothing but the sum would be tested.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

from quorate.logic import sexpr
from quorate.models.relational import RelationalModel
from quorate.proof.certificates import digest

Document = Any
Path = tuple[Any, ...]

FORMULA_KEYS = ("formula", "bad", "image", "order")
LISTS = ("rigid", "start", "relation")
TOKEN = re.compile(r"\s*(\(|\)|\|[^|]*\||[^\s()|]+)")


class Forger:
    """One forgery in the making."""

    def __init__(
        self, choice: Random, document: Document, model: RelationalModel, name: str, lenders: Sequence[Document]
    ) -> None:
        self.choice, self.document, self.model, self.name, self.lenders = choice, document, model, name, lenders
        symbols = [symbol.name for symbol in model.symbols]
        choices = [choice.name for transition in model.transitions for choice in transition.choices]
        elements = [element for sort in model.sorts for element in sort.elements]
        self.names = [*symbols, *choices, *elements, *(sort.name for sort in model.sorts)]
        self.names += [p.name for transition in model.transitions for p in transition.parameters]
        self.names += [f"@{p.name}" for transition in model.transitions for p in transition.parameters]
        self.names += [f"{item}'" for item in symbols] + [f"small {item}" for item in symbols]
        self.labels = [
            "guard 1",
            "guard 0",
            "violation",
            "image of",
            "elements of C",
            "violators 1",
            "",
            "|",
            "'",
            name,
        ]
        self.labels += [f"{name}'", "definition of p", *(item.name for item in (*model.initial, *model.background()))]

    # -- finding places -------------------------------------------------------------------------------------------------

    def places(self, part: Document | None = None, path: Path = ()) -> Iterator[tuple[Path, Any]]:
        """Every value of the document and the way to it."""
        part = self.document if not path and part is None else part
        yield path, part
        items = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
        for key, value in items:
            yield from self.places(value, (*path, key)) if value is not None else [((*path, key), None)]

    def get(self, path: Path) -> Any:
        part = self.document
        for key in path:
            part = part[key]
        return part

    def put(self, path: Path, value: Any) -> None:
        if path:
            self.get(path[:-1])[path[-1]] = value

    def formulas(self) -> list[Path]:
        """The ways to all formulas."""
        return [path for path, value in self.places() if isinstance(value, str) and _is_formula(path)]

    def bodies(self) -> list[Document]:
        """Certificates of safety: the document itself, or those inside one of liveness."""
        if "properties" not in self.document:
            return [self.document] if isinstance(self.document, dict) else []
        properties = self.document["properties"]
        found = (
            [item.get("proof") for item in properties if isinstance(item, dict)] if isinstance(properties, list) else []
        )
        return [item for item in found if isinstance(item, dict)]

    def list_at(self, body: Document, name: str) -> list[Any]:
        found = body.get(name)
        if not isinstance(found, list):
            found = body[name] = []
        return found

    def body(self) -> Document:
        found = self.bodies()
        return self.choice.choice(found) if found else {}

    def formula(self) -> str:
        """Some formula: of this certificate, of another, made up, or the one to be proved."""
        known = [str(self.get(path)) for path in self.formulas()]
        kinds = [
            "false",
            "true",
            "(not true)",
            "(or)",
            "(forall () false)",
            *self.choice.sample(known, min(3, len(known))),
        ]
        safety = [item.formula for item in self.model.safety if item.name == self.name]
        kinds += [text for item in safety for text in (sexpr.write(item), f"(not {sexpr.write(item)})")]
        kinds.append(f"(exists ((x {self.sort()})) (not (= x x)))")
        kinds.append(self.choice.choice(self.names))
        return self.choice.choice(kinds)

    def sort(self) -> str:
        return f"|{self.choice.choice(self.model.sorts).name}|" if self.model.sorts else "bool"

    def transition(self) -> str:
        return self.choice.choice([item.name for item in self.model.transitions] or ["none"])

    # -- formulas -------------------------------------------------------------------------------------------------------

    def rewrite_formula(self) -> None:
        """A formula made weaker, stronger, its negation, or another."""
        listed = self.formulas()
        if listed:
            path = self.choice.choice(listed)
            whole, other = str(self.get(path)), self.formula()
            old = _body(whole) if "stages" in path else whole
            forms = [
                "true",
                "false",
                f"(not {old})",
                f"(and {old} {other})",
                f"(or {old} {other})",
                f"(-> {other} {old})",
            ]
            new = self.choice.choice([*forms, other, f"(<-> {old} {other})", f"(ite {other} {old} {other})"])
            self.put(path, whole.replace(old, new) if old else new)

    def edit_formula(self) -> None:
        """A part of a formula replaced, dropped, doubled, negated, or put in the place of another part."""
        listed = self.formulas()
        if not listed:
            return
        path = self.choice.choice(listed)
        words = TOKEN.findall(str(self.get(path)))
        spans = list(_spans(words))
        if not spans:
            return
        start, end = self.choice.choice(spans)
        part = words[start:end]
        alike = [words[one:two] for one, two in spans if (words[one] == "(") == (words[start] == "(")]
        forms: list[list[str]] = [[], part * 2, [self.choice.choice(self.names)], *[self.choice.choice(alike)] * 3]
        if words[start] == "(":
            swaps = {"forall": "exists", "exists": "forall", "and": "or", "or": "and", "->": "<->"}
            swapped = [swaps.get(word, word) for word in part]
            forms += [["true"], ["false"], ["(", "not", *part, ")"], ["(", "not", *part, ")"], swapped, swapped]
        words[start:end] = self.choice.choice(forms)
        self.put(path, " ".join(words))

    # -- what certificates of safety hold ---------------------------------------------------------------------------------

    def change_invariants(self) -> None:
        rows = self.list_at(self.body(), "invariants")
        label = self.choice.choice(self.labels)
        kind = self.choice.choice(["add", "add", "add", "drop", "rename", "swap", "empty", "double"])
        if kind == "add" or not rows:
            added = {"name": f"{label}{self.choice.choice(['', 2])}", "formula": self.formula()}
            rows.insert(self.choice.randint(0, len(rows)), added)
        elif kind == "drop":
            del rows[self.choice.randrange(len(rows))]
        elif kind == "rename":
            _set(self.choice.choice(rows), "name", label)
        elif kind == "swap":
            one, two = self.choice.choice(rows), self.choice.choice(rows)
            if isinstance(one, dict) and isinstance(two, dict):
                one["formula"], two["formula"] = two.get("formula"), one.get("formula")
        elif kind == "empty":
            rows.clear()
        else:
            rows.append(dict(self.choice.choice(rows)))

    def change_hints(self) -> None:
        body = self.body()
        hints = body.get("hints")
        if not isinstance(hints, dict):
            return
        names = [*hints, f"invariants imply {self.name}", f"{self.transition()} preserves {self.name}", "nonsense"]
        words = ["guard 0", "guard 1", "guard 99", f"witness {self.choice.choice(self.names)}", *self.labels]
        hints[self.choice.choice(names)] = self.choice.sample(words, self.choice.randint(0, 4))
        if self.choice.random() < 0.3:
            body["hints"] = {}

    def change_safety(self) -> None:
        rows = self.list_at(self.body(), "safety")
        others = [item.name for item in (*self.model.safety, *self.model.invariants)]
        rows.insert(0, self.choice.choice([*others, self.name, self.choice.choice(self.labels)]))
        if self.choice.random() < 0.3:
            rows[:] = [self.name]

    def change_cuts(self) -> None:
        """Facts about steps out of the air, and definitions that define what is there already, or themselves."""
        plain = [item.name for item in self.model.transitions if not item.parameters]
        if not plain and self.choice.random() < 0.8:
            return self.change_invariants()
        rows = self.list_at(self.body(), "cuts")
        name = self.choice.choice([*self.names, *self.labels, "p", "q"])
        wide = f"(forall ((X {self.sort()})) {self.formula()})"
        own = f"(forall ((X {self.sort()})) (not (|{name}| X)))"
        formula = self.choice.choice([self.formula(), wide, own, "(forall ((X bool)) (not X))"])
        defines = self.choice.choice([0, 0, 1, 1, 1, 2, -1, True, 10**30, "1", 1.5, None])
        named = self.choice.choice([*(self.choice.choice(plain) for _ in plain[:8]), self.transition(), "none"])
        cut = {"transition": named, "name": name, "formula": formula, "defines": defines}
        if rows and self.choice.random() < 0.5:
            old = self.choice.choice(rows)
            _set(old, *self.choice.choice(list(cut.items())))
        else:
            rows.insert(self.choice.randint(0, len(rows)), cut)

    def change_refutations(self) -> None:
        rows = self.list_at(self.body(), "refutations")
        if not rows or self.choice.random() < 0.4:
            rows.append(self.made_refutation())
            return
        row = self.choice.choice(rows)
        if not isinstance(row, dict):
            return
        kind = self.choice.choice(["end", "direction", "constants", "step", "bad", "drop", "property", "formula"])
        steps = row.get("steps") if isinstance(row.get("steps"), list) else []
        if kind == "end":
            row["end"] = "initial" if row.get("end") == "violation" else "violation"
        elif kind == "direction" and steps:
            step = self.choice.choice(steps)
            _set(step, "direction", "forward" if step.get("direction") == "backward" else "backward")
        elif kind == "constants":
            constants = self.list_at(row, "constants")
            constants.append([self.choice.choice([*self.names, "c"]), self.sort().strip("|")])
        elif kind == "step" and steps:
            steps.pop(self.choice.randrange(len(steps)))
        elif kind == "bad":
            row["bad"] = self.formula()
        elif kind == "drop":
            rows.remove(row)
        elif kind == "property":
            row["property"] = self.choice.choice([self.name, *self.labels])
        else:
            steps.append(self.made_step())

    def made_refutation(self) -> Document:
        return {
            "property": self.name,
            "constants": [[self.choice.choice(["c", "d", *self.names]), self.sort().strip("|")]]
            * self.choice.randint(0, 2),
            "bad": self.formula(),
            "steps": [self.made_step() for _ in range(self.choice.randint(0, 3))],
            "end": self.choice.choice(["initial", "violation"]),
        }

    def made_step(self) -> Document:
        names = self.choice.sample([*self.labels, "a", "b", "c"], self.choice.randint(0, 2))
        rows = [{"name": name, "formula": self.formula()} for name in names]
        return {"direction": self.choice.choice(["forward", "backward"]), "formulas": rows}

    def change_cutoffs(self) -> None:
        rows = self.list_at(self.body(), "cutoffs")
        if not rows or self.choice.random() < 0.1:
            size = self.choice.choice([1, 2, 3])
            rows.append({"sort": self.sort().strip("|"), "size": size, "cases": [self.made_case()]})
            return
        row = self.choice.choice(rows)
        cases = row.get("cases") if isinstance(row, dict) else None
        kind = self.choice.choice(["size", "sort", "case", "double", "inside", "inside", "inside"])
        if kind == "size":
            _set(row, "size", self.choice.choice([0, 1, 2, 3, 4, 64, 65, True, -1, 10**30, "2", 2.0, None]))
        elif kind == "sort":
            _set(row, "sort", self.choice.choice([self.sort().strip("|"), "bool", "none"]))
        elif kind == "double":
            rows.append(dict(row))
        elif isinstance(cases, list) and cases and isinstance(cases[0], dict):
            case = self.choice.choice(cases)
            if kind == "case":
                cases.remove(case)
                cases += [self.made_case()] * self.choice.randint(0, 2)
            else:
                self.change_case(case)

    def made_case(self) -> Document:
        empty: dict[str, Any] = {"property": self.name, "violators": [], "bad": self.formula(), "image": "node1"}
        image = self.choice.choice([element for sort in self.model.sorts for element in sort.elements] or ["node1"])
        return {**empty, "image": image, "rigid": [], "start": [], "relation": [["r", self.formula()]], "moves": []}

    def change_case(self, case: Document) -> None:
        name = self.choice.choice(["bad", "image", "rigid", "start", "relation", "moves", "violators", "property"])
        value = case.get(name)
        if name in ("bad", "image"):
            case[name] = self.formula()
        elif name == "property":
            case[name] = self.choice.choice([self.name, *self.labels])
        elif isinstance(value, list):
            if name == "violators":
                value.append([self.choice.choice([*self.names, "v"]), self.sort().strip("|")])
            elif name == "moves":
                self.change_moves(value)
            elif value and self.choice.random() < 0.6:
                value.pop(self.choice.randrange(len(value)))
            else:
                value.append([self.choice.choice([*self.names, *self.labels]), self.formula()])

    def change_moves(self, moves: list[Any]) -> None:
        if moves and self.choice.random() < 0.5:
            listed = self.choice.choice(moves)
            if isinstance(listed, list) and len(listed) == 2 and isinstance(listed[1], list) and listed[1]:
                move = self.choice.choice(listed[1])
                if isinstance(move, list) and move:
                    move[0] = self.formula()
                    if self.choice.random() < 0.4 and len(move) > 1:
                        move[1] = self.transition()
        elif moves and self.choice.random() < 0.5:
            moves.pop(self.choice.randrange(len(moves)))
        else:
            moves.append([self.transition(), [[self.formula(), self.transition()]]])

    # -- what certificates of liveness hold ---------------------------------------------------------------------------------

    def change_argument(self) -> None:
        properties = self.document.get("properties")
        if not isinstance(properties, list) or not properties or not isinstance(properties[0], dict):
            return
        item = self.choice.choice(properties)
        kind = self.choice.choice(
            ["monitored", "claims", "claims", "proof", "stages", "stages", "stages", "property", "lone"]
        )
        if kind == "monitored":
            item["monitored"] = not item.get("monitored")
        elif kind == "claims":
            claims = self.list_at(item, "claims")
            label = self.choice.choice([*self.labels, "claim"])
            if claims and self.choice.random() < 0.5:
                _set(self.choice.choice(claims), "formula", self.formula())
            else:
                claims.append({"name": label, "formula": self.formula()})
                if isinstance(item.get("proof"), dict):
                    self.list_at(item["proof"], "safety").append(label)
        elif kind == "proof":
            others = [
                part["proof"] for lender in self.lenders for part in lender.get("properties", []) if part["proof"]
            ]
            item["proof"] = self.choice.choice([None, *others])
        elif kind == "property":
            item["property"] = self.choice.choice(
                [*(x.name for x in self.model.liveness), self.choice.choice(self.labels)]
            )
        elif kind == "lone":
            item.update(
                {"claims": [], "proof": None, "stages": [self.made_stage() for _ in range(self.choice.randint(0, 3))]}
            )
        else:
            self.change_stages(self.list_at(item, "stages"))

    def change_stages(self, stages: list[Any]) -> None:
        if not stages or self.choice.random() < 0.2:
            stages.insert(self.choice.randint(0, len(stages)), self.made_stage())
            return
        stage = self.choice.choice(stages)
        if not isinstance(stage, dict):
            return
        kind = self.choice.choice(["kind", "variables", "fairness", "order", "drop", "double", "shuffle", "formula"])
        if kind == "kind":
            stage["kind"] = "fair" if stage.get("kind") == "rank" else "rank"
        elif kind == "variables":
            stage["variables"] = self.choice.choice([0, 1, 2, -1, True, 10**20, "1", None])
        elif kind == "fairness":
            stage["fairness"] = self.choice.choice([None, *(item.name for item in self.model.fairness), "none", 3])
        elif kind == "order":
            stage["order"] = self.made_order()
        elif kind == "drop":
            stages.remove(stage)
        elif kind == "double":
            stages.append(dict(stage))
        elif kind == "shuffle":
            self.choice.shuffle(stages)
        else:
            stage["formula"] = self.closed(self.formula(), self.choice.randint(0, 1))

    def closed(self, formula: str, more: int) -> str:
        """A formula over the variables of the property, and perhaps one of its own."""
        own = next((item.variables for item in self.model.liveness if item.name == self.name), ())
        rows = [f"(|{variable.name}| |{variable.sort.name}|)" for variable in own] + [f"(Z {self.sort()})"] * more
        return f"(forall ({' '.join(rows)}) {formula})" if rows else formula

    def made_order(self) -> str | None:
        sort = self.sort()
        relations = [s.name for s in self.model.symbols if len(s.arguments) == 2 and s.arguments[0] is s.arguments[1]]
        bodies = ["false", "true", "(= X Y)", "(not (= X Y))", *(f"(|{name}| X Y)" for name in relations)]
        return self.choice.choice([None, f"(forall ((X {sort}) (Y {sort})) {self.choice.choice(bodies)})", "true"])

    def made_stage(self) -> Document:
        more = self.choice.randint(0, 1)
        fairness = self.choice.choice([None, *(item.name for item in self.model.fairness)])
        kind = "fair" if fairness and self.choice.random() < 0.7 else "rank"
        order = self.made_order() if self.choice.random() < 0.3 else None
        formula = self.closed(self.formula(), more)
        return {"kind": kind, "variables": more, "formula": formula, "fairness": fairness, "order": order}

    # -- how it is written ------------------------------------------------------------------------------------------------

    def break_value(self) -> None:
        """Some value is of another type, missing, doubled, huge or deep."""
        path, value = self.choice.choice([place for place in self.places() if place[0]])
        deep: Any = []
        for _ in range(self.choice.choice([3, 900])):
            deep = [deep]
        values = [
            None,
            True,
            0,
            -1,
            10**30,
            1e308,
            "",
            "x",
            "\x00",
            "é" * 50,
            "(" * 600,
            "9" * 5000,
            [],
            {},
            deep,
            "(- 1 1)",
        ]
        values += [[value], {"name": value}, "(" + "not " * 3 + "true)", "(not " * 490 + "true" + ")" * 490]
        kind = self.choice.choice(["set", "set", "delete", "add", "double"])
        parent = self.get(path[:-1])
        if kind == "set":
            self.put(path, self.choice.choice(values))
        elif kind == "delete":
            del parent[path[-1]]
        elif kind == "add" and isinstance(parent, dict):
            parent[self.choice.choice(["extra", "cuts", "cutoffs", "order", "proof"])] = self.choice.choice(values)
        elif isinstance(parent, list):
            parent.append(value)

    def borrow(self) -> None:
        """A part of another certificate in the place of this one's."""
        other = self.choice.choice(self.lenders)
        keys = [key for key in other if key not in ("sha256", "digest", "protocol")]
        for key in self.choice.sample(keys, min(len(keys), self.choice.randint(1, 3))):
            self.document[key] = copy.deepcopy(other[key])


CHANGES: dict[Callable[[Forger], None], int] = {
    Forger.rewrite_formula: 6,
    Forger.edit_formula: 6,
    Forger.change_invariants: 4,
    Forger.change_hints: 1,
    Forger.change_safety: 1,
    Forger.change_cuts: 3,
    Forger.change_refutations: 3,
    Forger.break_value: 2,
    Forger.borrow: 1,
}
"""What is done to every certificate, and how often."""
MORE: dict[str, tuple[Callable[[Forger], None], int]] = {
    "cutoffs": (Forger.change_cutoffs, 14),
    "properties": (Forger.change_argument, 16),
}
"""What is done to those that have such a part."""


def forge(
    choice: Random, document: Document, model: RelationalModel, name: str, lenders: Sequence[Document]
) -> tuple[Document, tuple[str, ...]]:
    """A forged certificate that a property holds, and what was done."""
    forger = Forger(choice, document, model, name, lenders)
    weights = dict(CHANGES)
    for key, (change, weight) in MORE.items():
        if key in document:
            weights[change] = weight
    for body in forger.bodies():
        if "properties" not in document and name not in body["safety"]:
            body["safety"] = [name]
    steps: list[str] = []
    for _ in range(choice.choice([0, 1, 1, 1, 2, 2, 3, 5])):
        (change,) = choice.choices(list(weights), list(weights.values()))
        change(forger)
        steps.append(change.__name__)
    if choice.random() < 0.97:
        put_right(forger.document, model)
    return forger.document, tuple(steps)


def put_right(document: Document, model: RelationalModel) -> None:
    """Sums that belong to what the certificates say now, those inside first."""
    if not isinstance(document, dict):
        return
    properties = document.get("properties")
    for item in properties if isinstance(properties, list) else ():
        if isinstance(item, dict):
            put_right(item.get("proof"), model)
    assert model.source is not None
    document["sha256"] = model.source.sha256
    document["digest"] = digest({key: value for key, value in document.items() if key != "digest"})


def _is_formula(path: Path) -> bool:
    if path[-1] in FORMULA_KEYS:
        return True
    if len(path) >= 3 and path[-3] in LISTS and path[-1] == 1:
        return True
    return len(path) >= 5 and path[-5] == "moves" and path[-1] != 1


def _spans(words: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Where the parts of an expression begin and end, those that name bound variables left out."""
    begun: list[int] = []
    binding = 0
    for index, word in enumerate(words):
        if word == "(":
            begun.append(index)
            if index and words[index - 1] in ("forall", "exists") and not binding:
                binding = len(begun)
        elif word == ")" and begun:
            if not binding:
                yield begun[-1], index + 1
            if binding == len(begun):
                binding = 0
            begun.pop()
        elif word != ")" and index and words[index - 1] != "(" and not binding:
            yield index, index + 1


def _body(text: str) -> str:
    """What stands below the first quantifier of a formula; all of it where there is none."""
    found = re.match(r"\(forall \((?:\([^()]*\) ?)*\) (.*)\)$", text)
    return found[1] if found else text


def _set(part: Any, key: str, value: Any) -> None:
    if isinstance(part, dict):
        part[key] = value
