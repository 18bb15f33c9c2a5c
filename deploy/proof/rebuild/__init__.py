"""Is a lost state made again as it was, with many leads, messages under way and slots taken?"""
