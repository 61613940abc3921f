CREATE TABLE "Covered" AS
WITH RECURSIVE covered(corner, node) AS (
    SELECT corner, node FROM "Corner"
    UNION
    SELECT covered.corner, step."to"
    FROM covered JOIN (FROM "Right" UNION ALL FROM "Down") AS step ON covered.node = step."from"
)
SELECT corner, node FROM covered;
