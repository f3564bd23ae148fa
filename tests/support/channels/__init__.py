"""What the stories on channels share: fakes of the platforms, and the model's script."""
