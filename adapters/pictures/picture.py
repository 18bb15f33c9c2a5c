"""What is a picture? A drawing, its title, what it says in words, and the same data as a table.

The table is the alternative in text: a page shows it below the drawing, for readers who do not see it and for those who
want the numbers.
"""

from msgspec import Struct

from adapters.pictures.markup import element, number
from adapters.pictures.style import file_stylesheet, stylesheet

NARROW_BELOW = 600
"""Pictures that are narrower are for a telephone: less room for labels, and no numbers in small cells."""

MARGIN = 16
"""Around the drawing, where it is a file of its own."""

NAMESPACE = "http://www.w3.org/2000/svg"


class Picture(Struct, frozen=True, kw_only=True):
    """A drawing of elements of SVG, `width` by `height`.

    `name` is part of every id in it, so that two pictures can be on one page.
    """

    name: str
    title: str
    description: str
    width: float
    height: float
    body: tuple[str, ...]
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def to_inline_svg(picture: Picture) -> str:
    """Return the drawing as part of a page, which has the stylesheet as a file."""
    return _svg(picture, _labels(picture), *picture.body, view=(0.0, 0.0, picture.width, picture.height))


def to_svg(picture: Picture) -> str:
    """Return the drawing as a file of its own: with its style, a ground and a margin."""
    width, height = picture.width + 2 * MARGIN, picture.height + 2 * MARGIN
    style = f"<style>{file_stylesheet()}</style>"
    ground = element("rect", x=float(-MARGIN), y=float(-MARGIN), width=width, height=height, class_="pic-paper")
    view = (float(-MARGIN), float(-MARGIN), width, height)
    return _svg(picture, _labels(picture), style, ground, *picture.body, view=view) + "\n"


def to_table(picture: Picture) -> str:
    """Return the table of a picture as HTML."""
    head = element("tr", *(element("th", text=column, scope="col") for column in picture.columns))
    rows = (element("tr", *(element("td", text=cell or "-") for cell in row)) for row in picture.rows)
    caption = element("caption", text=picture.description)
    return element("table", caption, element("thead", head), element("tbody", *rows), class_="pic-table")


def stacked(title: str, pictures: tuple[Picture, ...]) -> Picture:
    """Return several pictures as one, each below the one before."""
    body, y = [], 0.0
    for picture in pictures:
        body.append(element("g", *picture.body, transform=f"translate(0 {number(y)})"))
        y += picture.height + MARGIN
    return Picture(
        name=f"{pictures[0].name}-all",
        title=title,
        description=" ".join(f"{picture.title}: {picture.description}" for picture in pictures),
        width=max(picture.width for picture in pictures),
        height=y - MARGIN,
        body=tuple(body),
    )


PAGE_STYLE = (
    "body{margin:0 auto;max-width:1080px;padding:24px 16px;background:#fff;color:#1b2330;font:15px/1.5 system-ui,sans-serif}"
    "h1{font-size:22px;margin:0 0 4px}p{margin:0 0 20px;color:#566173}svg{width:100%}"
    "div{overflow-x:auto}table{border-collapse:collapse;font-size:13px;margin-top:12px}"
    "caption{text-align:left;padding:4px 0}"
    "th,td{text-align:left;padding:4px 12px 4px 0;border-bottom:1px solid #dbe1e9;vertical-align:top}summary{cursor:pointer}"
    "section{margin:0 0 32px}"
    "@media (prefers-color-scheme:dark){body{background:#12161d;color:#e8ecf2}p{color:#9fabbd}th,td{border-color:#2c3543}}"
)


def to_page(title: str, sentence: str, pictures: tuple[Picture, ...]) -> str:
    """Return a page of HTML that holds everything that it shows: it loads nothing and runs nothing."""
    sections = (
        element(
            "section",
            to_inline_svg(picture),
            element("details", element("summary", text="As a table"), element("div", to_table(picture), tabindex=0)),
        )
        for picture in pictures
    )
    head = (
        '<meta charset="utf-8"/>',
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", text=title),
        f"<style>{PAGE_STYLE}{stylesheet()}</style>",
    )
    body = element("main", element("h1", text=title), element("p", text=sentence), *sections)
    return f'<!doctype html>\n<html lang="en"><head>{"".join(head)}</head><body>{body}</body></html>\n'


def _labels(picture: Picture) -> str:
    title = element("title", text=picture.title, id=f"{picture.name}-title")
    return title + element("desc", text=picture.description, id=f"{picture.name}-desc")


def _svg(picture: Picture, *children: str, view: tuple[float, float, float, float]) -> str:
    _, _, width, height = view
    return element(
        "svg",
        *children,
        xmlns=NAMESPACE,
        class_="pic",
        role="img",
        aria_labelledby=f"{picture.name}-title {picture.name}-desc",
        width=width,
        height=height,
        viewBox=" ".join(f"{part:g}" for part in view),
    )
