CREATE TABLE "Reach" AS
WITH RECURSIVE reach(src, dst) AS (
    SELECT src, dst FROM "Edge"
    UNION
    SELECT reach.src, edge.dst FROM reach JOIN "Edge" AS edge ON reach.dst = edge.src
)
SELECT src, dst FROM reach;
