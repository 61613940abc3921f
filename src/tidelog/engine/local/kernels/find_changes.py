"""The changes of a relation at the end of its stratum: the overlay → lines of inserted and of deleted rows."""

from __future__ import annotations

from tidelog.engine.local.kernels import layout as k
from tidelog.engine.local.kernels.apply_instances import with_stamp
from tidelog.engine.local.kernels.index import fetch_logged
from tidelog.engine.local.kernels.memory import kernel, load64, store32, store64
from tidelog.engine.local.kernels.row_counts import count_of, total_of


@kernel
def find_changes(S, relation):
    """Writes the lines of inserted and deleted rows, from the log, and stamps them 1 and -1; returns -1 if the state is
    broken. The caller has made room for them."""
    columns = S[relation, k.COLUMNS]
    wide = S[relation, k.WIDE]
    inserted, deleted = S[relation, k.INSERTED], S[relation, k.DELETED]
    inserted_count = 0
    deleted_count = 0
    for place in range(S[relation, k.LOG_COUNT]):
        fetch_logged(S, relation, place + k.ROWS_FETCHED_AHEAD)
        entry = S[relation, k.LOG] + place * k.LOG_WIDTH * 8
        line = load64(entry, k.LOGGED_LINE)
        row = S[relation, k.ROWS] + line * S[relation, k.WIDTH] * 8
        meta = load64(row, columns + k.META)
        stamp = meta >> k.STAMP_SHIFT
        present = stamp >= 0
        if (total_of(row, columns, wide) > 0) != present or (present and count_of(row, columns, wide) < 1):
            return -1
        if load64(entry, k.LOGGED_TOTAL) < 0:
            store32(inserted, inserted_count, line)
            inserted_count += 1
            store64(row, columns + k.META, with_stamp(meta, 1))
        elif stamp < 0:
            store32(deleted, deleted_count, line)
            deleted_count += 1
            store64(row, columns + k.META, with_stamp(meta, -1))
        else:
            store64(row, columns + k.META, with_stamp(meta, 0))
    S[relation, k.INSERTED_COUNT] = inserted_count
    S[relation, k.DELETED_COUNT] = deleted_count
    return 0
