-- The cheapest sale is two columns; of equal prices the least id.
CREATE TABLE "More" AS
SELECT shop, day, count(*) AS number, count(*) FILTER (price > 50000) AS dear, min(price) AS least,
    min({'price': price, 'id': id}).id AS id, min(price) AS price
FROM "Sale" GROUP BY shop, day;
