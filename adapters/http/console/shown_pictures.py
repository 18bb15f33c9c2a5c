"""How is a picture put into a page? Twice, for a desk and for a telephone, with its numbers as a table below.

The style shows the one that fits. The drawings escape every text themselves, so that a template takes them as they are.
"""

from collections.abc import Callable

from markupsafe import Markup

from adapters.pictures.picture import Picture, to_inline_svg, to_table

WIDE, NARROW = 960.0, 326.0
"""Of a page on a desk, and on a telephone of 390 pixels less its margins."""


def show_picture(draw: Callable[[float, str], Picture], name: str) -> Markup:
    """Return a picture for a page; `draw` takes its width and its name."""
    wide, narrow = draw(WIDE, f"{name}-wide"), draw(NARROW, f"{name}-narrow")
    svgs = f'<div class="pic-on-wide">{to_inline_svg(wide)}</div><div class="pic-on-narrow">{to_inline_svg(narrow)}</div>'
    table = f'<details><summary>As a table</summary><div class="scroll" tabindex="0">{to_table(wide)}</div></details>'
    return Markup(svgs + table)  # noqa: S704 - `adapters.pictures.markup` has escaped it
