"""How messages get in and replies get out."""
