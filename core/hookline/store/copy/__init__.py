"""Copies one store into another.

:mod:`.store_address` opens the store that a person names, :mod:`.components` lists what has tables
in it, :mod:`.tables` reads them in any store, and :mod:`.copier` copies.
"""
