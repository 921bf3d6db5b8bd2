"""Networks in closed form that the catalogue holds as tables, and that no command builds."""
