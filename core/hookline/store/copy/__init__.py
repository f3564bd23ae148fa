"""Copies one store into another, and says what has tables in a store.

:mod:`.components` says what has tables, :mod:`.tables` reads them in any store, :mod:`.copying`
copies one store into another, :mod:`.places` finds a store by what a person calls it.
"""
