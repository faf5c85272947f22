//! Generated machines: difficult names, cycles, forks, interrupts, a thousand states.

use indexmap::IndexMap;
use interlock_core::{
    guard::GuardRef,
    machine::{
        Activity, ApprovalRule, Branch, Interrupt, Limits, Machine, Outcome, Parallel, Rule, State,
        Target, Transition,
    },
};
use interlock_graph::Graph;
use proptest::{collection::vec, prelude::*};

use crate::picture;

/// Prefixes of names; a number after them makes them unique.
const NAMES: [&str; 8] = [
    "plan",
    "a rather long name for a state in which much is done",
    "</title><script>",
    "\"quoted\" & 'so'",
    "状態",
    "end\nline\u{1}",
    "]]>\u{202e}#35;",
    "👩‍💻 _x_ **y**",
];

/// A transition of a generated machine: source, target, event, and requirement.
type Step = (usize, usize, usize, u8);

fn made(
    states: usize,
    names: &[usize],
    steps: &[Step],
    forks: &[usize],
    interrupts: u8,
) -> Machine {
    let name = |index: usize| {
        let begin = NAMES[names.get(index).copied().unwrap_or_default() % NAMES.len()];
        format!("{begin} {index}").as_str().into()
    };
    let mut machine = Machine {
        stages: None,
        conversation: None,
        agents: IndexMap::new(),
        id: NAMES[states % NAMES.len()].into(),
        hash: String::new(),
        initial: name(0),
        context: serde_json::Map::new(),
        states: (0..states)
            .map(|index| (name(index), State::default()))
            .collect(),
        guards: IndexMap::new(),
        interrupts: IndexMap::new(),
        machines: IndexMap::new(),
        limits: Limits::default(),
        meta: serde_json::Map::new(),
        finish: interlock_core::machine::FinishRule::Optional,
        durable: false,
    };
    for &(from, to, event, needs) in steps {
        let target = match to % (states + 2) {
            to if to < states => Target::State(name(to)),
            to if to == states => Target::Return,
            _ => Target::End(Outcome::Failure),
        };
        let transition = Transition {
            guards: (0..needs % 3)
                .map(|_| GuardRef::Named("a < b".into()))
                .collect(),
            target,
            approval: (needs % 4 == 3).then(ApprovalRule::default),
        };
        let state = machine.states.get_mut(&name(from % states)).unwrap();
        let event = format!("{} {}", NAMES[event % NAMES.len()], event % 3);
        let rule = state.on.entry(event.as_str().into()).or_insert(Rule {
            branched: needs % 2 == 0,
            transitions: Vec::new(),
        });
        rule.transitions.push(transition);
    }
    for (number, &at) in forks.iter().enumerate() {
        let branch = |shift: usize| Branch {
            initial: name((at + shift) % states),
            terminal: name((at + shift + number) % states),
        };
        let branches = [("<one>", 1), ("two", 2)];
        let branches = branches.map(|(name, shift)| (name.to_owned(), branch(shift)));
        let fork = Parallel::branches(branches.into());
        machine.states.get_mut(&name(at % states)).unwrap().activity = Activity::Parallel(fork);
    }
    if let Some((_, last)) = machine.states.last_mut() {
        last.activity = Activity::Final {
            outcome: Outcome::Success,
        };
    }
    for number in 0..interrupts {
        let interrupt = Interrupt {
            file_pattern: "**/*.<sql>".to_owned(),
            target: name(usize::from(number) % states),
        };
        machine
            .interrupts
            .insert(format!("on {number}").as_str().into(), interrupt);
    }
    machine
}

/// Checks that no name ends its quotes, and that the groups are closed.
fn check_texts(machine: &Machine) {
    let graph = Graph::of(machine, None, &[]);
    let mermaid = graph.mermaid();
    for line in mermaid.lines().skip(3) {
        let quotes = line.matches('"').count();
        assert!(quotes == 0 || quotes == 2, "{line}");
        assert!(
            !line.contains('<') || line.replace("<br/>", "").find('<').is_none(),
            "{line}"
        );
    }
    let words = |word: &str| {
        mermaid
            .lines()
            .filter(|line| line.trim().starts_with(word))
            .count()
    };
    assert_eq!(
        words("subgraph "),
        mermaid.lines().filter(|line| line.trim() == "end").count()
    );
    let dot = graph.dot();
    let (mut quoted, mut depth, mut escaped) = (false, 0, false);
    for letter in dot.chars() {
        match letter {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '{' if !quoted => depth += 1,
            '}' if !quoted => depth -= 1,
            _ => {}
        }
    }
    assert!(!quoted && depth == 0, "{dot}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_machine_can_be_drawn(
        states in 1_usize..14,
        names in vec(0_usize..8, 14),
        steps in vec((0_usize..14, 0_usize..16, 0_usize..24, 0_u8..8), 0..40),
        forks in vec(0_usize..14, 0..4),
        interrupts in 0_u8..3,
    ) {
        let machine = made(states, &names, &steps, &forks, interrupts);
        let drawn = picture::check(&machine);
        prop_assert_eq!(drawn, Graph::of(&machine, None, &[]).svg());
        check_texts(&machine);
    }
}

#[test]
fn a_thousand_states_do_not_blow_up() {
    let count = 1_000;
    let chain = (0..count - 1).flat_map(|at| [(at, at + 1, 0, 0), (at, count - 1, 1, 0)]);
    let star = (1..count).flat_map(|at| [(0, at, at, 0), (at, 0, 0, 0)]);
    // Steps with a fixed stride lead across the whole machine.
    let strides = (0..count)
        .flat_map(|at| [1, 389, 707].map(|stride| (at, (at + stride) % count, stride % 3, 0)));
    let nested = (0..count - 1).map(|at| (at, at + 1, 0, 0));
    let all: [(Vec<Step>, Vec<usize>); 4] = [
        (chain.collect(), Vec::new()),
        (star.collect(), Vec::new()),
        (strides.collect(), Vec::new()),
        (nested.collect(), (0..count - 1).step_by(2).collect()),
    ];
    for (steps, forks) in all {
        let drawn = picture::check(&made(count, &[0; 1_000], &steps, &forks, 1));
        assert!(drawn.len() < 4_000_000, "{} bytes", drawn.len());
    }
}
