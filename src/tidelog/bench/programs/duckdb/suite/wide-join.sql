CREATE TABLE "Report" AS
SELECT DISTINCT o.id, d.part, o.customer, o.product, CAST(d.day - o.day AS UINTEGER) AS days, d.carrier, d.place, d.state
FROM "Order" AS o JOIN "Delivery" AS d ON o.id = d."order";
