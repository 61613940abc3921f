CREATE TABLE "Both" AS
WITH RECURSIVE reached(one, other, depth, tag) AS (
    SELECT one, other, depth, tag FROM "Start"
    UNION
    (
        SELECT l."to", r."to", reached.depth, reached.tag
        FROM reached JOIN "Left" AS l ON reached.one = l."from"
            JOIN "Right" AS r ON reached.other = r."from" AND l.letter = r.letter
        UNION ALL
        SELECT l."to", reached.other, CAST(reached.depth + 1 AS UINTEGER), reached.tag
        FROM reached JOIN "Left" AS l ON reached.one = l."from" AND l.letter = 0
        WHERE reached.depth < 3
    )
)
SELECT one, other, depth, tag FROM reached;
