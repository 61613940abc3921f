"""A stand-in for an object store: moto's S3, in a process of its own on this machine.

The environment is what a user sets for a store that is not Amazon's: `AWS_ENDPOINT_URL` for PyArrow and deltalake, and
`AWS_ALLOW_HTTP`, because the stand-in has no certificate.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch
from urllib.error import URLError
from urllib.request import urlopen

import pyarrow.fs as pafs

BUCKET = "lake"


@contextmanager
def object_store() -> Iterator[str]:
    """A store with an empty bucket; its endpoint. The environment of this process names it for as long."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    endpoint = f"http://127.0.0.1:{port}"
    names = {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    try:
        _wait_for(endpoint)
        with patch.dict("os.environ", names):
            pafs.S3FileSystem(endpoint_override=endpoint, allow_bucket_creation=True).create_dir(BUCKET)
            yield endpoint
    finally:
        server.kill()
        server.wait()


def _wait_for(endpoint: str) -> None:
    for _ in range(600):
        try:
            urlopen(endpoint, timeout=5).close()
            return
        except URLError:
            time.sleep(0.1)
    raise TimeoutError(endpoint)
