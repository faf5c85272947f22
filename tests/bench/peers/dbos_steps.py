"""DBOS: steps that do nothing, on SQLite or, where `--database` names one, on PostgreSQL.

Prints one line of JSON; see `steps.py` for what it measures.
"""

import importlib.metadata
import os
import sys
import time

import steps
from dbos import DBOS, SetWorkflowID
from sqlalchemy import event
from sqlalchemy.engine import Engine

THREADS = 8


@DBOS.step()
def step() -> int:
    return 1


@DBOS.workflow()
def chain(count: int) -> int:
    return sum(step() for _ in range(count))


@DBOS.step()
def last(killed: bool) -> int:
    if killed:
        # As a killed process: nothing is tidied up.
        os._exit(0)
    return 1


@DBOS.workflow()
def held(count: int) -> int:
    done = sum(step() for _ in range(count))
    return done + last(os.environ.get("STEPS_RESUMED") is None)


def launch(wanted) -> None:
    database = os.environ.get("STEPS_DATABASE")
    url = database or f"sqlite:///{wanted.directory}/dbos.sqlite"
    if database is None:
        level = "FULL" if wanted.durability == "power" else "OFF"

        @event.listens_for(Engine, "connect")
        def quick(connection, _record):
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute(f"PRAGMA synchronous={level}")

    DBOS(
        config={
            "name": "steps",
            "system_database_url": url,
            "log_level": "ERROR",
            "run_admin_server": False,
            "application_version": "1",
            "executor_id": "local",
        }
    )
    DBOS.launch()


def main() -> None:
    wanted = steps.wanted()
    begin = time.perf_counter()
    if wanted.resume:
        os.environ["STEPS_RESUMED"] = "yes"
        launch(wanted)
        assert DBOS.retrieve_workflow("held").get_result() > 1
        steps.tell(resume_ms=(time.perf_counter() - begin) * 1000)
        os._exit(0)
    launch(wanted)
    chain(20)
    one = steps.rate(wanted.steps, lambda: chain(wanted.steps))
    many = steps.rate(
        wanted.runs * wanted.each,
        lambda: steps.at_once(THREADS, wanted.runs, lambda _: chain(wanted.each)),
    )
    store = "PostgreSQL" if os.environ.get("STEPS_DATABASE") else "SQLite"
    version = importlib.metadata.version("dbos")
    steps.tell(peer="DBOS", store=store, version=version, one=one, many=many)
    with SetWorkflowID("held"):
        held(wanted.behind)


if __name__ == "__main__":
    sys.exit(main())
