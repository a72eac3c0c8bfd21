"""Making room: the engine's plans (pool/engine/preempt) carried out, their place held until the job starts."""
