"""LangGraph with its SQLite checkpointer: steps that do nothing, each kept before the next one begins.

Prints one line of JSON; see `steps.py` for what it measures.
"""

import importlib.metadata
import os
import sqlite3
import sys
import time
from typing import TypedDict

import steps
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph

THREADS = 8


class State(TypedDict):
    done: int
    wanted: int
    held: bool


def step(state: State) -> dict:
    return {"done": state["done"] + 1}


def onward(state: State) -> str:
    if state["done"] < state["wanted"]:
        return "step"
    return "last" if state["held"] else END


def last(state: State) -> dict:
    return {"done": state["done"] + 1}


def opened(file: str, durability: str):
    connection = sqlite3.connect(file, check_same_thread=False)
    saver = SqliteSaver(connection)
    saver.setup()
    # What is written survives a killed process either way; a power loss only with FULL.
    connection.execute("PRAGMA journal_mode=WAL")
    level = "FULL" if durability == "power" else "OFF"
    connection.execute(f"PRAGMA synchronous={level}")
    graph = StateGraph(State)
    graph.add_node("step", step)
    graph.add_node("last", last)
    graph.add_edge(START, "step")
    graph.add_conditional_edges("step", onward)
    graph.add_edge("last", END)
    return graph.compile(checkpointer=saver, interrupt_before=["last"])


def config(name: str, count: int) -> dict:
    return {"configurable": {"thread_id": name}, "recursion_limit": count + 10}


def play(graph, name: str, count: int, held: bool = False) -> None:
    begin = {"done": 0, "wanted": count, "held": held}
    end = graph.invoke(begin, config(name, count), durability="sync")
    assert end["done"] == count, end


def main() -> None:
    wanted = steps.wanted()
    file = os.path.join(wanted.directory, "langgraph.sqlite")
    if wanted.resume:
        begin = time.perf_counter()
        graph = opened(file, wanted.durability)
        end = graph.invoke(None, config("resumed", wanted.behind), durability="sync")
        assert end["done"] > 1, end
        steps.tell(resume_ms=(time.perf_counter() - begin) * 1000)
        return
    graph = opened(file, wanted.durability)
    play(graph, "warm", 20)
    one = steps.rate(wanted.steps, lambda: play(graph, "one", wanted.steps))
    many = steps.rate(
        wanted.runs * wanted.each,
        lambda: steps.at_once(
            THREADS, wanted.runs, lambda at: play(graph, f"many-{at}", wanted.each)
        ),
    )
    play(graph, "resumed", wanted.behind, held=True)
    version = importlib.metadata.version("langgraph")
    steps.tell(peer="LangGraph", store="SQLite", version=version, one=one, many=many)


if __name__ == "__main__":
    sys.exit(main())
