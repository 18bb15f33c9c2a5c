"""Which colours has a picture? A table of classes, each with its colour on light and on dark ground.

Classes, and no attribute `style` nor custom properties: a page with a strict Content-Security-Policy serves `stylesheet()`
as a file of its own, and viewers that know no custom properties (librsvg, most previews of files) draw the picture as well.
Texts have a contrast of 4.5 to 1 against their ground, marks of 3 to 1 (WCAG 2.2, 1.4.3 and 1.4.11); a test computes them.
"""

PAPER = ("#ffffff", "#12161d")
"""The ground of a page."""

FILLS: dict[str, tuple[str, str]] = {
    "paper": PAPER,
    "panel": ("#f4f6f9", "#1a202a"),
    "ink": ("#1b2330", "#e8ecf2"),
    "soft": ("#566173", "#9fabbd"),
    "on-mark": ("#ffffff", "#0d1117"),
    "call": ("#2457d6", "#7aa5ff"),
    "sms": ("#0b7a55", "#4fce9e"),
    "email": ("#7a3fd1", "#bb98ff"),
    "webhook": ("#9a5b00", "#eab04f"),
    "wait": ("#647084", "#93a0b4"),
    "choice": ("#a02a72", "#f08fc6"),
    "effect": ("#3f5873", "#8fb0d3"),
    "good": ("#16762f", "#5cd07c"),
    "bad": ("#b3261e", "#ff8a80"),
    "ring": ("#9db7f5", "#38528f"),
    "talk": ("#2457d6", "#7aa5ff"),
    "by-schedule": ("#e3e8ef", "#262e3b"),
    "by-law": ("#d3dae4", "#313b4b"),
    "none": ("#eceff3", "#1d242f"),
    "heat-0": ("#f1f4f8", "#1b222d"),
    "heat-1": ("#d6e4ff", "#1c3157"),
    "heat-2": ("#adc8ff", "#244580"),
    "heat-3": ("#7aa3f7", "#3560b4"),
    "heat-4": ("#386ad6", "#5f8ff0"),
    "heat-5": ("#1d479f", "#a3c3ff"),
}
"""Class -> its fill on light and on dark ground."""

LINES: dict[str, tuple[str, str, str]] = {
    "grid": ("#dbe1e9", "#2c3543", "1"),
    "axis": ("#a3adbb", "#4d596b", "1"),
    "edge": ("#7b8799", "#76849a", "1.5"),
    "edge-trigger": ("#a02a72", "#f08fc6", "1.5"),
    "frame": ("#cfd6e0", "#394454", "1"),
    "hatch": ("#8f9bac", "#5b687c", "1.2"),
    "now": ("#b3261e", "#ff8a80", "1.5"),
    "frame-now": ("#b3261e", "#ff8a80", "2"),
}
"""Class -> its stroke on light and on dark ground, and its width."""

HEAT_TEXT = {
    **dict.fromkeys(("heat-0", "heat-1", "heat-2", "heat-3"), ("#1b2330", "#e8ecf2")),
    "heat-4": ("#ffffff", "#0d1117"),
    "heat-5": ("#ffffff", "#0d1117"),
}
"""Fill of a cell -> the colour of the number on it."""

TEXTS: dict[str, str] = {
    "size-s": "font-size:11px",
    "size-m": "font-size:13px",
    "size-l": "font-size:17px;font-weight:600",
    "strong": "font-weight:600",
    "middle": "text-anchor:middle",
    "right": "text-anchor:end",
    "code": "font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace",
    "tabular": "font-variant-numeric:tabular-nums",
}

BASE = (
    ".pic{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue','Noto Sans','DejaVu Sans',sans-serif;"
    "font-size:13px;max-width:100%;height:auto}.pic text{unicode-bidi:isolate}.pic-line{fill:none}"
    ".pic-dash{stroke-dasharray:4 4}"
)


def stylesheet() -> str:
    """Return the style of pictures on a page: dark where the reader's system or the page's `data-theme` says so."""
    light, dark = _colours(0), _colours(1)
    texts = "".join(f".pic-{name}{{{rule}}}" for name, rule in TEXTS.items())
    fits = ".pic-on-narrow{display:none}@media(max-width:640px){.pic-on-narrow{display:block}.pic-on-wide{display:none}}"
    as_system = "".join(f":root:not([data-theme=light]) {rule}" for rule in dark)
    as_page = "".join(f"[data-theme=dark] {rule}" for rule in dark)
    return f"{BASE}{texts}{fits}{''.join(light)}@media (prefers-color-scheme:dark){{{as_system}}}{as_page}"


def file_stylesheet() -> str:
    """Return the style of a picture in a file of its own: the system of the reader says whether it is dark."""
    texts = "".join(f".pic-{name}{{{rule}}}" for name, rule in TEXTS.items())
    return f"{BASE}{texts}{''.join(_colours(0))}@media (prefers-color-scheme:dark){{{''.join(_colours(1))}}}"


def _colours(ground: int) -> list[str]:
    fills = [f".pic-{name}{{fill:{colours[ground]}}}" for name, colours in FILLS.items()]
    lines = [f".pic-{name}{{stroke:{row[ground]};stroke-width:{row[2]}}}" for name, row in LINES.items()]
    cells = [f".pic-on-{name}{{fill:{colours[ground]}}}" for name, colours in HEAT_TEXT.items()]
    return [*fills, *lines, *cells]
