"""A team's skills: one member proposes, another approves, all homes load.

:mod:`.team_skills` reads the team's store and places the approved versions on disk;
:mod:`.proposals` and :mod:`.reviews` add entries to it, after :mod:`.proposal_checks`;
:mod:`.table_store` is the store in the database. ``hookline_teamskills`` has the entries, the
signatures and the store in a git repository.
"""
