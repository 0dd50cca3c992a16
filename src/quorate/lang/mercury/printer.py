"""A Mercury program as text, in the syntax of the paper: what is printed reads back as the same program."""

from __future__ import annotations

from quorate.models.process import (
    Action,
    AllProcesses,
    Arithmetic,
    Assign,
    Combination,
    Comparison,
    Consensus,
    Count,
    Descriptor,
    Expression,
    Goto,
    Handler,
    If,
    Internal,
    Junction,
    Location,
    Negation,
    NoProcesses,
    Number,
    Partition,
    ProcessCount,
    ProcessModel,
    Read,
    Receive,
    Self,
    Send,
    SetUpdate,
    Specification,
    Statement,
    Truth,
    Variable,
)

POWERS = {"|": 10, "&": 20, "=": 30, "!=": 30, "<": 30, "<=": 30, ">": 30, ">=": 30, "+": 40, "-": 40, "*": 50, "/": 50}
SPELLING = {"|": "||", "&": "&&", "=": "=="}


def print_program(model: ProcessModel) -> str:
    """The whole program."""
    lines = [f"process {model.name}"]
    for item in model.safety:
        name = f"[{item.name}] " if item.name.isidentifier() else ""
        lines += ["", f"satisfies safety {name}{print_specification(item.specification)}"]
    if model.variables:
        lines += ["", "variables", *(f"    {_variable(item)}" for item in model.variables)]
    if model.actions:
        lines += ["", "actions", *(f"    {_action(item)}" for item in model.actions)]
    if model.crash_locations or model.crash_actions:
        lines.append("")
        lines += [f"crash locations: {', '.join(model.crash_locations)};"] * bool(model.crash_locations)
        lines += [f"crash actions: {', '.join(model.crash_actions)};"] * bool(model.crash_actions)
    for number, location in enumerate(model.locations):
        lines += ["", f"{'initial ' * (number == 0)}location {location.name}", *_location(location)]
    return "\n".join(lines) + "\n"


def _variable(item: Variable) -> str:
    if item.kind != "int":
        return f"{'idSet' if item.kind == 'set' else 'id'} {item.name}"
    return f"int[{show(item.low)}, {show(item.high)}] {item.name} := {show(item.initial)}"


def _action(item: Action) -> str:
    domain = f"int[{show(item.bounds[0])}, {show(item.bounds[1])}]" if item.bounds else "unit"
    return f"{'env ' * item.environment}{'br' if item.broadcast else 'rz'} {item.name} : {domain}"


def _location(location: Location) -> list[str]:
    lines = []
    for handler in location.handlers:
        lines += _handler(handler)
    return lines + [f"    passive {', '.join(location.passive)}"] * bool(location.passive)


def print_event(handler: Handler) -> str:
    """The event of a handler."""
    match handler.event:
        case Internal():
            return "_"
        case Receive(action):
            return f"recv({action})"
        case Partition(name, participants, winners, implementation):
            text = f"Partition<{name}>({show(participants)}, {winners})"
        case Consensus(name, participants, proposal, implementation):
            text = f"Consensus<{name}>({show(participants)}, 1, {proposal or '_'})"
    return text + (f' implemented by "{implementation}"' if implementation else "")


def _handler(handler: Handler) -> list[str]:
    head = f"    on {print_event(handler)}"
    if handler.guard is not None:
        head += f" where ({show(handler.guard)})"
    if handler.reply:
        send = handler.body[0]
        assert isinstance(send, Send)
        return [f"{head} reply {_message(send)}"]
    if handler.lose is None:
        return [f"{head} do", *_block(handler.body, 8)]
    return [head, "      win:", *_block(handler.body, 8), "      lose:", *_block(handler.lose, 8)]


def _block(body: tuple[Statement, ...], indent: int) -> list[str]:
    lines = []
    for statement in body:
        if isinstance(statement, If):
            lines += [f"if ({show(statement.condition)}) {{", *_block(statement.then, 4)]
            lines += ["} else {", *_block(statement.otherwise, 4)] if statement.otherwise else []
            lines.append("}")
        else:
            lines.append(print_statement(statement))
    return [" " * indent + line for line in lines]


def _message(send: Send) -> str:
    return send.action + (f"[{show(send.payload)}]" if send.payload is not None else "")


def print_statement(statement: Statement) -> str:
    """One statement on one line."""
    match statement:
        case Assign(variable, value):
            return f"{variable} := {show(value)};"
        case SetUpdate(operation, variable, value, many):
            return f"{variable}.{operation}{'All' * many}({show(value)});"
        case Goto(location):
            return f"goto {location};"
        case Send(_, broadcast, _, target):
            to = f", {show(target)}" if target is not None else ""
            return f"{'sendbr' if broadcast else 'sendrz'}({_message(statement)}{to});"
        case If(condition):
            return f"if ({show(condition)}) …"


def show(expression: Expression, power: int = 0) -> str:
    """An expression, in parentheses where operators around it bind as strongly."""
    match expression:
        case Number(value):
            return str(value)
        case ProcessCount():
            return "N"
        case Read(name):
            return name.replace(".payld", ".payload")
        case Self():
            return "self"
        case AllProcesses():
            return "All"
        case NoProcesses():
            return "Empty"
        case Truth(value):
            return str(value)
        case Negation(operand):
            return f"!{show(operand, 60)}"
        case Junction(operator, operands):
            inner = f" {SPELLING[operator]} ".join(show(item, POWERS[operator] + 1) for item in operands)
        case Arithmetic(operator, left, right) | Comparison(operator, left, right):
            mine = POWERS[operator]
            inner = f"{show(left, mine + (mine == 30))} {SPELLING.get(operator, operator)} {show(right, mine + 1)}"
    strength = POWERS[expression.operator]
    return f"({inner})" if strength < power else inner


def print_specification(item: Specification, power: int = 0) -> str:
    """A specification, in parentheses where operators around it bind as strongly."""
    if isinstance(item, Count):
        listed = ", ".join(map(_descriptor, item.descriptors))
        return f"{'atmost' if item.most else 'atleast'}({item.number}, {{{listed}}})"
    assert isinstance(item, Combination)
    if item.operator == "!":
        return f"!{print_specification(item.operands[0], 60)}"
    mine = POWERS[item.operator]
    inner = f" {SPELLING[item.operator]} ".join(print_specification(operand, mine + 1) for operand in item.operands)
    return f"({inner})" if mine < power else inner


def _descriptor(item: Descriptor) -> str:
    return item.location + (f": {show(item.predicate)}" if item.predicate is not None else "")
