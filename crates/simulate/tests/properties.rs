//! Invariants of every simulation, for any input.

use interlock_core::run::Run;
use interlock_simulate::{Scenario, Simulation};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::made_up_runs::{lines, machine};

fn limit_holds(answer: &Value, name: &str) -> bool {
    let pair = answer.pointer(&format!("/limits/{name}"));
    pair.is_none_or(|pair| pair.get(0).unwrap().as_u64() <= pair.get(1).unwrap().as_u64())
}

fn files_used(answer: &Value) -> u64 {
    let used = answer.pointer("/limits/files/0");
    used.and_then(Value::as_u64).unwrap_or_default()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn every_line_is_answered_and_the_same_lines_are_answered_alike(lines in lines()) {
        let mut first = Simulation::new(machine(), Scenario::default());
        let mut second = first.clone();
        let mut files = 0;
        for line in &lines {
            let before = serde_json::to_value(first.run()).unwrap();
            let status = interlock_view::report::status(&machine(), first.run());
            let answer = serde_json::to_value(first.step(line).unwrap()).unwrap();
            prop_assert_eq!(&serde_json::to_value(second.step(line).unwrap()).unwrap(), &answer);
            // Exactly the refusals have a code.
            let ok = answer.get("ok") == Some(&json!(true));
            prop_assert_eq!(ok, answer.get("code") == Some(&Value::Null), "{}", &answer);
            prop_assert!(limit_holds(&answer, "iterations"), "{}", &answer);
            // A result may report more files than were judged; no call is allowed beyond the limit.
            let told = line.starts_with("{\"result") || files_used(&answer) <= files;
            prop_assert!(told || limit_holds(&answer, "files"), "{}", &answer);
            files = files_used(&answer);
            // A snapshot equals the run.
            let text = serde_json::to_string(first.run()).unwrap();
            prop_assert_eq!(&serde_json::from_str::<Run>(&text).unwrap(), first.run());
            // While paused, only a person's commands and results change a run.
            let asks = line.starts_with("{\"transition") || line.starts_with("{\"tool");
            if status.as_str() == "paused" && asks {
                prop_assert!(!ok, "{}", &answer);
            }
            // An ended run stays ended.
            if first.run().is_over() && before.pointer("/phase/ended").is_some() {
                prop_assert_eq!(&serde_json::to_value(first.run()).unwrap(), &before);
            }
        }
    }

    #[test]
    fn no_text_is_too_strange_to_be_answered(text in ".{0,200}", json in "\\{\"(tool|transition|result|approve|state)\": .{0,80}\\}") {
        let mut simulation = Simulation::new(machine(), Scenario::default());
        let _ = simulation.step(&text);
        let _ = simulation.step(&json);
    }
}
