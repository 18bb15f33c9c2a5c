"""From committed decisions to posts at other systems: events are stored first, then sent."""
