"""Has the person opted in, and does a text opt them out?"""
