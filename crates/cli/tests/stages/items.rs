//! Items of a CodeMie file, with a run that is killed and resumed.

use std::process::Stdio;

use interlock_testkit::provider::{Reply, Script, text};

use crate::stages::place::{Place, wait_until};

const FLOW: &str = "max_concurrency: 1
assistants: [{id: a, system_prompt: x}]
states:
  - {id: split, assistant_id: a, task: list the files, next: {state_id: process-file, iter_key: files}}
  - {id: process-file, assistant_id: a, task: 'Process {{task}}!', next: {state_id: sum, append_to_context: true, output_key: seen}}
  - {id: sum, assistant_id: a, task: 'Sum up {{seen}}', next: {state_id: end}}
";

fn say(said: &str) -> Reply {
    Reply::say(vec![text(said)])
}

#[test]
fn killed_in_the_second_item_the_first_is_not_repeated() {
    for provider in ["anthropic", "openai"] {
        let place = Place::new(
            provider,
            FLOW,
            Script::replies(vec![
                say(r#"{"files": ["a", "b", "c"]}"#),
                say("A"),
                say("a long answer about the second file").silent_at(200),
                say("B"),
                say("C"),
                say("all"),
            ]),
        );
        let mut command = place.command(&["run", "flow", "-n", "one", "--headless"]);
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_until("the second item", || place.provider.asked().len() == 3);
        child.kill().unwrap();
        child.wait().unwrap();
        let state = place.status()["state"].to_string();
        assert!(state.contains("after:split/2/process-file"), "{state}");
        let said = place
            .by_person(&["resume", "one", "--headless"])
            .ended(0)
            .says(&["process-file 2 of 3"]);
        assert_eq!(said.out, "all\n");
        let asked = place.provider.asked();
        assert_eq!(asked.len(), 6);
        assert_eq!(asked[2].bytes, asked[3].bytes, "the same request again");
        let last = String::from_utf8(asked[5].bytes.clone()).unwrap();
        assert!(
            last.contains(r#"Sum up [\"A\",\"B\",\"C\"]"#),
            "each once, in order: {last}"
        );
    }
}
