CREATE TABLE "Short" AS SELECT DISTINCT substr(u, 9, 16) || '#' || substr(u, 13, 6) AS s FROM "Url";
CREATE TABLE "Page" AS SELECT u FROM "Url" WHERE contains(u, 'page7');
CREATE TABLE "Named" AS SELECT 'q:' || u AS u FROM "Url" WHERE contains(u, 'host5');
