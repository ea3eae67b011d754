"""Charts painted from plain figures: lines, bars, a roofline, and the table behind each."""
