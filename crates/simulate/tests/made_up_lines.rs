//! Generated CodeMie files, run in random order: nested forks, lists, gates and loops, failures, lost effects and
//! edits. In every state some command makes progress, and the log restores the run.

use interlock_core::{
    Reply,
    command::{ActivityOutcome, Answer, Command, CommandKind, EffectSettlement, EffectStatus},
    conversation::outputs_before,
    decide,
    dialogue::RunInput,
    effects,
    event::{Cause, Event},
    evolve,
    machine::{Machine, Outcome},
    names::RunId,
    pending::pending,
    place::{item_title, title},
    run::{DurableRun, Phase, Run},
};
use interlock_formats::{NoWorkflows, Source, load};
use interlock_testkit::dice::Dice;
use serde_json::{Value, json};

const FILES: u64 = 600;
const PLAYS: u64 = 2;
/// Maximum number of commands: lists that split themselves repeatedly end late, and what they do until then counts as
/// well.
const COMMANDS_MAX: usize = 250;

/// Generates a file of states with tools, including their outputs.
fn file(dice: &mut Dice) -> Value {
    let count = 3 + dice.number_below(6);
    let states: Vec<Value> = (0..count).map(|at| state(dice, at, count)).collect();
    json!({
        "max_concurrency": 1 + dice.number_below(4),
        "recursion_limit": 12,
        "strict": dice.one_in(6),
        "tools": [{ "id": "t", "tool": "read_file", "tool_args": { "path": "a" } }],
        "states": states,
    })
}

fn state(dice: &mut Dice, at: u64, count: u64) -> Value {
    let mut state = json!({
        "id": format!("s{at}"), "tool_id": "t", "next": way(dice, at, count),
        "interrupt_before": dice.one_in(5),
        "finish_iteration": dice.one_in(2),
        "retry_policy": { "max_attempts": 1 },
    });
    if dice.one_in(4) {
        state["on_error"] = target(dice, at, count).into();
    }
    state
}

/// Returns a later state or the end; rarely any state, to form a loop.
fn target(dice: &mut Dice, at: u64, count: u64) -> String {
    let to = if dice.one_in(12) {
        dice.number_below(count)
    } else {
        at + 1 + dice.number_below(count - at)
    };
    if to < count {
        format!("s{to}")
    } else {
        "end".to_owned()
    }
}

fn way(dice: &mut Dice, at: u64, count: u64) -> Value {
    let (one, other) = (target(dice, at, count), target(dice, at, count));
    let mut way = match dice.number_below(5) {
        0 => json!({ "state_id": one }),
        1 if one != other => json!({ "state_ids": [one, other] }),
        2 => json!({ "condition": { "expression": "good", "then": one, "otherwise": other } }),
        _ if one != "end" => {
            let kinds = ["fail", "skip", "collect"];
            return json!({
                "state_id": one, "iter_key": "items",
                "on_item_error": kinds[dice.below(kinds.len())],
            });
        }
        _ => json!({ "state_id": one }),
    };
    if way.get("state_id").is_none() {
        way["per_item"] = dice.one_in(3).into();
    }
    way
}

fn output(dice: &mut Dice) -> Value {
    match dice.number_below(6) {
        0 => "prose".into(),
        1 => "[1, 2]".into(),
        _ => {
            let items: Vec<u64> = (0..dice.number_below(4)).collect();
            let good = dice.one_in(2);
            json!({ "good": good, "items": items }).to_string().into()
        }
    }
}

struct Play {
    machine: Machine,
    run: Run,
    events: Vec<Event>,
    now_ms: u64,
    what: String,
}

impl Play {
    fn ask(&mut self, command: CommandKind) -> Reply {
        self.now_ms += 1;
        let command = Command {
            at_ms: self.now_ms,
            kind: command,
        };
        let decision = decide(&self.machine, &self.run, &command);
        for event in &decision.events {
            self.run = evolve(std::mem::replace(&mut self.run, nobody()), event);
        }
        self.events.extend(decision.events);
        decision.reply
    }

    fn must(&mut self, command: CommandKind) {
        let told = format!("{command:?}");
        let reply = self.ask(command);
        assert_eq!(reply, Reply::Accepted, "{}: {told}", self.what);
    }

