"""The search against the naive reference, and state counts against published and closed-form figures."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from random import Random

import pytest

from quorate.engines.rounds.naive import Configuration, Naive
from quorate.engines.rounds.search import Search, State
from quorate.lang import load_rounds, parse_rounds
from quorate.models.evaluation import Forgotten, Machine, setting
from quorate.models.rounds import RoundModel
from quorate.models.source import Source
from random_rounds import Generator

ROOT = Path(__file__).parents[3]


def library(name: str) -> RoundModel:
    return load_rounds(ROOT / "protocols" / "rounds" / f"{name}.rounds").model


def layered(search: Search, depth: int | None = None) -> dict[State, int]:
    """The depth of every state; anew whenever something forgotten is needed after all."""
    while True:
        try:
            found: dict[State, int] = {}
            for number, layer in enumerate(search.layers()):
                found.update(dict.fromkeys(layer, number))
                if number == depth:
                    break
            return found
        except Forgotten as problem:
            search.remember(problem.mark)


def explore(
    name: str, n: int, given: dict[str, int] | None = None, faults: int | None = None, **options: bool
) -> Search:
    model = library(name)
    search = Search(Machine(model), n, setting(model, n, given or {}), faults, **options)
    layered(search)
    return search


def naive_layers(naive: Naive, depth: int) -> dict[Configuration, int]:
    found = dict.fromkeys(naive.initial(naive.n), 0)
    layer = list(found)
    for number in range(1, depth + 1):
        following = dict.fromkeys(after for before in layer for after in naive.successors(before) if after not in found)
        found.update(dict.fromkeys(following, number))
        layer = list(following)
    return found


def normal_form(search: Search, at: Configuration) -> State:
    """The normal form of a configuration of the reference."""
    extra = [(number,) for number in at.done] or [()] * search.n
    names = search.names
    processes = []
    for process, done in zip(at.processes, extra, strict=True):
        changed = list(process)
        for i in names.times:
            if changed[i] == at.phase and at.phase > names.exact:
                changed[i] = names.late
        processes.append((*changed, *done))
    coordinators = at.coordinators if search.model.uses_coordinators else ()
    phase = names.phase(at.phase)
    if at.round and at.phase > names.exact:
        processes = list(_ranked(processes, names.times, names.late))
    return search.canonical(State(phase, at.round, at.lossy, 0, at.shared, tuple(processes), coordinators))


def _ranked(processes: list[tuple[int, ...]], times: list[int], late: int) -> list[tuple[int, ...]]:
    """Within a phase, times before it in the ranks that they had at its start are compared by their order only."""
    used = sorted({process[i] for process in processes for i in times if process[i] != late} | {0})
    ranks = {time: i for i, time in enumerate(used)} | {late: late}
    return [tuple(ranks[v] if i in times else v for i, v in enumerate(process)) for process in processes]


def compare(model: RoundModel, n: int, depth: int, faults: int | None = None) -> int:
    """Every state of the reference has its normal form among those of the search, at the same depth, and the reverse."""
    machine = Machine(model)
    parameters = setting(model, n, {})
    search = Search(machine, n, parameters, faults, forget=False)
    found = layered(search, depth)
    naive = Naive(machine, n, parameters, faults)

    def shape(state: State) -> State:
        if state.round and search.names.times and state.phase > search.names.exact:
            processes = _ranked(list(state.processes), search.names.times, search.names.late)
            state = search.canonical(state._replace(processes=tuple(processes)))
        return state._replace(budget=0)

    expected: dict[State, int] = {}
    for configuration, number in naive_layers(naive, depth).items():
        state = shape(normal_form(search, configuration))
        expected[state] = min(number, expected.get(state, number))
    mine: dict[State, int] = {}
    for state, number in found.items():
        key = shape(state)
        mine[key] = min(number, mine.get(key, number))
    if model.uses_coordinators:
        # Within a phase the normal form of a state with coordinators may keep states apart that are alike.
        mine, expected = ({s: d for s, d in found.items() if s.round == 0} for found in (mine, expected))
    assert mine == expected
    forgetful = layered(Search(machine, n, parameters, faults), depth)
    assert _decisions(machine, forgetful) == _decisions(machine, found)
    return len(mine)


def _decisions(machine: Machine, found: dict[State, int]) -> dict[tuple[tuple[int, ...], ...], int]:
    """After how many rounds which processes have decided what, up to renaming: this is never forgotten."""
    seen: dict[tuple[tuple[int, ...], ...], int] = {}
    for state, depth in found.items():
        rows = [process[machine.decision : machine.marks + 1] for process in state.processes]
        values = sorted({value for value, _ in rows} - {0})
        key = min(
            tuple(sorted((names[value], marks) for value, marks in rows))
            for order in permutations(range(1, len(values) + 1))
            for names in [{0: 0, **dict(zip(values, order, strict=True))}]
        )
        seen[key] = min(depth, seen.get(key, depth))
    return seen


@pytest.mark.parametrize("seed", range(60))
def test_random_algorithms_against_the_reference(seed: int) -> None:
    random = Random(seed)
    for _ in range(3):
        text = Generator(random).text()
        compare(parse_rounds(Source("random.rounds", text)).model, 2, 4)


@pytest.mark.parametrize("seed", range(40))
def test_random_algorithms_with_coordinators(seed: int) -> None:
    text = Generator(Random(1000 + seed), coordinators=True).text()
    compare(parse_rounds(Source("random.rounds", text)).model, 2, 4)


@pytest.mark.parametrize("faults", ["crashes 1", "omissions 2 in 2 rounds", "omissions in 1 rounds"])
def test_random_algorithms_with_faults(faults: str) -> None:
    for seed in range(10):
        text = Generator(Random(2000 + seed), faults=faults).text()
        compare(parse_rounds(Source("random.rounds", text)).model, 2, 3)


@pytest.mark.slow
def test_three_thousand_random_algorithms() -> None:
    kinds = ["", "", "crashes 1", "omissions 2 in 2 rounds", "omissions in 1 rounds"]
    for seed in range(3000):
        coordinators = seed % 3 == 2
        faults = "" if coordinators else kinds[seed % 5]
        text = Generator(Random(10**6 + seed), coordinators, faults).text()
        compare(parse_rounds(Source("random.rounds", text)).model, 2, 3)


def test_three_processes_against_the_reference() -> None:
    for seed in range(6):
        text = Generator(Random(3000 + seed)).text()
        compare(parse_rounds(Source("random.rounds", text)).model, 3, 2)


@pytest.mark.parametrize(
    ("name", "n", "states"),
    [("herlihy_cas", n, count) for n, count in ((2, 5), (3, 10), (4, 19), (5, 33), (6, 56), (8, 142), (9, 217))]
    + [("one_third_rule_lossy", n, count) for n, count in ((2, 6), (3, 11), (4, 26), (5, 45), (6, 80), (7, 172))],
)
def test_states_up_to_renaming(name: str, n: int, states: int) -> None:
    assert explore(name, n).found.states == states


@pytest.mark.parametrize(
    ("n", "faults", "states"), [(4, 1, 13), (4, 2, 17), (5, 1, 21), (5, 2, 26), (5, 5, 44), (6, 3, 49), (7, 2, 72)]
)
def test_states_with_bounded_omissions(n: int, faults: int, states: int) -> None:
    assert explore("one_third_rule_lossy", n, faults=faults).found.states == states


@pytest.mark.parametrize(("lossy", "states", "unreduced"), [(1, 26, 908), (2, 44, 1560), (3, 62, 2212)])
def test_more_lossy_rounds(lossy: int, states: int, unreduced: int) -> None:
    assert explore("one_third_rule_lossy", 4, {"lossy": lossy}).found.states == states
    search = explore("one_third_rule_lossy", 4, {"lossy": lossy}, values=False)
    assert sum(search.names.orbit(state.processes) or 0 for state in search.parents) == unreduced


@pytest.mark.parametrize(
    ("n", "f", "states"), [(2, 1, 22), (2, 2, 34), (3, 1, 137), (3, 2, 228), (4, 1, 1078), (4, 2, 2527)]
)
def test_crashes_without_symmetry(n: int, f: int, states: int) -> None:
    """FloodSet in which a crashing process reaches any subset of the others."""
    search = explore("flood_set", n, {"f": f}, values=False)
    assert sum(search.names.orbit(state.processes) or 0 for state in search.parents) == states
    if n < 4:
        assert explore("flood_set", n, {"f": f}, symmetry=False).found.states == states


@pytest.mark.parametrize("n", [2, 3, 4])
def test_steps_without_symmetry(n: int) -> None:
    """The closed form: every process has taken its step or not, and the register holds an input of one that has."""
    expected = n**n + n * ((n + 1) ** n - n**n)
    assert explore("herlihy_cas", n, symmetry=False).found.states == expected
