-- Clusters are small: all pairs of a cluster, and the least record of each.
CREATE TABLE "Block" AS
SELECT 'n' || substr(lower(text), 1, 5) || substr(lower(city), 1, 3) AS key, id, lower(text) AS text FROM "Record"
UNION
SELECT 'p' || substr(phone, 1, 6), id, lower(text) FROM "Record";
CREATE TABLE "Same" AS
SELECT DISTINCT a.id AS one, b.id AS other FROM "Block" AS a JOIN "Block" AS b ON a.key = b.key
WHERE a.id < b.id AND (contains(a.text, b.text) OR contains(b.text, a.text));
CREATE TABLE "Cluster" AS
WITH RECURSIVE linked(one, other) AS (
    SELECT one, other FROM "Same" UNION ALL SELECT other, one FROM "Same"
), reach(id, label) AS (
    SELECT id, id FROM "Record"
    UNION
    SELECT linked.other, reach.label FROM reach JOIN linked ON reach.id = linked.one
)
SELECT id, min(label) AS label FROM reach GROUP BY id;
