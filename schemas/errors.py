"""Whose fault is an error? Every exception of this repository has one root and one of three faults.

The fault says what to do: correct the input, wait and retry, or report a bug. Catch the specific class where you can.
"""


class LeadclockError(Exception):
    """The root of every exception that this repository defines."""


class SenderError(LeadclockError):
    """The sender's fault: a request, a record or a setting is wrong. The same input fails again."""


class DependencyError(LeadclockError):
    """The world's fault: a broker, a database, a provider or the machine fails or is not ready. A retry may succeed."""


class InternalError(LeadclockError):
    """Our fault: the code breaks a promise of its own. Nobody outside can correct it."""
