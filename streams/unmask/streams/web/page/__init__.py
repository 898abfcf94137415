"""The live page: what a namespace counts, proves and judges, for people; and the same as JSON.

`reader` follows the topics while somebody looks, `memory` keeps the newest of what it brings, `assemble` makes plain
values of that, and these are rendered as HTML or JSON. Nothing here changes anything, and nothing here ends a worker.
"""
