"""Django's SQLite backend with a queue at the write lock (`base`)."""
