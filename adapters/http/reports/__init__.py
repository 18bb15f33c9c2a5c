"""How are leads and calls reported over HTTP?"""
