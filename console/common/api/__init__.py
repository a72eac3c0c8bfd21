"""What every API room shares: parsing, errors, paging, throttles, permissions, idempotent POSTs."""
