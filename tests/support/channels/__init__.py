"""Helpers of the channel stories: fakes of the platforms, and the model's script."""
