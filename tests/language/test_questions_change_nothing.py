"""Does every function of the engine that is named as a question (`is_…`, `has_…`, `can_…`) only ask?

Read from the syntax tree. A function changes something where it assigns or deletes an attribute or an item of anything but
its own local variables, writes to a draft or a contact, or calls a function of the engine that does.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
MODULES = sorted((ROOT / "engine").rglob("*.py"))

QUESTIONS = ("is_", "has_", "can_", "_is_", "_has_", "_can_")

DRAFT_WRITES = frozenset(
    {
        *("put", "put_all", "remove", "end_lead_sweep", "end_contact_sweep", "take_place", "next_id"),
        *("fact", "emit", "fence", "send"),
    }
)
"""Methods of `Draft` that change the decision."""

PERSON_WRITES = frozenset(
    {
        *("add", "make_room", "save", "save_call", "save_head", "put", "remove_lead", "remove_call"),
        *("refuse_repeated", "refuse_repeated_id"),
    }
)
"""Methods of `Person` that change the contact."""

WRITES = {"draft": DRAFT_WRITES, "person": PERSON_WRITES}

STILL_CHANGE: frozenset[str] = frozenset()
"""Questions that change something today. Shrink this list; add nothing."""

Function = ast.FunctionDef | ast.AsyncFunctionDef
Name = tuple[str, str]
"""Module and function."""


def module_of(path: Path) -> str:
    """Return the dotted name of a file."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def functions() -> Iterator[tuple[str, Function]]:
    """Yield every function and method of the engine with its module."""
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, Function):
                yield module_of(path), node


@cache
def imports(module: str) -> dict[str, Name]:
    """Return what a module imports from the engine by name; an imported module has no function name."""
    path = ROOT / f"{module.replace('.', '/')}.py"
    found: dict[str, Name] = {}
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("engine"):
            found |= {alias.asname or alias.name: (node.module or "", alias.name) for alias in node.names}
    return found


def changes_itself(function: Function) -> bool:
    """Return whether the function assigns, deletes, or writes to a draft or a contact."""
    for node in ast.walk(function):
        match node:
            case (
                ast.Attribute(ctx=ast.Store() | ast.Del())
                | ast.Subscript(value=ast.Attribute(), ctx=ast.Store() | ast.Del())
            ):
                return True
            case ast.Call(func=ast.Name(id="setattr" | "delattr")):
                return True
            case ast.Call(func=ast.Attribute(value=owner, attr=method)) if method in WRITES.get(_last_name(owner), ()):
                return True
            case _:
                pass
    return False


def _last_name(node: ast.expr) -> str:
    """Return `draft` of `person.draft`, `person` of `person`."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def called(module: str, function: Function) -> Iterator[Name]:
    """Yield the functions of the engine that a function calls by name, or of a module that it imports."""
    known = imports(module)
    for node in ast.walk(function):
        match node:
            case ast.Call(func=ast.Name(id=name)):
                yield known.get(name, (module, name))
            case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=name)) if owner in known:
                yield f"{known[owner][0]}.{known[owner][1]}", name
            case _:
                pass


def functions_that_change() -> set[Name]:
    """Return the functions of modules that change something, themselves or by what they call."""
    everything = [((module, function.name), module, function) for module, function in functions()]
    changing = {name for name, _, function in everything if changes_itself(function)}
    while more := {
        name
        for name, module, function in everything
        if name not in changing and any(other in changing for other in called(module, function))
    }:
        changing |= more
    return changing


def test_a_question_of_the_engine_changes_nothing() -> None:
    changing = {f"{module}.{name}" for module, name in functions_that_change() if name.startswith(QUESTIONS)}

    assert changing == STILL_CHANGE


def test_a_function_that_changes_something_is_seen_to() -> None:
    changing = functions_that_change()

    assert ("engine.contact.timing.holding", "hold_step") in changing, "by what it calls: `hold`"
    assert ("engine.contact.lifecycle.stop", "block") in changing, "it assigns, and states a fact"
    assert ("engine.contact.lifecycle.stop", "is_closed") not in changing
