"""Plugin ``shared-files``; see :mod:`.plugin`."""
