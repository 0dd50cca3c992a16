"""Many-sorted first-order logic: sorts, symbols, terms, their meaning and their shape.  Knows nothing else.

Read `terms`, then `transform`, `structures`, `fragment` and `printing`.
"""
