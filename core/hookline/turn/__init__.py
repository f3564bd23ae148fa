"""A turn, from a message to its reply: the model call, the tool call, the loop around them."""
