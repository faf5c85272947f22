"""Says of each prefix of made-up runs whether a formula over the past holds, by an automaton that MONA makes.

Standard input: {"formulas": [text], "runs": [{"formula": number, "steps": [{atom: bool}]}]}.
Standard output: for each run a list with one answer for each step.
"""

import json
import re
import sys
import tempfile

from ltlf2dfa import ltlf2dfa
from ltlf2dfa.parser.ppltl import PPLTLParser

STEP = re.compile(r'^ (\d+) -> (\d+) \[label="(.*)"\];$')


def automaton(text):
    """Returns the accepting states, and the steps from each state as Python expressions."""
    dot = PPLTLParser()(text).to_dfa()
    accepting = re.search(r"node \[shape = doublecircle\];([^\n]*)", dot).group(1)
    steps = {}
    for line in dot.splitlines():
        found = STEP.match(line)
        if not found:
            continue
        label = re.sub(r"[~&|]", lambda sign: {"~": " not ", "&": " and ", "|": " or "}[sign.group()], found.group(3))
        label = {"true": "True", "false": "False"}.get(label, label)
        steps.setdefault(int(found.group(1)), []).append((compile(label.strip(), text, "eval"), int(found.group(2))))
    return set(map(int, re.findall(r"\d+", accepting))), steps


def answers(made, run):
    accepting, steps = made
    state = 1
    said = []
    for step in run:
        after = [to for label, to in steps[state] if eval(label, {"__builtins__": {}}, step)]
        if len(after) != 1:
            raise SystemExit(f"the automaton goes to {after} from {state} with {step}")
        state = after[0]
        said.append(state in accepting)
    return said


def main():
    wanted = json.load(sys.stdin)
    # The package writes what MONA reads into this folder, and names it in a line of shell without quotes.
    with tempfile.TemporaryDirectory(prefix="interlock-mona-", dir="/tmp") as folder:
        ltlf2dfa.PACKAGE_DIR = folder
        made = [automaton(text) for text in wanted["formulas"]]
    json.dump([answers(made[run["formula"]], run["steps"]) for run in wanted["runs"]], sys.stdout)


main()
