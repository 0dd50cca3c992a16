"""Methods for relational protocols, each as a racer runs it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from quorate.logic.terms import Sort
from quorate.models.relational import RelationalModel
from quorate.proof import liveness
from quorate.proof.verdicts import Result
from quorate.strategy.claims import checked, needed_by
from quorate.strategy.question import Finding, Lemma, Proof, Question, Tell

SEARCHING = 1.4
"""Processor seconds for a first look for cutoffs."""
LONGER = 15.0
"""How many times the seconds of that look may go into the small instance, once there is one."""


def _relational(question: Question) -> RelationalModel:
    assert isinstance(question.model, RelationalModel)
    return question.model


def sizes_to_try(question: Question) -> list[dict[Sort, int]]:
    """What the properties name, then two of everything, three of one sort, three of everything, four of one sort, and so on.

    Sorts that the axioms order come first: they are ballots, epochs and the like, and it takes some of them to go wrong, one
    more than the properties name for a start.  Properties that are settled count too: they tell what the protocol is about.
    """
    from quorate.logic.terms import Forall
    from quorate.methods.inference.language import total_orders

    model = question.whole or question.model
    assert isinstance(model, RelationalModel)
    ordered = total_orders(model)
    sorts = sorted((sort for sort in model.sorts if sort.uninterpreted), key=lambda sort: sort not in ordered)
    prefixes = [item.formula.variables for item in model.safety if isinstance(item.formula, Forall)]
    named = {sort: max([1, *([v.sort for v in prefix].count(sort) for prefix in prefixes)]) for sort in sorts}
    found: list[dict[Sort, int]] = [{sort: min(4, named[sort] + (sort in ordered)) for sort in sorts}]
    for size in (2, 3, 4):
        base = dict.fromkeys(sorts, max(2, size - 1))
        found += [{**base, sort: size} for sort in sorts if size > 2]
        found.append(dict.fromkeys(sorts, size))
    return [sizes for number, sizes in enumerate(found) if sizes not in found[:number]]


def _shown_sizes(sizes: Mapping[Sort, int]) -> str:
    return ", ".join(f"{sort}={size}" for sort, size in sizes.items()) or "the only size"


def bounded(question: Question, number: int, tell: Tell) -> Iterator[Finding]:
    """Runs of bounded length at small sizes, by SAT; of protocols with integers, at all sizes, by the solvers."""
    from quorate.methods.induction.bounded import METHOD, finite_search, symbolic_search, uses_integers

    model = _relational(question)
    ends = time.monotonic() + question.seconds
    open_properties = list(model.safety)
    depth = (12, 12, 16, 16, 24, 32)[number]

    def violated(trace: Any, scope: str) -> Finding:
        item = next(item for item in open_properties if item.name == trace.violated)
        open_properties.remove(item)
        steps = len(trace.steps)
        reason = f"after {steps} step{'s' * (steps != 1)}"
        return Finding((Result(item.name, "safety", "violated", METHOD, scope, reason, trace, item.span),))

    if uses_integers(model):
        quick = replace(question.limits, timeout=min(question.limits.timeout, question.seconds / 4))
        length = 0
        while open_properties and length <= depth and time.monotonic() < ends:
            tell(f"all runs of {length} steps, at all sizes")
            status, trace, _ = symbolic_search(model, open_properties, length, quick)
            if trace is not None:
                yield violated(trace, model.all_sizes)
            elif status == "unsat":
                yield Finding(established=f"no violation within {length} step{'s' * (length != 1)}, at any size")
                length += 1
            else:
                return
        return
    listed = sizes_to_try(question)
    for place, sizes in enumerate(listed):
        while open_properties:
            left = ends - time.monotonic()
            if left <= 0.05:
                return
            each = 0.7 * left if place == 0 else max(question.seconds / 6, left / (len(listed) - place))
            tell(f"runs of up to {depth} steps, {_shown_sizes(sizes)}")
            found = finite_search(model, open_properties, sizes, depth, question.limits, min(left, each))
            if found is not None and found.trace is not None:
                yield violated(found.trace, _shown_sizes(sizes))
                continue
            if found is not None and found.empty:
                yield Finding(reason=f"there is no initial state with {_shown_sizes(sizes)}")
            elif found is not None and found.depth == depth:
                yield Finding(established=f"no violation within {depth} steps with {_shown_sizes(sizes)}")
            break


def instances(question: Question, number: int, tell: Tell) -> Iterator[Finding]:
    """All states of small instances."""
    from quorate.engines.explicit.instance import Instance
    from quorate.engines.explicit.worlds import InstanceError
    from quorate.methods.explicit.check import Options, check

    model = _relational(question)
    ends = time.monotonic() + question.seconds
    open_properties = list(model.safety)
    listed = sizes_to_try(question)
    finished = largest = 0
    for place, sizes in enumerate(listed):
        while open_properties and time.monotonic() < ends:
            part = replace(model, safety=tuple(open_properties))
            shown = _shown_sizes(sizes)
            tell(f"all states with {shown}")
            left = (ends - time.monotonic()) / (1 if place == len(listed) - 1 else 2)
            options = Options(jobs=1, memory_mb=question.limits.memory_mb, timeout=left, fleeting=True)
            try:
                outcome = check(Instance(part, sizes), options, tell)
            except InstanceError as problem:
                yield Finding(reason=str(problem))
                break
            bad = [result for result in outcome.results if result.verdict == "violated" and result.kind == "safety"]
            yield Finding(tuple(replace(result, scope=shown) for result in bad))
            open_properties = [item for item in open_properties if item.name not in {r.property for r in bad}]
            if not bad:
                if outcome.found.states and all(r.verdict == "proved" for r in outcome.results if r.kind == "safety"):
                    states = f"{outcome.found.unreduced:,} states"
                    if sum(sizes.values()) > largest:
                        yield Finding(established=f"no violation in all {states} with {shown}")
                    largest = max(largest, sum(sizes.values()))
                    finished += 1
                break
    yield Finding(complete=finished == len(listed))


def simulate(question: Question, number: int, tell: Tell) -> Iterator[Finding]:
    """Random runs of instances with three and four elements of each sort."""
    from quorate.engines.explicit.instance import Instance
    from quorate.engines.explicit.worlds import InstanceError
    from quorate.methods.explicit.simulate import simulate as run

    model = _relational(question)
    ends = time.monotonic() + question.seconds
    for size in (3, 4):
        left = ends - time.monotonic()
        if left <= 0:
            return
        sizes = {sort: size for sort in model.sorts if sort.uninterpreted}
        tell(f"random runs with {_shown_sizes(sizes)}")
        try:
            done = run(Instance(model, sizes), 100_000, 50, question.limits.seed + number, left / 2, tell)
        except InstanceError as problem:
            yield Finding(reason=str(problem))
            return
        bad = tuple(result for result in done.results if result.verdict == "violated")
        yield Finding(bad)
        if bad:
            return


def induct(question: Question, number: int, tell: Tell) -> Iterator[Finding]:
    """Are the safety properties, with the invariants of the file, inductive?"""
    from quorate.lang.extend import print_formulas
    from quorate.methods.induction.induct import Search, certificate_of_some, prove
    from quorate.methods.induction.induct import induct as explain

    model = _relational(question)
    outcome = prove(model, question.limits, tell)
    certificate = certificate_of_some(outcome)
    if certificate is not None:
        needed = needed_by(certificate, (transition.name for transition in model.transitions))
        used = [item for item in model.invariants if item in outcome.proved]
        texts = print_formulas(model, [item.formula for item in used])
        lemmas = [Lemma(item.name, text, needed.get(item.name, ())) for item, text in zip(used, texts, strict=True)]
        yield checked(question, certificate, "induction", model.all_sizes, lemmas, tell, found=False)
    failing = [item for item in model.properties if item not in outcome.proved]
    if not failing:
        return
    if not model.invariants:
        yield Finding(reason=f"{', '.join(item.name for item in failing)} not inductive", complete=True)
        return
    tell("looking for the smallest counterexample to induction")
    full = explain(model, question.limits, Search(depth=0, seconds=2.0), tell).results
    open_results = [result for result in full if result.verdict != "proved"]
    names = ", ".join(result.property for result in open_results)
    suggestions = [result for result in open_results if result.kind == "safety"]
    lemma = next((result for result in open_results if result.kind == "invariant"), None)
    if lemma is not None and len(suggestions) < len(model.safety):
        suggestions += [
            replace(
                lemma, property=item.name, kind="safety", span=item.span, reason=f"{lemma.property}: {lemma.reason}"
            )
            for item in model.safety
            if item.name not in {result.property for result in suggestions}
        ]
    yield Finding(reason=f"not inductive with the file's invariants: {names}", suggestions=tuple(suggestions))


def infer(question: Question, number: int, tell: Tell) -> Iterator[Finding]:
    """Find the invariants."""
    from quorate.engines.explicit.compile import CompilerError
    from quorate.engines.explicit.worlds import InstanceError
    from quorate.lang.extend import print_formulas
    from quorate.logic.structures import EvaluationError
    from quorate.methods.inference.infer import Options
    from quorate.methods.inference.infer import infer as search
    from quorate.methods.inference.plain import plain_invariants

    model = _relational(question)
    options = Options(question.seconds, question.limits.seed)
    try:
        outcome = search(model.with_invariants(()), question.limits, options, tell)
    except (CompilerError, InstanceError, EvaluationError) as problem:
        yield Finding(reason=f"inference cannot handle this protocol: {problem}")
        return
    if outcome.certificate is None:
        bad = [result for result in outcome.results if result.verdict == "violated"]
        yield Finding(tuple(bad), reason="" if bad else "inference found no inductive invariant")
        return
    found = outcome.invariants + plain_invariants(outcome.model, outcome.certificate)
    texts = print_formulas(outcome.model, [item.formula for item in found])
    lemmas = [
        Lemma(item.name, text, outcome.needed.get(item.name, ())) for item, text in zip(found, texts, strict=True)
    ]
    yield checked(question, outcome.certificate, "inference", model.all_sizes, lemmas, tell)


def cutoff(question: Question, number: int, tell: Tell) -> Iterator[Finding]:
    """A small instance that shows every violation, and is safe; or a violation of it."""
    from quorate.engines.explicit.compile import CompilerError
    from quorate.engines.explicit.worlds import InstanceError
    from quorate.methods.cutoff.cutoff import METHOD, Options
    from quorate.methods.cutoff.cutoff import cutoff as search
    from quorate.methods.cutoff.show import explained, small_instance

    model = _relational(question)
    try:
        short = Options(question.seconds, processor=SEARCHING, longer=LONGER * question.seconds, alone=False)
        outcome = search(model, question.limits, short if number == 0 else Options(question.seconds), tell)
    except (CompilerError, InstanceError) as problem:
        yield Finding(reason=f"cutoffs cannot be looked for: {problem}")
        return
    if outcome.certificate is None:
        bad = tuple(result for result in outcome.results if result.verdict == "violated")
        why = next((result.reason for result in outcome.results if result.verdict == "unknown"), "")
        hopeless = not outcome.found and not any(failed.cut_short for failed in outcome.failed)
        yield Finding(bad, reason=why, complete=hopeless)
        return
    sizes = ", ".join(f"{found.sort}={found.cutoff.size}" for found in outcome.found if found.cutoff)
    words = [*(line for found in outcome.found for line in explained(found)), *small_instance(outcome)]
    yield checked(question, outcome.certificate, METHOD, f"{model.all_sizes}, cutoff {sizes}", (), tell, words=words)


def live(question: Question, number: int, tell: Tell) -> Iterator[Finding]:
    """Fair runs that violate a liveness property, then rankings that exclude them."""
    from quorate.engines.explicit.compile import CompilerError
    from quorate.methods.liveness.live import Options
    from quorate.methods.liveness.live import live as search
    from quorate.methods.liveness.show import explanation

    model = _relational(question)
    each = question.seconds / len(model.liveness)
    try:
        outcome = search(model, question.limits, Options(each, question.limits.seed), tell)
    except CompilerError as problem:
        yield Finding(reason=f"liveness cannot be looked at: {problem}")
        return
    whole = question.whole or question.model
    assert isinstance(whole, RelationalModel)
    proofs = {proved.argument.property: (proved, support) for proved, support in outcome.proved}
    for result in outcome.results:
        if result.verdict == "violated":
            yield Finding((result,))
        elif result.verdict == "proved":
            proved, support = proofs[result.property]
            certificate = liveness.certify(whole, [proved])
            count = sum(len(section.obligations) for section in liveness.sections(whole, certificate))
            words = tuple(explanation(whole, proved, support).splitlines())
            reason = f"{result.reason}; certificate checked: {count} obligations, two solvers"
            yield Finding((replace(result, reason=reason),), Proof(certificate, count, words=words))
        else:
            yield Finding(suggestions=(result,))
