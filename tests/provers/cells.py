"""Finds for conditions on one key of the context every combination of answers that some value gives, with a value.

Standard input: [[{"field": text, "op": text, "value": any}]], the conditions of each workflow.
Standard output: for each workflow [{"cell": "010", "value": any}], where `value` is missing if the key is.
"""

import itertools
import json
import re
import sys

from z3 import And, Bool, BoolSort, BoolVal, Const, Contains, Datatype, Not, Or, RealSort, RealVal, Solver
from z3 import IntSort, StringSort, StringVal, If, sat

# One field of a value; lists and objects are numbers of those that are worth telling apart.
Leaf = Datatype("Leaf")
Leaf.declare("missing")
Leaf.declare("null")
Leaf.declare("truth", ("is_true", BoolSort()))
Leaf.declare("number", ("amount", RealSort()))
Leaf.declare("text", ("letters", StringSort()))
Leaf.declare("array", ("list", IntSort()))
Leaf.declare("object", ("map", IntSort()))
Leaf = Leaf.create()

OTHER = "of no condition"


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def same(one, other):
    """Compares as JSON: a number is no truth value."""
    if is_number(one) and is_number(other):
        return one == other
    return type(one) is type(other) and one == other


class World:
    """The lists and objects that conditions may tell apart."""

    def __init__(self, guards):
        values = [guard.get("value") for guard in guards]
        constants = list(values)
        for value in values:
            constants.extend(value if isinstance(value, list) else [])
        parts = [guard["value"] for guard in guards if guard["op"] == "contains"]
        self.lists = [value for value in constants if isinstance(value, list)]
        for count in range(len(parts) + 1):
            self.lists += [list(some) + [OTHER] for some in itertools.combinations(parts, count)]
        self.maps = [value for value in constants if isinstance(value, dict)] + [{OTHER: 0}]

    def equal(self, leaf, value):
        if value is None:
            return Leaf.is_null(leaf)
        if isinstance(value, bool):
            return And(Leaf.is_truth(leaf), Leaf.is_true(leaf) == value)
        if is_number(value):
            return And(Leaf.is_number(leaf), Leaf.amount(leaf) == RealVal(str(value)))
        if isinstance(value, str):
            return And(Leaf.is_text(leaf), Leaf.letters(leaf) == StringVal(value))
        if isinstance(value, list):
            alike = [Leaf.list(leaf) == index for index, known in enumerate(self.lists) if same(known, value)]
            return And(Leaf.is_array(leaf), Or(alike))
        alike = [Leaf.map(leaf) == index for index, known in enumerate(self.maps) if same(known, value)]
        return And(Leaf.is_object(leaf), Or(alike))

    def bounds(self, leaf):
        return And(
            Or(Not(Leaf.is_array(leaf)), And(Leaf.list(leaf) >= 0, Leaf.list(leaf) < len(self.lists))),
            Or(Not(Leaf.is_object(leaf)), And(Leaf.map(leaf) >= 0, Leaf.map(leaf) < len(self.maps))),
        )

    def contains(self, leaf, part):
        among = [index for index, known in enumerate(self.lists) if any(same(item, part) for item in known)]
        inside = And(Leaf.is_array(leaf), Or([Leaf.list(leaf) == index for index in among]))
        if isinstance(part, str):
            return Or(inside, And(Leaf.is_text(leaf), Contains(Leaf.letters(leaf), StringVal(part))))
        return inside

    def read(self, leaf, model):
        """Returns the JSON of a field; `None` in a list: it is missing."""
        leaf = model.eval(leaf, model_completion=True)
        value = lambda part: model.eval(part, model_completion=True)
        if bool(value(Leaf.is_missing(leaf))):
            return []
        if bool(value(Leaf.is_null(leaf))):
            return [None]
        if bool(value(Leaf.is_truth(leaf))):
            return [bool(value(Leaf.is_true(leaf)))]
        if bool(value(Leaf.is_number(leaf))):
            amount = value(Leaf.amount(leaf)).as_fraction()
            return [int(amount) if amount.denominator == 1 else float(amount)]
        if bool(value(Leaf.is_text(leaf))):
            letters = value(Leaf.letters(leaf)).as_string()
            return [re.sub(r"\\u\{([0-9a-f]+)\}", lambda code: chr(int(code.group(1), 16)), letters)]
        if bool(value(Leaf.is_array(leaf))):
            return [self.lists[value(Leaf.list(leaf)).as_long()]]
        return [self.maps[value(Leaf.map(leaf)).as_long()]]


def holds(world, guard, whole, parts, extra):
    """Says in formulas when a condition holds; an object of the key is told by its fields."""
    way = guard["field"].split("/")[2:]
    leaf = If(Leaf.is_object(whole), parts[way[0]], Leaf.missing) if way else whole
    op, wanted = guard["op"], guard.get("value")
    there = Not(Leaf.is_missing(leaf))

    def equal(value):
        if way or not isinstance(value, dict):
            return world.equal(leaf, value)
        fields = [world.equal(parts[name], value[name]) if name in value else Leaf.is_missing(parts[name]) for name in parts]
        return And(Leaf.is_object(whole), Not(extra), *fields)

    if op == "exists":
        return And(there, Not(Leaf.is_null(leaf)))
    if op == "not_exists":
        return Or(Leaf.is_missing(leaf), Leaf.is_null(leaf))
    if op == "eq":
        return equal(wanted)
    if op == "neq":
        return And(there, Not(equal(wanted)))
    if op == "in":
        return Or([equal(value) for value in wanted]) if isinstance(wanted, list) else BoolVal(False)
    if op == "contains":
        return world.contains(leaf, wanted)
    if not is_number(wanted):
        return BoolVal(False)
    amount, bound = Leaf.amount(leaf), RealVal(str(wanted))
    order = {"gt": amount > bound, "gte": amount >= bound, "lt": amount < bound, "lte": amount <= bound}
    return And(Leaf.is_number(leaf), order[op])


def cells(guards):
    world = World(guards)
    whole, extra = Const("whole", Leaf), Bool("extra")
    parts = {name: Const(name, Leaf) for name in ["a", "b"]}
    said = [holds(world, guard, whole, parts, extra) for guard in guards]
    solver = Solver()
    solver.add(*(world.bounds(leaf) for leaf in [whole, *parts.values()]))
    found = []
    for cell in itertools.product("01", repeat=len(guards)):
        solver.push()
        solver.add(*(one if bit == "1" else Not(one) for one, bit in zip(said, cell)))
        if solver.check() == sat:
            model = solver.model()
            value = world.read(whole, model)
            if value and isinstance(value[0], dict):
                fields = {name: world.read(leaf, model) for name, leaf in parts.items()}
                value = [{name: field[0] for name, field in fields.items() if field}]
                if bool(model.eval(extra, model_completion=True)):
                    value[0][OTHER] = 0
            one = {"cell": "".join(cell)}
            if value:
                one["value"] = value[0]
            found.append(one)
        solver.pop()
    return found


json.dump([cells(guards) for guards in json.load(sys.stdin)], sys.stdout)
