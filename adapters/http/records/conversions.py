"""Which leads and calls converted, for a buyer or an offer? One record of each conversion, also where it was taken back."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from adapters.http.exchange.answers import (
    PAGING_PARAMETERS,
    read_columns,
    read_paging,
    reply_with_list,
    reply_with_record,
)
from adapters.http.exchange.exchange import Exchange, Handler, Operation, Reply
from adapters.http.exchange.parameters import Parameters
from adapters.http.exchange.problems import not_found
from adapters.http.schema.inputs import BOOLEAN, ID
from adapters.http.schema.shapes import many_of, one_of
from adapters.reads.ports import ConversionFilter, Paging, Row
from engine.views.conversion import conversion_columns, conversion_view

PAYERS: Mapping[str, str] = {"buyer": "buyer_id", "offer": "traffic_source_id"}
"""Side -> what a list of its conversions can be of, beside a lead or call."""

_SHARED = ("page", "per_page", "cursor", "ids", "created_at_from", "created_at_to", "time_zone", "columns", "root")


async def find_conversion(exchange: Exchange, side: str, reference: int | str) -> Row | None:
    """Return a conversion of the company that the sender may see, or None."""
    about: dict[str, Any] = {"ids": (reference,)} if isinstance(reference, int) else {"uuid": reference}
    wanted = ConversionFilter(side=side, **about)
    page = await exchange.reads.conversions(exchange.company_id, wanted, Paging(per_page=1, counted=False))
    return page.rows[0] if page.rows else None


async def _index(exchange: Exchange, side: str) -> Reply:
    parameters = Parameters(exchange.query)
    paging = read_paging(parameters, ())
    columns = read_columns(parameters, conversion_columns(side)) or conversion_columns(side)
    zone_name = parameters.zone("time_zone", exchange.time_zone)
    named: dict[str, Any] = {name: parameters.id(name) for name in ("lead_id", "call_id", PAYERS[side])}
    wanted = ConversionFilter(
        side=side,
        ids=parameters.ids("ids"),
        created_from=parameters.instant("created_at_from", zone_name),
        created_to=parameters.instant("created_at_to", zone_name),
        taken_back=parameters.flag("taken_back"),
        **named,
    )
    parameters.finish()
    return await reply_with_list(
        exchange,
        f"{side}_conversions",
        parameters,
        paging=paging,
        columns=columns,
        read=partial(exchange.reads.conversions, exchange.company_id, wanted),
        view=lambda row: conversion_view(row, columns),
    )


async def _show(exchange: Exchange, side: str) -> Reply:
    row = await find_conversion(exchange, side, exchange.path_id("conversion"))
    if row is None:
        raise not_found("conversion")
    return reply_with_record(exchange, f"{side}_conversion", conversion_view(row, conversion_columns(side)))


def _of_side(handle: Any, side: str) -> Handler:
    async def handler(exchange: Exchange) -> Reply:
        """Answer about conversions of one side."""
        reply: Reply = await handle(exchange, side)
        return reply

    return handler


def _operations(side: str, title: str) -> tuple[Operation, ...]:
    payer = PAYERS[side]
    path = f"/api/v1/{side}_conversions"
    of_payer = {payer: f"conversions of this {payer.removesuffix('_id').replace('_', ' ')}"}
    return (
        Operation(
            name=f"list_{side}_conversions",
            methods=("GET",),
            path=path,
            summary=f"List conversions of {side}s",
            handler=_of_side(_index, side),
            scope="conversion:read",
            leads="visible",
            parameters={
                **{name: PAGING_PARAMETERS[name] for name in _SHARED},
                "lead_id": "conversions of this lead and its calls",
                "call_id": "conversions of this call",
                **of_payer,
                "taken_back": "true: those that were taken back; false: those that hold",
            },
            types={**dict.fromkeys(("lead_id", "call_id", payer), ID), "taken_back": BOOLEAN},
            answer=many_of(f"{side}_conversions", title),
            suffixes=("", ".csv", ".json"),
        ),
        Operation(
            name=f"show_{side}_conversion",
            methods=("GET",),
            path=f"{path}/{{id}}",
            summary=f"Show a conversion of {'a buyer' if side == 'buyer' else 'an offer'}",
            handler=_of_side(_show, side),
            scope="conversion:read",
            leads="visible",
            parameters={"root": "false: the bare record"},
            answer=one_of(f"{side}_conversion", title),
        ),
    )


OPERATIONS: tuple[Operation, ...] = (
    *_operations("buyer", "BuyerConversion"),
    *_operations("offer", "OfferConversion"),
)
