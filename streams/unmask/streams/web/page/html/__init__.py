"""From plain values to HTML. Everything is said in words; shapes and colours repeat it."""
