"""What of the window is made when it is first looked at, or while there is nothing else to do."""
