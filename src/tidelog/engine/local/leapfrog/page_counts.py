"""A scan tree of counts over the pages of a trie: how many rows lie before a page, in logarithmic time (003, 3.1).

The tree is implicit (Fenwick's): node i, from 1, has the rows of the pages whose places are in [i - lowbit(i), i). An
inserted or deleted row changes the nodes on one path; an added or removed page moves those behind it, and as many nodes
are counted again. The field COUNTS of a line of A has the address of the nodes; 0: no counts.
"""

from __future__ import annotations

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels.memory import kernel, load64, store64


@kernel
def rows_before(A, trie, place):
    """Returns how many rows the pages before a place of the directory have."""
    nodes = A[trie, k.COUNTS]
    rows = 0
    while place > 0:
        rows += load64(nodes, place)
        place -= place & -place
    return rows


@kernel
def count_rows(A, trie, place, more):
    """Adds `more` rows to the counts of the page at a place of the directory."""
    nodes = A[trie, k.COUNTS]
    if nodes == 0:
        return
    node = place + 1
    while node <= A[trie, k.PAGE_COUNT]:
        store64(nodes, node, load64(nodes, node) + more)
        node += node & -node


@kernel
def recount(A, trie, place):
    """Counts the nodes whose last page is at this place of the directory or behind it."""
    nodes = A[trie, k.COUNTS]
    if nodes == 0:
        return
    for node in range(place + 1, A[trie, k.PAGE_COUNT] + 1):
        rows = load64(A[trie, k.DIRECTORY], k.DIRECTORY_ENTRY * (node - 1) + k.DIRECTORY_ROWS)
        before = node - 1
        while before > node - (node & -node):
            rows += load64(nodes, before)
            before -= before & -before
        store64(nodes, node, rows)
