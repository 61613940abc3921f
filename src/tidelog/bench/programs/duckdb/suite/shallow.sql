CREATE TABLE "Ancestor" AS
WITH RECURSIVE ancestor(person, ancestor, steps) AS (
    SELECT child, parent, 1::UINTEGER FROM "Parent"
    UNION
    SELECT ancestor.person, parent.parent, CAST(ancestor.steps + 1 AS UINTEGER)
    FROM ancestor JOIN "Parent" AS parent ON ancestor.ancestor = parent.child
    WHERE ancestor.steps < 3
)
SELECT person, ancestor, steps FROM ancestor;
CREATE TABLE "Cousin" AS
SELECT DISTINCT a.person AS one, b.person AS other
FROM "Ancestor" AS a JOIN "Ancestor" AS b ON a.ancestor = b.ancestor AND a.steps = 2 AND b.steps = 2 AND a.person < b.person
    JOIN "House" AS h ON a.person = h.person JOIN "House" AS i ON b.person = i.person AND h.house = i.house;
