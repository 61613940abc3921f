CREATE TABLE "Triangle" AS
SELECT one.src AS a, one.dst AS b, two.dst AS c
FROM "Edge" AS one JOIN "Edge" AS two ON one.dst = two.src JOIN "Edge" AS three ON one.src = three.src AND two.dst = three.dst;
