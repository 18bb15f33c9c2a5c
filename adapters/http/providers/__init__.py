"""How do vendors report to us over HTTP?"""
