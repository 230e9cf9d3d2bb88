"""Where the images come from: a folder of the user's, or digits drawn once and kept."""
