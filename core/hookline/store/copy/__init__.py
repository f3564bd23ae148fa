"""Copies one store into another.

:mod:`.store_address` opens the store that a person names, :mod:`.components` lists the components
with tables in it, :mod:`.tables` reads the tables of any store, and :mod:`.copier` copies them.
"""
