CREATE TABLE "Value" AS
WITH RECURSIVE reached(owner, value) AS (
    SELECT owner, value FROM "Start"
    UNION
    SELECT reached.owner, CAST((reached.value * step.factor + step.summand) % 20011 AS UINTEGER)
    FROM reached JOIN "Step" AS step ON reached.value % 3 = step.kind
)
SELECT owner, value FROM reached;
