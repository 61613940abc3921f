CREATE TABLE "Null" AS
WITH RECURSIVE reached(origin, "at") AS (
    SELECT origin, "at" FROM "Origin"
    UNION
    SELECT reached.origin, flow."to" FROM reached JOIN "Flow" AS flow ON reached."at" = flow."from"
)
SELECT origin, "at" FROM reached;
