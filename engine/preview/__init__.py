"""What would a schedule do? A preview: the engine's own rules on a virtual clock, without contacting anybody."""

from engine.preview.forecast import US_COMPANY, Action, Forecast, preview, shown
from engine.preview.trial import Past, Trial, read_trial

__all__ = ["US_COMPANY", "Action", "Forecast", "Past", "Trial", "preview", "read_trial", "shown"]
