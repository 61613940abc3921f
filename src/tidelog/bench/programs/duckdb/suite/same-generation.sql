CREATE TABLE "Same" AS
WITH RECURSIVE same(x, y) AS (
    SELECT one.child, other.child
    FROM "Up" AS one JOIN "Up" AS other ON one.parent = other.parent
    WHERE one.child <> other.child
    UNION
    SELECT one.child, other.child
    FROM same JOIN "Up" AS one ON one.parent = same.x JOIN "Up" AS other ON other.parent = same.y
)
SELECT x, y FROM same;
