"""``hookline completion``: scripts for bash, zsh and fish, and what answers them.

A script asks :mod:`.answer`, which imports next to nothing, for the words that fit. The classes of
Typer and Click would run Hookline itself at every Tab, with each plugin imported; that takes
several times as long as a person waits for a completion.
"""
