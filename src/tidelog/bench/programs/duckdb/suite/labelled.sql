CREATE TABLE "Way" AS
WITH RECURSIVE way(src, label, dst) AS (
    SELECT src, label, dst FROM "Edge"
    UNION
    (
        SELECT way.src, way.label, edge.dst
        FROM way JOIN "Edge" AS edge ON way.dst = edge.src AND way.label = edge.label
        UNION ALL
        SELECT way.src, below.above, way.dst FROM way JOIN "Below" AS below ON way.label = below.label
    )
)
SELECT src, label, dst FROM way;
