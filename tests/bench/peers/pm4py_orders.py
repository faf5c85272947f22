"""Says how well orders fit the sequences that they were found of, by the alignments of pm4py.

Reads a list of logs from standard input, each with an order that somebody found of it; pm4py's own inductive miner is
judged beside.
"""

import importlib.metadata
import json
import sys
import time

import pandas
import pm4py


def table(log):
    """Makes sequences a table of events."""
    events = [
        {
            "case:concept:name": str(case),
            "concept:name": name,
            "time:timestamp": pandas.Timestamp(at, unit="s", tz="UTC"),
        }
        for case, sequence in enumerate(log)
        for at, name in enumerate(sequence)
    ]
    return pandas.DataFrame(events)


def judged(log, tree):
    net = pm4py.convert_to_petri_net(tree)
    fitness = pm4py.fitness_alignments(log, *net)
    return {
        "fit": fitness["percentage_of_fitting_traces"] / 100,
        "precision": pm4py.precision_alignments(log, *net),
    }


took = 0.0
answers = []
for one in json.load(sys.stdin):
    log = table(one["log"])
    begun = time.perf_counter()
    theirs = pm4py.discover_process_tree_inductive(log)
    took += time.perf_counter() - begun
    ours = one["tree"] and judged(log, pm4py.parse_process_tree(one["tree"]))
    answers.append({"ours": ours, "theirs": judged(log, theirs)})
version = importlib.metadata.version("pm4py")
json.dump({"version": version, "seconds": took, "answers": answers}, sys.stdout)
