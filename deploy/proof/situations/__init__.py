"""Does a manager see at once what is wrong? `make prove-situations` brings each situation about, looks, sets it right."""