    /// Performs one possible step; returns whether there was one.
    fn step(&mut self, dice: &mut Dice) -> bool {
        let due = effects(&self.machine, &self.run);
        let asked = pending(&self.machine, &self.run);
        if dice.one_in(10) && !due.is_empty() {
            self.must(CommandKind::LoseEffects);
            return true;
        }
        if !due.is_empty() && (asked.is_empty() || dice.one_in(2)) {
            let effect = &due[dice.below(due.len())];
            let path = Some(effect.frame.to_string());
            let command = match effect.status {
                EffectStatus::Lost => CommandKind::SettleEffect {
                    path,
                    how: EffectSettlement::Again,
                    by: "ana".to_owned(),
                },
                _ if dice.one_in(9) => CommandKind::EndActivity {
                    path,
                    outcome: ActivityOutcome::Failed(Cause::new("tool_failed", "no")),
                },
                _ => CommandKind::EndActivity {
                    path,
                    outcome: ActivityOutcome::done(output(dice)),
                },
            };
            self.must(command);
            return true;
        }
        if asked.is_empty() {
            return false;
        }
        let one = &asked[dice.below(asked.len())];
        let mut answer = Answer {
            by: "ana".to_owned(),
            path: Some(one.id().to_string()),
            ..Answer::default()
        };
        let outputs = outputs_before(&self.machine, &self.run, one.path());
        if dice.one_in(2) && !outputs.is_empty() {
            let meant = &outputs[dice.below(outputs.len())];
            let same = outputs.iter().filter(|one| one.title == meant.title);
            if same.count() == 1 {
                answer.of = (outputs.len() > 1).then(|| meant.title.clone());
                answer.edit = output(dice).as_str().map(str::to_owned);
            }
        }
        self.must(CommandKind::Approve(answer));
        true
    }

    /// Checks the invariants after every command.
    fn check(&self) {
        for path in self.run.open_leaves() {
            let title = title(&self.machine, &self.run, &path);
            assert!(!title.is_empty(), "{}: {path}", self.what);
            if let Some(numbered) = item_title(&self.machine, &self.run, &path) {
                assert!(numbered.contains(" of "), "{}: {numbered}", self.what);
            }
        }
    }
}

fn nobody() -> Run {
    Run::new(RunId::new("r"))
}

/// Runs a file in an order given by the dice; returns whether it has ended.
fn play(machine: &Machine, dice: &mut Dice, what: String) -> bool {
    let mut play = Play {
        machine: machine.clone(),
        run: nobody(),
        events: Vec::new(),
        now_ms: 0,
        what,
    };
    play.must(CommandKind::Start {
        input: serde_json::Map::new(),
        by: "ana".to_owned(),
        durable: Some(DurableRun {
            input: Some(RunInput {
                text: r#"{"good": true}"#.to_owned(),
                attached: Vec::new(),
            }),
            ..DurableRun::default()
        }),
    });
    let mut reopened = 0;
    for _ in 0..COMMANDS_MAX {
        play.check();
        let failed = match &play.run.phase {
            Phase::Ended { outcome, .. } => *outcome == Outcome::Failure,
            _ => false,
        };
        if play.run.is_over() {
            if !failed || reopened == 3 {
                break;
            }
            reopened += 1;
            play.must(CommandKind::Reopen {
                by: "ana".to_owned(),
            });
        } else if !play.step(dice) {
            let before = play.events.len();
            play.must(CommandKind::Advance);
            let last: Vec<&Event> = play.events.iter().rev().take(8).collect();
            assert!(
                play.events.len() > before,
                "{}: nobody can lead on: {last:#?}",
                play.what
            );
        }
    }
    let text = serde_json::to_string(&play.run).unwrap();
    assert_eq!(serde_json::from_str::<Run>(&text).unwrap(), play.run);
    let mut again = nobody();
    for event in &play.events {
        let text = serde_json::to_string(event).unwrap();
        again = evolve(again, &serde_json::from_str(&text).unwrap());
    }
    assert_eq!(again, play.run, "{}: the log gives it back", play.what);
    play.run.is_over()
}

#[test]
fn somebody_can_always_lead_on() {
    let (mut played, mut ended) = (0, 0);
    for seed in 0..FILES {
        let mut dice = Dice::of_seed(seed);
        let text = file(&mut dice).to_string();
        let source = Source::new("made-up.json", text.clone());
        let Ok(loaded) = load(&source, None, &NoWorkflows) else {
            continue;
        };
        for number in 0..PLAYS {
            let mut dice = Dice::of_seed(seed * PLAYS + number);
            let what = format!("seed {seed}, play {number}: {text}");
            played += 1;
            ended += u64::from(play(&loaded.machine, &mut dice, what));
        }
    }
    assert!(played > FILES * PLAYS / 3, "only {played} are played");
    assert!(ended > played * 9 / 10, "only {ended} of {played} end");
}
