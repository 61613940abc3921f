CREATE TABLE "Side" AS
WITH RECURSIVE side(node, odd) AS (
    SELECT node, false FROM "Source"
    UNION
    SELECT way.dst, NOT side.odd
    FROM side JOIN (SELECT src, dst FROM "Edge" UNION ALL SELECT dst, src FROM "Edge") AS way ON side.node = way.src
)
SELECT node, odd FROM side;
CREATE TABLE "Even" AS SELECT node FROM "Side" WHERE NOT odd;
CREATE TABLE "Odd" AS SELECT node FROM "Side" WHERE odd;
CREATE TABLE "Clash" AS SELECT node FROM "Even" SEMI JOIN "Odd" USING (node);
