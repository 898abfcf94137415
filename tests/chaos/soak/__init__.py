"""The soak: everything that can be killed is killed under load, and every number is then compared with the truth."""
