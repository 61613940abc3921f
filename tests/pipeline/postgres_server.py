"""A Postgres server of the tests: in a folder of its own, reached by a socket in it, stopped with its block.

It refuses to run as root, so root starts it as another user.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

_PORT = 54329
_USERS = ("postgres", "nobody")
_CONFIGURATION = f"""
listen_addresses = ''
port = {_PORT}
wal_level = logical
fsync = off
max_replication_slots = 99
max_wal_senders = 2
max_connections = 40
shared_buffers = 16MB
autovacuum = off
"""


def programs() -> Path | None:
    """Returns the folder of the server's programs; None if it is not installed."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((each for each in folders if (each / "initdb").exists() and (each / "postgres").exists()), None)


class Server:
    """A server in a folder, which is made by the first start."""

    def __init__(self, folder: Path) -> None:
        found = programs()
        assert found is not None
        self._programs = found
        self.folder = folder
        self.data = folder / "data"
        self._process: subprocess.Popen[bytes] | None = None
        self._user = next((name for name in _USERS if _has_user(name)), None) if os.getuid() == 0 else None
        if self._user is not None:
            shutil.chown(folder, self._user)

    @property
    def dsn(self) -> str:
        return f"host={self.folder} port={_PORT} dbname=postgres user=tidelog"

    def make(self) -> None:
        """Makes the data of a new server."""
        arguments = ["-D", str(self.data), "-A", "trust", "-U", "tidelog", "-E", "UTF8", "--locale=C", "-N"]
        subprocess.run([str(self._programs / "initdb"), *arguments], check=True, capture_output=True, **self._as_user())
        with (self.data / "postgresql.conf").open("a") as file:
            file.write(f"{_CONFIGURATION}unix_socket_directories = '{self.folder}'\n")

    def start(self) -> None:
        """Starts the server, and waits until it answers."""
        import psycopg2

        for _ in range(600):
            if self._process is None or self._process.poll() is not None:
                with (self.folder / "log").open("ab") as log:
                    self._process = subprocess.Popen(
                        [str(self._programs / "postgres"), "-D", str(self.data)],
                        stdout=log,
                        stderr=log,
                        **self._as_user(),
                    )
            with suppress(psycopg2.OperationalError):
                psycopg2.connect(self.dsn).close()
                return
            time.sleep(0.1)
        raise AssertionError((self.folder / "log").read_text()[-2000:])

    def kill(self) -> None:
        """Ends the server at once, as a crash does."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGQUIT)
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()
        self._process = None

    def sql(self, *statements: str) -> list[Any]:
        """Runs statements, each as a transaction of its own; returns the rows of the last one."""
        import psycopg2

        connection = psycopg2.connect(self.dsn)
        try:
            connection.autocommit = True
            with connection.cursor() as cursor:
                for each in statements:
                    cursor.execute(each)
                return cursor.fetchall() if cursor.description is not None else []
        finally:
            connection.close()

    def transaction(self, statements: Sequence[str]) -> None:
        """Runs statements as one transaction."""
        self.sql("; ".join(["BEGIN", *statements, "COMMIT"]))

    def _as_user(self) -> dict[str, Any]:
        if self._user is None:
            return {}
        found = pwd.getpwnam(self._user)
        return {"user": found.pw_uid, "group": found.pw_gid, "extra_groups": [], "cwd": self.folder}


@contextmanager
def server() -> Iterator[Server]:
    """Runs a new server during the block."""
    folder = Path(tempfile.mkdtemp(prefix="tidelog-pg-"))
    folder.chmod(0o755)
    made = Server(folder)
    try:
        made.make()
        made.start()
        yield made
    finally:
        made.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _has_user(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True
