"""What a precision costs in quality: measured, kept and judged. No Qt, no torch."""
