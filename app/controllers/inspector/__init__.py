"""What fills the inspector's views."""
