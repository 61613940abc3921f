CREATE TABLE "Together" AS
SELECT DISTINCT one.thing AS one, other.thing AS other
FROM "Bought" AS one JOIN "Bought" AS other ON one.person = other.person AND one.thing < other.thing;
CREATE TABLE "Popular" AS
SELECT DISTINCT lives.city, bought.thing
FROM "Lives" AS lives JOIN "Bought" AS bought ON lives.person = bought.person;
