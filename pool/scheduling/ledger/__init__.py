"""What each decision was made on, so that it can be made again: docs/decisions/0016-ledger.md."""
