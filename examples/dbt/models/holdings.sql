-- How many companies each owner controls.
{{ config(materialized="table") }}
select owner, count(*) as companies
from {{ source("tidelog", "controls") }}
group by owner
