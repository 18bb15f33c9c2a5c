"""What does each kind of step do, and where does it lead?"""

# ruff: noqa: E501 - a row is a line
from typing import Any

from tests.engine.preview.table.rows import Json, PreviewRow, call, email, sms, step, wait, webhook

DONE = "= completed_connected"
TRIED = "= completed_attempted"
AT = "2026-07-15 10:00 -0400"


def row(
    case: str, steps: list[Json], *answer: str, lead: Json | None = None, asked: Json | None = None, **fields: Any
) -> PreviewRow:
    """A lead with number and address on a Wednesday morning."""
    return PreviewRow(
        case, AT, steps, answer, lead={"email": "ada@example.com", **(lead or {})}, fields=fields, asked=asked or {}
    )


def then(name: str = "c", clock: str = "10:00", *why: str) -> str:
    """One action on that day."""
    return " ".join([name, "2026-07-15", clock, "-0400", *why])


def way(case: str, filters: list[str], *, is_taken: bool, **lead: Any) -> PreviewRow:
    """A branch of one rule: the text where its filters hold, else the e-mail."""
    steps = [step("branch", "b", rules=[{"if": filters, "goto": "s"}], **{"else": "m"}), sms(), step("exit", "out"), email()]
    answer = [then("s"), TRIED] if is_taken else [then("m"), "= completed"]
    return row(case, steps, *answer, lead={"data": {"roof": "flat", "age": "42", "city": "Salem"}, **lead})


