"""What runs between the sandbox's making and the program: the standard library alone."""
