"""Sessions: state, stable prompt, history, and the context that hooks receive."""
