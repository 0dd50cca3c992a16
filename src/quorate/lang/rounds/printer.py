"""A round-based algorithm as text again."""

from __future__ import annotations

from quorate.models import rounds as r
from quorate.models.rounds import Node, RoundModel

POWER = {
    "->": 1,
    "or": 2,
    "and": 3,
    "not": 4,
    "=": 5,
    "!=": 5,
    "<": 5,
    "<=": 5,
    ">": 5,
    ">=": 5,
    "in": 5,
    "+": 6,
    "union": 6,
    "-": 6,
}
POWER |= {"*": 7, "/": 7}
KINDS = {"value": "value", "optional": "value or ?", "bool": "bool", "time": "time", "set": "set of value"}


def print_model(model: RoundModel) -> str:
    """The algorithm in the syntax of `*.rounds` files."""
    blocks = [f"algorithm {model.name}"]
    for item in model.parameters:
        default = f" = {show(item.default)}" if item.default else ""
        constraint = "" if item.constraint == r.Truth(True) else f" with {show(item.constraint)}"
        blocks.append(f"parameter {item.name}{default}{constraint}")
    if model.tags:
        blocks.append(f"tag {', '.join(model.tags)}")
    for word, variables in (("state", model.variables), ("shared", model.shared)):
        if variables:
            rows = [f"  {item.name}: {KINDS[item.kind]} = {show(item.initial)}" for item in variables]
            blocks.append("\n".join([word, *rows]))
    blocks += [show(item) for item in model.rounds]
    blocks += [show(item).replace("round", "step", 1) for item in model.steps]
    if model.phases is not None:
        blocks.append(f"phases {show(model.phases)}")
    if model.safe != r.Truth(True):
        blocks.append(f"safe {show(model.safe)}")
    if model.sync is not None:
        blocks.append(f"sync {show(model.sync)}")
    if model.faults is not None:
        bound = f" {show(model.faults.bound)}" if model.faults.bound else ""
        limit = f" in {show(model.faults.rounds)} rounds" if model.faults.rounds else ""
        blocks.append(f"faults {model.faults.kind}{bound}{limit}")
    built_in = [item.name for item in model.safety if item.formula is None]
    if built_in:
        blocks.append(f"property {', '.join(built_in)}")
    blocks += [f"safety [{item.name}] {show(item.formula)}" for item in model.safety if item.formula]
    blocks += [f"invariant [{item.name}] {show(item.formula)}" for item in model.invariants if item.formula]
    if model.univalent:
        blocks.append(f"univalent {model.univalent[0]}: {show(model.univalent[1])}")
    return "\n\n".join(blocks) + "\n"


def show(node: Node, power: int = 0) -> str:
    """A part of a definition as text."""
    match node:
        case r.Round(name, send, body):
            lines = [f"round {name}".rstrip()]
            if send is not None:
                condition = "" if send.condition == r.Truth(True) else f"if {show(send.condition)}: "
                lines.append(f"  {condition}send <{_list(send.items)}> to {send.to}")
            return "\n".join([*lines, *(line for item in body for line in _statement(item, 1))])
        case r.Number(value):
            return str(value)
        case r.Truth(value):
            return "true" if value else "false"
        case r.Nothing():
            return "?"
        case r.Anything():
            return "_"
        case r.Proposal():
            return "proposal"
        case r.Myself():
            return "self"
        case r.Phase():
            return "phase"
        case r.Coordinator(of):
            return f"coordinator({show(of)})" if of else "coordinator"
        case r.Tag(name) | r.Parameter(name) | r.Local(name) | r.Bound(name) | r.Bind(name):
            return name
        case r.VariableOf(name, process):
            return f"{name}({show(process)})"
        case r.Pattern(items, kept):
            return f"{'kept ' * kept}<{_list(items)}>"
        case r.Count(pattern):
            return f"#{show(pattern)}"
        case r.Counting(name, body):
            return f"#{{{name} : {show(body)}}}"
        case r.HeardOf(process, number):
            return f"HO({show(process)}, {number})" if process else f"kernel({number})"
        case r.Size(group):
            return f"#{show(group)}"
        case r.Member(element, group):
            return _bracket(f"{show(element, 6)} in {show(group)}", 5, power)
        case r.Related(relation, left, right):
            return _bracket(f"{show(left)} {relation} {show(right)}", 5, power)
        case r.AllReceived(pattern):
            return f"all received are {show(pattern)}"
        case r.Received(pattern, from_coordinator, where):
            text = f"{show(pattern)} received{' from coordinator' * from_coordinator}"
            if where != r.Truth(True):
                text += f" with {show(where, 2)}"
            return f"({text})" if power > 2 and where != r.Truth(True) else text
        case r.Choice(pick, name, pattern, extreme, where):
            text = f"{pick} {name} of {show(pattern)}"
            text += f" with {extreme[0]} {extreme[1]}" if extreme else ""
            text += f" where {show(where, 2)}" if where != r.Truth(True) else ""
            return _bracket(text, 6, power)
        case r.Quantified(universal, names, body):
            return _bracket(f"{'forall' if universal else 'exists'} {', '.join(names)}. {show(body)}", 0, power)
        case r.Operation(operator, operands):
            return _operation(operator, operands, power)
    raise AssertionError(node)


def _operation(operator: str, operands: tuple[Node, ...], power: int) -> str:
    if operator in ("max", "min"):
        return f"{operator}({_list(operands)})"
    if operator == "singleton":
        return f"{{{show(operands[0])}}}"
    if operator == "size":
        return f"#({show(operands[0])})"
    if operator in ("smallest", "largest"):
        return f"{operator} of {show(operands[0], 9)}"
    own = POWER[operator]
    if operator == "not":
        return _bracket(f"not {show(operands[0], own)}", own, power)
    if operator in ("and", "or"):
        return _bracket(f" {operator} ".join(show(item, own + 1) for item in operands), own, power)
    left, right = operands
    if operator == "->":
        return _bracket(f"{show(left, own + 1)} -> {show(right, own)}", own, power)
    space = "" if operator in "*/" else " "
    operator = "+" if operator == "union" else operator
    return _bracket(f"{show(left, own)}{space}{operator}{space}{show(right, own + 1)}", own, power)


def _bracket(text: str, own: int, power: int) -> str:
    return f"({text})" if own < power else text


def _list(items: tuple[Node, ...]) -> str:
    return ", ".join(show(item, 6) for item in items)


def _statement(node: Node, depth: int) -> list[str]:
    indent = "  " * depth
    match node:
        case r.Assign(name, value):
            return [f"{indent}{name} := {show(value)}"]
        case r.Decide(value):
            return [f"{indent}decide {show(value)}"]
        case r.If(condition, then, otherwise):
            lines = [f"{indent}if {show(condition)}:", *(line for item in then for line in _statement(item, depth + 1))]
            if otherwise:
                lines += [f"{indent}else:", *(line for item in otherwise for line in _statement(item, depth + 1))]
            return lines
    raise AssertionError(node)
