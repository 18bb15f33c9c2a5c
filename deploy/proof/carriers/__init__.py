"""Is a person reached twice, or an outcome lost, as gateways restart? `make prove-carriers`: calls and texts under way."""
