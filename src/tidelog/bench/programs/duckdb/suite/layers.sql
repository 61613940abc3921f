CREATE TABLE "First" AS
SELECT DISTINCT one.src, other.dst FROM "Edge" AS one JOIN "Edge" AS other ON one.dst = other.src
    ANTI JOIN "Edge" AS edge ON one.src = edge.src AND other.dst = edge.dst;
CREATE TABLE "Second" AS
SELECT edge.src, edge.dst FROM "Edge" AS edge ANTI JOIN "First" AS first ON edge.dst = first.src AND edge.src = first.dst;
CREATE TABLE "Third" AS
SELECT DISTINCT one.src, other.dst FROM "Second" AS one JOIN "Edge" AS other ON one.dst = other.src
    ANTI JOIN "Second" AS second ON one.src = second.src AND other.dst = second.dst;
CREATE TABLE "Fourth" AS
SELECT src, dst FROM "First" ANTI JOIN "Third" USING (src, dst);
CREATE TABLE "Fifth" AS
SELECT third.src, third.dst FROM "Third" AS third
    ANTI JOIN "Fourth" AS fourth ON third.dst = fourth.src AND third.src = fourth.dst
    ANTI JOIN "Second" AS second ON third.dst = second.src AND third.src = second.dst;
