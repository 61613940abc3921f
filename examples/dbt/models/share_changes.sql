-- The changes of one day, as a file of the feed. A file is written once: a day that comes again writes the same file,
-- which Tidelog has taken.
{{ config(
    materialized="external",
    location="feed/shares/day=" ~ var("day") ~ ".csv",
    format="csv",
) }}
select op, owner, company, percent
from {{ ref("trades") }}
where day = {{ var("day") }}
