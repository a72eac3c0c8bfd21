"""The shell around pool and billing. Imports nothing: the supervisor lives below it without Django and Celery."""
