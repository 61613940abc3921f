CREATE TABLE "Line" AS
SELECT o.customer, i.id, i.product, i.amount * p.price AS costs
FROM "Item" AS i JOIN "Price" AS p ON i.product = p.product JOIN "Order" AS o ON i."order" = o."order";
CREATE TABLE "Total" AS
SELECT customer, CAST(sum(costs) AS UBIGINT) AS costs, count(*) AS lines FROM "Line" GROUP BY customer;
CREATE TABLE "Dearest" AS
SELECT product, min(costs) AS least, max(costs) AS most FROM "Line" GROUP BY product;
CREATE TABLE "Better" AS
SELECT a.customer AS one, b.customer AS other FROM "Total" AS a JOIN "Total" AS b
    ON a.lines = b.lines AND a.costs > b.costs + 300000;
