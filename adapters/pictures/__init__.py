"""How is a lead, a schedule or a forecast shown as a picture? Data in, SVG out: no I/O, same data, same bytes."""