ROWS = [
    row("every channel", [call(), sms(), email(), webhook()], then("c", "10:00"), then("s"), then("m"), then("w"), DONE),
    row("a tag", [step("tag", "t", add=["warm"]), step("branch", "b", rules=[{"if": ["tags:warm"], "goto": "s"}], **{"else": "c"}), call(), sms()], then("t"), then("s"), TRIED),
    row("a tag taken off", [step("tag", "t", add=["warm"]), step("tag", "u", remove=["warm"]), step("branch", "b", rules=[{"if": ["tags:warm"], "goto": "s"}], **{"else": "c"}), call(), step("exit", "x"), sms()], then("t"), then("u"), then(), DONE),
    row("an update of the lead", [step("update_lead", "u", set={"roof": "flat"}), step("branch", "b", rules=[{"if": ["roof:flat"], "goto": "s"}], **{"else": "c"}), call(), sms()], then("u"), then("s"), TRIED),
    row("a token taken away", [step("update_lead", "u", unset=["roof"]), step("branch", "b", rules=[{"if": ["roof:flat"], "goto": "s"}], **{"else": "c"}), call(), step("exit", "x"), sms()], then("u"), then(), DONE, lead={"data": {"roof": "flat"}}),
    row("exit with success", [call(), step("exit", "x", result="success")], then(), "= success"),
    row("exit with failure", [call(), step("exit", "x", result="failure")], then(), "= failure"),
    row("exit as completed", [call(), step("exit", "x")], then(), DONE),
    row("an exit does the end steps", [call(), step("exit", "x", result="success")], then(), then("w"), "= success", end_steps=[webhook()]),
    row("nothing but waits", [wait("1h")], "= completed"),
    row("an opt-out", [sms(), step("opt_out", "o")], then("s"), then("o"), "= opt_out"),
    row("a block", [sms(), step("block", "o")], then("s"), then("o"), "= blocked"),
    row("the do-not-call list", [sms(), step("suppress", "o")], then("s"), then("o"), "= dnc"),
    row("another schedule", [sms(), step("move_to_schedule", "v", schedule_id=77)], then("s"), then("v"), "= waiting moved_to_schedule"),
    row("a restart", [sms(), wait("1h"), step("restart", "r"), call()], then("s", "10:00", "#1"), then("r", "11:00"), then("s", "11:00", "#1"), then("c", "12:00", "#2"), DONE),
    row("a restart forgets nothing of the lead", [step("branch", "b", rules=[{"if": ["tags:seen"], "goto": "c"}], **{"else": "t"}), step("tag", "t", add=["seen"]), wait("1h"), step("restart", "r"), call()], then("t"), then("r", "11:00"), then("c", "11:00"), DONE),
    # Branches: "key:value", "key:!=x", "key:>=10"; AND over the list, | within a value
    way("a token that fits", ["roof:flat"], is_taken=True),
    way("a token that does not", ["roof:steep"], is_taken=False),
    way("a token that is not there", ["garden:big"], is_taken=False),
    way("either of two values", ["roof:steep|flat"], is_taken=True),
    way("both filters", ["roof:flat", "city:Salem"], is_taken=True),
    way("one of both is not enough", ["roof:flat", "city:Boston"], is_taken=False),
    way("not that value", ["roof:!=steep"], is_taken=True),
    way("not this value", ["roof:!=flat"], is_taken=False),
    way("at least", ["age:>=42"], is_taken=True),
    way("more than", ["age:>42"], is_taken=False),
    way("at most", ["age:<=42"], is_taken=True),
    way("less than", ["age:<42"], is_taken=False),
    way("numbers, not letters", ["age:>=9"], is_taken=True),
    way("the state that was stated", ["state:CA"], is_taken=True, state="CA"),
    way("another state", ["state:CA"], is_taken=False, state="FL"),
    way("the attempts so far", ["attempts:0"], is_taken=True),
    way("capital letters or small ones", ["city:salem"], is_taken=True),
    way("a day of the week", ["weekday:wed|thu"], is_taken=True),
    way("the time on the lead's clock", ["time:>=10:00", "time:<10:01"], is_taken=True),
    way("the time has passed", ["time:<10:00"], is_taken=False),
    row("the first rule that fits", [step("branch", "b", rules=[{"if": ["roof:steep"], "goto": "c"}, {"if": ["roof:flat"], "goto": "s"}, {"if": ["roof:flat"], "goto": "m"}], **{"else": "c"}), call(), step("exit", "x"), sms(), step("exit", "y"), email()], then("s"), TRIED, lead={"data": {"roof": "flat"}}),
    row("a branch without else goes on", [step("branch", "b", rules=[{"if": ["roof:flat"], "goto": "s"}]), call(), sms()], then(), then("s"), DONE),
    row("a branch by the outcome before", [call(), step("branch", "b", rules=[{"if": ["outcome:no_answer"], "goto": "s"}], **{"else": "m"}), sms(), step("exit", "x"), email()], then(), then("s"), TRIED, asked={"outcomes": {"call": "no_answer"}}),
    row("a split of equal ends", [step("split", "p", paths=[{"goto": "s"}, {"goto": "s", "weight": 9}]), sms()], then("s"), TRIED),
    row("a loop with a wait", [sms(), wait("1h"), step("branch", "b", rules=[{"if": ["attempts:<3"], "goto": "s"}], **{"else": "m"}), email()], then("s"), then("s", "11:00"), then("s", "12:00"), then("m", "13:00"), TRIED),
    # Triggers
    row("a trigger at the entrance goes elsewhere", [call(), step("exit", "x"), sms()], then("s"), TRIED, triggers=[{"on": "enter", "type": "tokens_match", "filters": ["roof:flat"], "goto": "s"}], lead={"data": {"roof": "flat"}}),
    row("one that does not fit", [call(), step("exit", "x"), sms()], then(), DONE, triggers=[{"on": "enter", "type": "tokens_match", "filters": ["roof:flat"], "goto": "s"}]),
    row("one that fits ends the lead", [call()], "= success", triggers=[{"on": "enter", "type": "tokens_match", "filters": ["roof:flat"], "end_result": "success"}], lead={"data": {"roof": "flat"}}),
    row("a trigger of the dial", [call(), wait("1h"), sms()], then(), DONE, triggers=[{"on": "exit", "type": "dial"}]),
    row("a trigger of the buyer", [call(), wait("1h"), sms()], then(), "= success", triggers=[{"on": "exit", "type": "buyer_connected", "end_result": "success"}], asked={"outcomes": {"call": "connected_buyer"}}),
    row("nothing triggered", [call(), wait("1h"), sms()], then(), then("s", "11:00"), TRIED, triggers=[{"on": "exit", "type": "buyer_connected"}], asked={"outcomes": {"call": "no_answer"}}),
    row("a trigger of a token that a step sets", [call(), step("update_lead", "u", set={"sold": "yes"}), sms()], then(), then("u"), "= success", triggers=[{"on": "exit", "type": "tokens_match", "filters": ["sold:yes"], "end_result": "success"}]),
    row("tokens of a trigger", [step("branch", "b", rules=[{"if": ["from:door"], "goto": "s"}], **{"else": "c"}), call(), sms()], then("s"), TRIED, triggers=[{"on": "enter", "type": "none", "add_tokens": {"from": "door"}}]),
    row("an expiry of a trigger", [call(), wait("2h"), sms()], then(), "= expired 2026-07-15 10:30 -0400", triggers=[{"on": "enter", "type": "none", "expire_minutes": 30}]),
    # Texts
    row("a token that is missing skips the step", [sms(template="Hi {{first_name}}", missing_token="skip_step"), email()], then("m"), "= completed"),
    row("or ends the lead", [sms(template="Hi {{first_name}}", missing_token="fail"), email()], "= failure"),
    row("or is left empty", [sms(template="Hi {{first_name}}")], then("s"), TRIED),
    row("one that is there", [sms(template="Hi {{first_name}}", missing_token="skip_step")], then("s"), TRIED, lead={"data": {"first_name": "Ada"}}),
]  # fmt: skip
