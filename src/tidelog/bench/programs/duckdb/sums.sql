CREATE TABLE "ByShop" AS
SELECT shop, sum(DISTINCT price) AS sum, max(price) AS most FROM "Sale" GROUP BY shop;
CREATE TABLE "ByDay" AS
SELECT shop, day, sum(price) AS sum, max(price) AS most FROM "Sale" GROUP BY shop, day;
