CREATE TABLE "T" AS
SELECT a.src AS x, a.dst AS y, b.dst AS z
FROM "Edge" AS a JOIN "Edge" AS b ON a.dst = b.src JOIN "Edge" AS c ON a.src = c.src AND b.dst = c.dst;
