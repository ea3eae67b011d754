"""What held an answer up, in words and on a card; shown by more than one page."""
