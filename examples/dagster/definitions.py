"""A Tidelog pipeline as an asset of Dagster, between an asset that it reads and one that reads it.

    shares (a Delta table)  →  controls (Tidelog, a Delta table)  →  holdings (a table of counts)

`dagster dev -f definitions.py` shows them; the schedule materializes the last two. A run of `controls` takes the
versions of `shares` since the last one, in one epoch, and reports what it changed as metadata. If a run dies, the next
one goes on: positions and results are committed together.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import dagster as dg
import polars as pl
import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

HERE = Path(__file__).parent


class Lake(dg.ConfigurableResource):  # type: ignore[misc]
    """The folder of the tables and of the pipeline's state."""

    folder: str = "demo-out/dagster"

    def table(self, name: str) -> Path:
        return Path(self.folder) / "lake" / name

    def pipeline(self) -> Path:
        """Puts the program and the pipeline file beside their state."""
        Path(self.folder).mkdir(parents=True, exist_ok=True)
        for name in ("control.dl", "control.toml"):
            shutil.copy(HERE / name, self.folder)
        return Path(self.folder) / "control.toml"


class Trades(dg.Config):  # type: ignore[misc]
    """Shares that changed hands since the last run: owner, company and the new percent (0: none)."""

    trades: list[list[str]]


@dg.asset(kinds={"delta"})
def shares(lake: Lake, config: Trades) -> dg.MaterializeResult:
    """Who owns how much of which company; stands for a job of yours that writes a Delta table."""
    owners, companies, percents = zip(*config.trades, strict=True)
    rows = pa.table({"owner": owners, "company": companies, "percent": pa.array(map(int, percents), pa.int16())})
    path = lake.table("shares")
    if not path.exists():
        write_deltalake(path, rows.slice(0, 0), configuration={"delta.enableChangeDataFeed": "true"})
    same = "t.owner = s.owner AND t.company = s.company"
    merge = DeltaTable(path).merge(rows, same, source_alias="s", target_alias="t")
    merge = merge.when_matched_delete("s.percent = 0").when_matched_update_all()
    merge.when_not_matched_insert_all().execute()
    return dg.MaterializeResult(metadata={"version": DeltaTable(path).version()})


@dg.asset(deps=[shares], kinds={"tidelog", "delta"})
def controls(context: dg.AssetExecutionContext, lake: Lake) -> dg.MaterializeResult:
    """Who controls whom, kept by a Tidelog pipeline: one run takes all that is new."""
    command = [sys.executable, "-m", "tidelog", "pipeline", str(lake.pipeline()), "--json"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode != 0:  # nothing of the failed batch is committed
        raise dg.Failure(f"exit code {run.returncode}: {run.stderr}", allow_retries=False)
    batches = [json.loads(line) for line in run.stdout.splitlines()]
    for batch in batches:
        context.log.info("batch %s: %s rows read, changes %s", batch["batch"], batch["read"], batch["changes"])
    counted = [batch["changes"].get("Controls", {"came": 0, "went": 0}) for batch in batches]
    return dg.MaterializeResult(
        metadata={
            "rows read": sum(batch["read"] for batch in batches),
            "rows inserted": sum(each["came"] for each in counted),
            "rows deleted": sum(each["went"] for each in counted),
            "version": DeltaTable(lake.table("controls")).version(),
        }
    )


@dg.asset_check(asset=controls, blocking=True)
def nobody_controls_without_a_majority(lake: Lake) -> dg.AssetCheckResult:
    """Every company that is controlled has an owner with more than half of it."""
    owned = pl.read_delta(str(lake.table("shares"))).filter(pl.col("percent") > 50)
    lost = pl.read_delta(str(lake.table("controls"))).join(owned, on="company", how="anti")
    return dg.AssetCheckResult(passed=lost.is_empty(), metadata={"rows": lost.height})


@dg.asset(deps=[controls], kinds={"polars"})
def holdings(lake: Lake) -> pl.DataFrame:
    """How many companies each owner controls; any job that reads a table."""
    found = pl.read_delta(str(lake.table("controls")))
    return found.group_by("owner").agg(pl.len().alias("companies")).sort("companies", "owner", descending=[True, False])


every_ten_minutes = dg.ScheduleDefinition(
    name="every_ten_minutes", target=dg.AssetSelection.assets(controls, holdings), cron_schedule="*/10 * * * *"
)
defs = dg.Definitions(
    assets=[shares, controls, holdings],
    asset_checks=[nobody_controls_without_a_majority],
    schedules=[every_ten_minutes],
    resources={"lake": Lake()},
)
