"""The worker's web endpoints: health, readiness, metrics; and the view of the whole namespace behind the metrics."""
