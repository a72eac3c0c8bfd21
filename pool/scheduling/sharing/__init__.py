"""Who gets what: the engine's shares (pool/engine/sharing) over the queues of the database and the fleet in memory."""
