"""PURE: cuts held time and puts a price on it. Integers, Fraction and Decimal; no Django, no clock, never float."""
