"""Sessions: their state, their stable prompt, their history, and what hooks see of them."""
