"""What a team shares: skills that one proposes, another approves, and all load.

:mod:`.shared` reads the team's store and keeps what is loaded; :mod:`.proposing` and
:mod:`.reviewing` add to it; :mod:`.doors` judges what goes in; :mod:`.table` is the store in the
database. The entries, signatures and the store in a git repository are ``hookline_teamskills``.
"""
