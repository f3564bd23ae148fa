"""The pages of the documentation, and a reader who follows them."""
