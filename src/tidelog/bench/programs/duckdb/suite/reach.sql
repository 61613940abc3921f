CREATE TABLE "Reach" AS
WITH RECURSIVE reach(node) AS (
    SELECT node FROM "Source"
    UNION
    SELECT edge.dst FROM reach JOIN "Edge" AS edge ON reach.node = edge.src
)
SELECT node FROM reach;
