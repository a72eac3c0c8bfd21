"""API v1 of money: usage, invoices, prices. Read by owners, billing contacts and those who see all money.

Amounts are decimal strings: JSON numbers would pass through floating point on the way.
"""
