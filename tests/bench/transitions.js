// Nanoseconds of one guarded transition that changes the context, in XState: the same workflow as in
// `crates/bench/src/workflow.rs` (`rounds`). Of the two ways it offers, the faster one counts.
import { assign, createActor, initialTransition, setup, transition } from "xstate";

const TIMES = 200;
const CALLS = 1000;

const machine = setup({
  guards: { covered: ({ context }) => context.coverage >= 80 },
  actions: { keep: assign({ round: ({ event }) => event.data.round }) },
}).createMachine({
  id: "rounds",
  initial: "planning",
  context: { coverage: 90, round: 0 },
  states: {
    planning: { on: { GO: { target: "building", guard: "covered", actions: "keep" }, STOP: "over" } },
    building: { on: { GO: { target: "testing", guard: "covered", actions: "keep" }, STOP: "over" } },
    testing: { on: { GO: { target: "planning", guard: "covered", actions: "keep" }, STOP: "over" } },
    over: { type: "final" },
  },
});

function median(once) {
  const times = [];
  for (let time = 0; time < TIMES; time += 1) {
    const begun = process.hrtime.bigint();
    for (let call = 0; call < CALLS; call += 1) once();
    times.push(Number(process.hrtime.bigint() - begun) / CALLS);
  }
  // The first half warms the compiler up.
  return times.slice(TIMES / 2).sort((a, b) => a - b)[TIMES / 4];
}

let round = 0;
const event = () => ({ type: "GO", data: { round: (round += 1) } });

let [snapshot] = initialTransition(machine);
const pure = median(() => {
  [snapshot] = transition(machine, snapshot, event());
});
if (snapshot.context.round !== round) throw new Error("the data is not kept");

const actor = createActor(machine).start();
const sent = median(() => actor.send(event()));
if (actor.getSnapshot().context.round !== round) throw new Error("the data is not kept");

console.log(Math.min(pure, sent));
