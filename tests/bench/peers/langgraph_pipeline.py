"""LangGraph: stages with a model one after the other, each answer and each result kept before the next is asked for.

The provider is the scripted one that Interlock is measured with, called over
one kept connection by the standard library, without a model library in
between. A stage is two nodes, the model and its tools; its transcript is its
own, and what it hands in is in the state. Prints one line of JSON.
"""

import argparse
import http.client
import importlib.metadata
import json
import os
import sqlite3
import urllib.parse
from typing import TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph

COMPLETION = "submit"
TOOLS = [
    {
        "name": "Read",
        "description": "Reads a file.",
        "input_schema": {"type": "object", "properties": {"file_path": {"type": "string"}}},
    },
    {"name": COMPLETION, "description": "Ends the stage.", "input_schema": {"type": "object"}},
]


class State(TypedDict):
    messages: list
    upstream: dict


class Provider:
    """Speaks as much of Anthropic's protocol as the scripted provider says."""

    def __init__(self, url: str):
        parts = urllib.parse.urlsplit(url)
        self.connection = http.client.HTTPConnection(parts.hostname, parts.port)

    def ask(self, messages: list) -> list:
        body = {
            "model": "scripted",
            "max_tokens": 4096,
            "stream": True,
            "system": "You are in a stage of a workflow. " * 30,
            "messages": messages,
            "tools": TOOLS,
        }
        headers = {"content-type": "application/json", "x-api-key": "a-key"}
        self.connection.request("POST", "/v1/messages", json.dumps(body), headers)
        answer = self.connection.getresponse()
        text = answer.read().decode()
        assert answer.status == 200, text
        return said(text)


def said(stream: str) -> list:
    parts, pieces = [], []
    for line in stream.splitlines():
        if not line.startswith("data: "):
            continue
        event = json.loads(line[6:])
        if event["type"] == "content_block_start":
            parts.append(dict(event["content_block"]))
            pieces.append("")
        elif event["type"] == "content_block_delta":
            delta = event["delta"]
            pieces[-1] += delta.get("text", "") + delta.get("partial_json", "")
    for part, piece in zip(parts, pieces):
        if part["type"] == "tool_use":
            part["input"] = json.loads(piece or "{}")
        else:
            part["text"] = piece
    return parts


def stages(provider: Provider, names: list) -> StateGraph:
    graph = StateGraph(State)
    graph.add_edge(START, f"{names[0]}_model")
    for at, name in enumerate(names):
        after = f"{names[at + 1]}_model" if at + 1 < len(names) else END
        add_stage(graph, provider, name, after)
    return graph


def add_stage(graph: StateGraph, provider: Provider, name: str, after: str) -> None:
    def model(state: State) -> dict:
        messages = state["messages"] or [{"role": "user", "content": "Begin."}]
        answer = {"role": "assistant", "content": provider.ask(messages)}
        return {"messages": [*messages, answer]}

    def tools(state: State) -> dict:
        calls = [part for part in state["messages"][-1]["content"] if part["type"] == "tool_use"]
        for call in calls:
            if call["name"] == COMPLETION:
                return {"messages": [], "upstream": {**state["upstream"], name: call["input"]}}
        results = [
            {"type": "tool_result", "tool_use_id": call["id"], "content": read(call["input"])}
            for call in calls
        ]
        return {"messages": [*state["messages"], {"role": "user", "content": results}]}

    def onward(state: State) -> str:
        return after if name in state["upstream"] else f"{name}_model"

    graph.add_node(f"{name}_model", model)
    graph.add_node(f"{name}_tools", tools)
    graph.add_edge(f"{name}_model", f"{name}_tools")
    graph.add_conditional_edges(f"{name}_tools", onward, [f"{name}_model", after])


def read(arguments: dict) -> str:
    with open(arguments["file_path"], encoding="utf-8") as file:
        return file.read()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True, help="of the provider")
    parser.add_argument("--store", required=True, help="a file that is not there yet")
    parser.add_argument("stages", nargs="+")
    wanted = parser.parse_args()
    connection = sqlite3.connect(wanted.store, check_same_thread=False)
    saver = SqliteSaver(connection)
    saver.setup()
    # As Interlock is measured: what is written survives a killed process.
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=OFF")
    graph = stages(Provider(wanted.url), wanted.stages).compile(checkpointer=saver)
    config = {"configurable": {"thread_id": "one"}, "recursion_limit": 10_000}
    end = graph.invoke({"messages": [], "upstream": {}}, config, durability="sync")
    assert list(end["upstream"]) == wanted.stages, end
    version = importlib.metadata.version("langgraph")
    print(json.dumps({"version": version, "stored": os.path.getsize(wanted.store)}))


if __name__ == "__main__":
    main()
