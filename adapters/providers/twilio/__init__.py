"""How are calls and texts carried by Twilio, or by a carrier whose API is Twilio's? Entry point `twilio`."""

from adapters.providers.twilio.provider import TwilioProvider

PROVIDER = TwilioProvider()
