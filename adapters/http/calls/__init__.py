"""What can be asked of calls and texts over HTTP?"""
