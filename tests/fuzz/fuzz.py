"""Random bytes and mutated programs through the front end, as many as one likes:

    python -m tests.fuzz.fuzz --count 10000 --seed 1

Input number n of a run is made from the seed and n alone, so a failure names everything that is needed to repeat it. A
failing input is made smaller and printed. `--programs DIR` takes further programs to mutate.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from tests.fuzz.answers import SECONDS, TooLongError, answer
from tests.fuzz.inputs import FOLDERS, KINDS_OF_INPUT, make, programs


def fuzz(seed: int, count: int, first: int, kinds: list[str], folders: list[Path], keep_going: bool) -> int:
    """Runs that many inputs of each kind; prints progress to standard error. The number of failures."""
    seeds = programs((*FOLDERS, *folders))
    failures = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for kind in kinds:
            done: Counter[str] = Counter()
            shown = started = time.monotonic()
            slowest = 0.0
            for number in range(first, first + count):
                data = make(kind, seed, number, seeds)
                before = time.process_time()
                failure = failure_of(data, folder, done)
                slowest = max(slowest, time.process_time() - before)
                if failure is not None:
                    failures += 1
                    _report(kind, seed, number, data, folder, failure)
                    if not keep_going:
                        return failures
                if time.monotonic() - shown > 10:
                    shown = time.monotonic()
                    print(f"{shown - started:6.0f} s, {kind} {number}: {_counts(done)}", file=sys.stderr)
            print(f"{count} {kind}: {_counts(done)}; the slowest took {slowest:.2f} s", file=sys.stderr)
    return failures


def failure_of(data: bytes, folder: Path, done: Counter[str] | None = None) -> BaseException | None:
    """What goes wrong with an input, if anything does."""
    try:
        verdict = answer(data, folder)
    except (Exception, TooLongError) as error:
        return error
    if done is not None:
        done[verdict] += 1
    return None


def shrink(data: bytes, folder: Path, failure: BaseException, seconds: float = 60) -> bytes:
    """A smaller input that fails alike: lines, then ever shorter pieces are left out while it still does."""
    end = time.monotonic() + seconds
    size = max(1, len(data) // 2)
    while size and time.monotonic() < end:
        start = 0
        while start < len(data) and time.monotonic() < end:
            smaller = data[:start] + data[start + size :]
            if type(failure_of(smaller, folder)) is type(failure):
                data = smaller
            else:
                start += size
        size = size // 2
    return data


def _report(kind: str, seed: int, number: int, data: bytes, folder: Path, failure: BaseException) -> None:
    is_late = isinstance(failure, TooLongError)
    small = shrink(data, folder, failure, seconds=6 * SECONDS if is_late else 60)
    print(f"# fails: --kind {kind} --seed {seed} --first {number} --count 1")
    print(repr(small) if len(small) < 2_000 else f"{small[:1_000]!r} ... {len(small)} bytes")
    traceback.print_exception(failure_of(small, folder) or failure, limit=-6, file=sys.stdout)
    sys.stdout.flush()


def _counts(done: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(done.items()))


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs random inputs through `tidelog check`, `fmt` and `show`.")
    parser.add_argument("--count", type=int, default=10_000, help="how many inputs of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the number of the first input")
    parser.add_argument("--kind", choices=KINDS_OF_INPUT, action="append", help="may be given more than once")
    parser.add_argument("--programs", type=Path, action="append", default=[], help="a folder with further programs")
    parser.add_argument("--keep-going", action="store_true", help="do not stop at the first failure")
    options = parser.parse_args()
    kinds = options.kind or list(KINDS_OF_INPUT)
    failures = fuzz(options.seed, options.count, options.first, kinds, options.programs, options.keep_going)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
