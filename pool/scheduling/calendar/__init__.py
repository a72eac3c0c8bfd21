"""Reserved capacity and reserved starts: windows on cards (pool/engine/calendar), in memory and in the database."""
