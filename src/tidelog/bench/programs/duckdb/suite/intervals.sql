CREATE TABLE "Overlap" AS
SELECT a.id AS one, b.id AS other FROM "Booking" AS a JOIN "Booking" AS b
    ON a.room = b.room AND a.id < b.id AND a.start < b."end" AND b.start < a."end";
CREATE TABLE "Inside" AS
SELECT a.id AS one, b.id AS other FROM "Booking" AS a JOIN "Booking" AS b
    ON a.room = b.room AND a.id <> b.id AND a.start >= b.start AND a."end" <= b."end";
CREATE TABLE "Later" AS
SELECT o.one, o.other FROM "Overlap" AS o JOIN "Booking" AS a ON o.one = a.id JOIN "Booking" AS b ON o.other = b.id
WHERE a.start + 20 < b.start;
