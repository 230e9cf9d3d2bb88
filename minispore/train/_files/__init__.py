"""How a net becomes a file and comes back: formats, what is stored, saving and loading."""
