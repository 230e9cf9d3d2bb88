"""What the loop knows of callbacks: the events, their context and who is called when."""
