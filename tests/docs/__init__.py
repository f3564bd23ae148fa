"""What the documentation says, done word for word."""
