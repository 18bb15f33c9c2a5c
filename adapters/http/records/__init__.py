"""How does a company manage its account records over HTTP?"""
