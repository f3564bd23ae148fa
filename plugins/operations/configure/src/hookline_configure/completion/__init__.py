"""``hookline completion``: scripts for bash, zsh and fish, and the program that they run.

The shell scripts run :mod:`.completer`, which imports next to nothing and reads a prepared table
that :mod:`.table` writes. Typer's and Click's own completion would start Hookline with every plugin
at each Tab, which takes several times as long as a person waits for a completion.
"""
