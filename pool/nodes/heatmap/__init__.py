"""What the live heatmap is made of: layout, planes, and the bytes of a frame."""
