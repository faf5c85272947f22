"""What every peer measures: steps of nothing, one run alone and many at once, and a run taken up again.

`one` and `many` are steps a second. `resume_ms` is the time from a started
interpreter to the end of a run whose last step was left; the program is
called once more for it, with `--resume`.
"""

import argparse
import json
import time
from concurrent.futures import ThreadPoolExecutor


def wanted() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--directory", required=True, help="where the store is")
    parser.add_argument("--durability", choices=["process", "power"], required=True)
    parser.add_argument("--steps", type=int, default=1000, help="of the run alone")
    parser.add_argument("--runs", type=int, default=200, help="at once")
    parser.add_argument("--each", type=int, default=20, help="steps of each of these")
    parser.add_argument("--behind", type=int, default=5000, help="steps of the run taken up again")
    parser.add_argument("--resume", action="store_true")
    return parser.parse_args()


def rate(count: int, work) -> float:
    begin = time.perf_counter()
    work()
    return count / (time.perf_counter() - begin)


def at_once(threads: int, count: int, work) -> None:
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(work, range(count)):
            pass


def tell(**found) -> None:
    print(json.dumps(found), flush=True)
