"""What the page needs to recommend anew when a reader moves a price."""
