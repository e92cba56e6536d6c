"""Many problems, many algorithms: run, resumed, compared with the right statistics."""
