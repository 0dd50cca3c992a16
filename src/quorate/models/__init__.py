"""What a protocol is: relational transition systems, where their text stands, and what their steps mean.

Read `source`, `relational`, `semantics`.
"""
