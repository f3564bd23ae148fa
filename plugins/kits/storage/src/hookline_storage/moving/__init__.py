"""``hookline migrate-store`` and ``hookline store copy``.

:mod:`.components` says what has tables, :mod:`.tables` reads them in any store, :mod:`.copying`
copies one store into another, :mod:`.places` finds a store by what a person calls it, and
:mod:`.commands` is the command line.
"""
