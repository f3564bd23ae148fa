"""Questions to people: stored, shown, answered once, and the turns that wait for them."""
