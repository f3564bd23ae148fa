"""The pages of the documentation, and a reader who does what they say."""
