import os
import stat
import sys
import tempfile

import pytest

from quorate.engines.explicit import compile as compile_module
from quorate.engines.explicit import native
from quorate.engines.explicit.compile import CacheWarning, CompilerError, cache_folder, find_compiler, load_library
from quorate.engines.explicit.expressions import Graph
from quorate.engines.explicit.system import Rule, System

TEXT = "int answer(void) {{ return {}; }}\n"


@pytest.fixture(autouse=True)
def fresh(monkeypatch, tmp_path):
    """No compiler is remembered, and nothing is compiled yet."""
    monkeypatch.delenv("QUORATE_CC", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    find_compiler.cache_clear()
    yield
    find_compiler.cache_clear()


def script(folder, name, text):
    """A program that is found on no path but the given one."""
    path = folder / name
    path.write_text(f"#!{sys.executable}\n{text}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def compiled(cache):
    return sorted(path.name for path in (cache / "quorate").iterdir())


def test_a_library_is_compiled_once(tmp_path, monkeypatch):
    assert load_library(TEXT.format(41)).answer() == 41
    [first] = compiled(tmp_path / "cache")
    assert first.endswith(".so")

    def refuse(*args):
        raise AssertionError("compiled again")

    monkeypatch.setattr(compile_module, "_compile", refuse)
    assert load_library(TEXT.format(41)).answer() == 41
    with pytest.raises(AssertionError, match="compiled again"):
        load_library(TEXT.format(42))
    assert compiled(tmp_path / "cache") == [first]


def test_another_compiler_or_processor_compiles_anew(tmp_path, monkeypatch):
    load_library(TEXT.format(1))
    [command] = find_compiler()
    monkeypatch.setenv("QUORATE_CC", f"{command} -g0")
    find_compiler.cache_clear()
    load_library(TEXT.format(1))
    assert len(compiled(tmp_path / "cache")) == 2
    monkeypatch.setattr(compile_module, "_processor", lambda: "another processor")
    load_library(TEXT.format(1))
    assert len(compiled(tmp_path / "cache")) == 3


# -- no compiler -----------------------------------------------------------------------------------------------------


def test_no_compiler_at_all(monkeypatch):
    monkeypatch.setenv("QUORATE_CC", "")
    assert find_compiler() is None
    with pytest.raises(
        CompilerError, match=r"no C compiler was found; install gcc or clang, or `pip install quorate\[compiler\]`"
    ):
        load_library(TEXT.format(1))


def test_a_search_without_a_compiler_says_so(monkeypatch):
    monkeypatch.setenv("QUORATE_CC", "")
    system = System(Graph(), (2,), (), ((),), (Rule("", (), (), (), ()),), (), ())
    with pytest.raises(CompilerError, match="no C compiler was found"):
        native.explore(system)


def test_a_path_without_compilers(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(compile_module, "find_spec", lambda name: None)
    assert find_compiler() is None
    find_compiler.cache_clear()
    monkeypatch.setattr(compile_module, "find_spec", lambda name: object() if name == "ziglang" else None)
    found = find_compiler()
    assert found is not None and found[:3] == (sys.executable, "-I", "-S") and found[-1] == "cc" and "ziglang" in found


def test_the_order_in_which_compilers_are_looked_for(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    clang = script(tmp_path, "clang", "")
    assert find_compiler() == (clang,)
    gcc = script(tmp_path, "gcc", "")
    assert find_compiler() == (clang,), "found once, kept for good"
    find_compiler.cache_clear()
    assert find_compiler() == (gcc,)
    find_compiler.cache_clear()
    monkeypatch.setenv("QUORATE_CC", "my-cc --flag 'two words'")
    assert find_compiler() == ("my-cc", "--flag", "two words")


# -- a compiler that fails -------------------------------------------------------------------------------------------


def test_a_compiler_that_fails(monkeypatch, tmp_path):
    failing = script(
        tmp_path,
        "failing",
        "import sys\nprint('engine.c: In function f:\\nengine.c:1:2: error: no', file=sys.stderr)\nsys.exit(1)\n",
    )
    monkeypatch.setenv("QUORATE_CC", failing)
    with pytest.raises(CompilerError) as caught:
        load_library(TEXT.format(1))
    assert str(caught.value) == f"the C compiler {failing} failed: engine.c:1:2: error: no"
    assert compiled(tmp_path / "cache") == []


def test_a_compiler_that_fails_without_a_word(monkeypatch, tmp_path):
    failing = script(tmp_path, "failing", "raise SystemExit(3)\n")
    monkeypatch.setenv("QUORATE_CC", failing)
    with pytest.raises(CompilerError) as caught:
        load_library(TEXT.format(1))
    assert str(caught.value) == f"the C compiler {failing} failed: without a message"


def test_a_compiler_that_is_not_there(monkeypatch, tmp_path):
    missing = str(tmp_path / "missing-cc")
    monkeypatch.setenv("QUORATE_CC", missing)
    with pytest.raises(CompilerError) as caught:
        load_library(TEXT.format(1))
    assert str(caught.value) == f"the C compiler {missing} cannot be run: No such file or directory"


def test_text_that_is_no_c():
    with pytest.raises(CompilerError, match=r"failed: .*error"):
        load_library("int answer(void) { return }\n")


def test_a_compiler_that_does_not_know_the_machine(monkeypatch, tmp_path):
    """Without `-march=native` it is tried once more."""
    [real] = find_compiler()
    refusal = "if '-march=native' in sys.argv: sys.exit('unknown option')"
    picky = script(tmp_path, "picky", f"import os, sys\n{refusal}\nos.execv({real!r}, [{real!r}, *sys.argv[1:]])\n")
    monkeypatch.setenv("QUORATE_CC", picky)
    find_compiler.cache_clear()
    assert load_library(TEXT.format(7)).answer() == 7


# -- the cache -------------------------------------------------------------------------------------------------------


def test_the_cache_is_where_the_environment_says(monkeypatch, tmp_path):
    assert cache_folder() == tmp_path / "cache" / "quorate"
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_folder() == tmp_path / "home" / ".cache" / "quorate"


def unusable(kind, monkeypatch, tmp_path):
    if kind == "a file":
        (tmp_path / "file").write_text("")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    elif kind == "read-only":
        access = os.access
        monkeypatch.setattr(
            os, "access", lambda path, mode: path != tmp_path / "cache" / "quorate" and access(path, mode)
        )
    else:
        monkeypatch.delenv("XDG_CACHE_HOME")
        monkeypatch.setattr(compile_module.Path, "home", no_home)


def no_home():
    raise RuntimeError("Could not determine home directory.")


@pytest.mark.parametrize("kind", ["a file", "read-only", "no home"])
def test_without_a_cache_nothing_is_kept(kind, monkeypatch, tmp_path):
    unusable(kind, monkeypatch, tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert cache_folder() is None
    assert load_library(TEXT.format(13)).answer() == 13
    assert not (tmp_path / "cache" / "quorate").exists() or compiled(tmp_path / "cache") == []
    assert not list(tmp_path.glob("quorate-*"))


def test_a_relative_cache_is_not_used(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_folder() == tmp_path / "home" / ".cache" / "quorate" and not (tmp_path / "here").exists()


def test_only_the_user_can_write_the_cache(tmp_path):
    (tmp_path / "cache" / "quorate").mkdir(parents=True, mode=0o755)
    load_library(TEXT.format(1))
    [kept] = compiled(tmp_path / "cache")
    for path in (tmp_path / "cache" / "quorate", tmp_path / "cache" / "quorate" / kept):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700


def link_folder(cache):
    cache.rename(cache.with_name("elsewhere"))
    cache.symlink_to("elsewhere")


def open_base(cache):
    cache.parent.chmod(0o777)


def give_away(cache):
    os.chown(cache, 12345, 12345)


@pytest.mark.parametrize("change", [link_folder, open_base, give_away])
def test_a_folder_that_others_can_change_is_not_used(change, tmp_path):
    if change is give_away and os.geteuid() != 0:
        pytest.skip("only root gives folders away")
    cache = tmp_path / "cache" / "quorate"
    load_library(TEXT.format(1))
    [before] = compiled(tmp_path / "cache")
    change(cache)
    with pytest.warns(CacheWarning, match="compiled engines are not kept"):
        assert load_library(TEXT.format(2)).answer() == 2
    assert compiled(tmp_path / "cache") == [before]


def other_content(kept, evil):
    kept.write_bytes(evil.read_bytes())


def other_mode(kept, evil):
    kept.chmod(0o777)


def other_owner(kept, evil):
    os.chown(kept, 12345, 12345)


def symbolic_link(kept, evil):
    kept.unlink()
    kept.symlink_to(evil)


def hard_link(kept, evil):
    os.link(kept, evil.with_name("again.so"))


def other_key(kept, evil):
    """The library of another text under this one's name, with the sum that belongs to the other."""
    evil.rename(kept.with_name(f"{kept.name.partition('-')[0]}-{evil.name.partition('-')[2]}"))
    kept.unlink()


def pipe(kept, evil):
    kept.unlink()
    kept.mkdir()


CHANGES = [other_content, other_mode, other_owner, symbolic_link, hard_link, other_key, pipe]


@pytest.mark.parametrize("change", CHANGES)
def test_a_library_that_was_tampered_with_is_compiled_anew(change, tmp_path):
    if change is other_owner and os.geteuid() != 0:
        pytest.skip("only root gives files away")
    cache, mark = tmp_path / "cache", tmp_path / "mark"
    start = f'#include <stdio.h>\n__attribute__((constructor)) void run(void) {{ fclose(fopen("{mark}", "w")); }}'
    load_library(f"{start} int answer(void) {{ return 666; }}\n")
    [evil] = (cache / "quorate").iterdir()
    mark.unlink()
    load_library(TEXT.format(5))
    kept = next(path for path in (cache / "quorate").iterdir() if path != evil)
    change(kept, evil)
    with pytest.warns(CacheWarning, match="a compiled engine is not used"):
        assert load_library(TEXT.format(5)).answer() == 5
    assert not mark.exists()


# -- no program from the current folder ------------------------------------------------------------------------------


@pytest.mark.parametrize("entry", ["", ".", "tools", "{here}"])
def test_compilers_of_the_current_folder_are_not_run(entry, monkeypatch, tmp_path):
    here = tmp_path / "here"
    (here / "tools").mkdir(parents=True)
    for folder in (here, here / "tools"):
        for name in ("cc", "gcc", "clang", "as", "ld", "collect2", "cc1"):
            script(folder, name, f"open({str(tmp_path / 'mark')!r}, 'w')\nraise SystemExit(1)\n")
        (folder / "mark.h").write_text("#error included")
    monkeypatch.setenv("PATH", os.pathsep.join([entry.format(here=here), os.environ["PATH"]]))
    monkeypatch.setenv("CPATH", entry.format(here="."))
    monkeypatch.chdir(here)
    monkeypatch.setenv("CC", str(here / "cc"))
    text = f'#if __has_include("mark.h")\n#error found\n#endif\n{TEXT.format(3)}'
    assert load_library(text).answer() == 3
    assert not (tmp_path / "mark").exists()
