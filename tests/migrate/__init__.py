"""Moving another agent's home in, with the plugins that own what is moved."""
