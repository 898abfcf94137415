"""What reads the results: gate, reports, alerts, the command line and the development broker."""
