CREATE TABLE "Above" AS
WITH RECURSIVE above(path, above) AS (
    SELECT path, parent FROM "Folder"
    UNION
    SELECT above.path, folder.parent FROM above JOIN "Folder" AS folder ON above.above = folder.path
)
SELECT path, above FROM above;
CREATE TABLE "Full" AS SELECT DISTINCT path || '/' || name AS name, owner FROM "File";
CREATE TABLE "Shared" AS
SELECT DISTINCT one.name, one.owner AS one, other.owner AS other
FROM "File" AS one JOIN "File" AS other ON one.name = other.name AND one.owner < other.owner;
CREATE TABLE "Owned" AS
SELECT DISTINCT above.above, file.owner FROM "Above" AS above JOIN "File" AS file ON above.path = file.path;
