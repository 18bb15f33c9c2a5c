"""How do users sign in, and set up what they sign in with?"""
