"""What a problem needs: the bound of its time, its memory."""
