"""What a design point costs: its step, its memory, its money, and how sure that is."""
