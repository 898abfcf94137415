"""From the page's memory to plain values: what the JSON answers hold, and what the page shows."""
