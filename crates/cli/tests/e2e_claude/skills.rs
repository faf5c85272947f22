//! A command in the text of a skill.

use std::sync::{Arc, Mutex};

use interlock_testkit::claude::{Session, Version};
use interlock_testkit::provider::{Script, call, text};
use serde_json::{Value, json};

use crate::e2e_claude::guarded::Guarded;

/// Returns a project whose skills `reads` and `writes` contain a command in their text.
///
/// The client runs it while it loads them; older versions ask no hook about it.
fn with_skills() -> Guarded {
    let workflow = json!({
        "id": "looking", "initial": "looking",
        "states": {
            "looking": {"allowed_tools": ["Read", "Bash", "Skill"], "on": {"READY": "done"}},
            "done": {"type": "final"},
        },
    });
    let guarded = Guarded::new(Version::V2_1_332, &workflow);
    for (name, line) in [("reads", "cat a.txt"), ("writes", "cat a.txt > leak.txt")] {
        let head = format!("---\nname: {name}\ndescription: looks\nallowed-tools: Bash\n---\n");
        let path = format!(".claude/skills/{name}/SKILL.md");
        let text = format!("{head}\nFound: !`{line}`\n");
        guarded.room.write(&path, &text).unwrap();
    }
    guarded
}

#[test]
fn a_command_in_the_text_of_a_skill_is_judged_as_a_line_is() {
    let guarded = with_skills();
    let call = |name: &str| call("Skill", json!({"skill": name}));
    let outcome = guarded.session(Script::calls(vec![call("reads"), call("writes")]));
    assert_eq!(guarded.room.read("leak.txt"), None);
    let text = outcome.text();
    assert!(text.contains("Found: one"), "{text}");
    assert!(text.contains("shell_write"), "{text}");
}

#[test]
fn a_person_who_types_the_name_of_a_skill_gets_the_same_answer() {
    for (name, runs) in [("reads", true), ("writes", false)] {
        let guarded = with_skills();
        let seen = Arc::new(Mutex::new(String::new()));
        let told = Arc::clone(&seen);
        let script = Script::new(move |request| {
            told.lock().unwrap().push_str(&request.text());
            vec![text("done")]
        });
        let prompt = format!("/{name}");
        let session = Session::new(guarded.version, &guarded.room, script).prompt(&prompt);
        let outcome = session.run().unwrap();
        let seen = seen.lock().unwrap();
        assert_eq!(seen.contains("Found: one"), runs, "{outcome:#?}");
        assert_eq!(guarded.room.read("leak.txt"), None, "{outcome:#?}");
    }
}

/// A hook that crashes, or gives no answer, keeps the command from running.
#[test]
fn a_killed_hook_blocks_the_command_of_a_skill() {
    for body in ["kill -9 $$", "exit 1", "echo 'no JSON'", "true"] {
        let guarded = with_skills();
        let path = ".claude/settings.json";
        let mut settings: Value = serde_json::from_str(&guarded.room.read(path).unwrap()).unwrap();
        let hook = &mut settings["hooks"]["PreSkillShellCommand"][0]["hooks"][0]["command"];
        let program = format!("sh -c '{}'", body.replace('\'', "'\\''"));
        *hook = match hook.as_str().unwrap().split_once(" interlock ") {
            // The line that `init` writes checks the program's answer.
            Some((line, _)) => format!("{line} interlock {program}").into(),
            None => panic!("{hook}"),
        };
        guarded.room.write(path, &settings.to_string()).unwrap();
        let call = |name: &str| call("Skill", json!({"skill": name}));
        let outcome = guarded.session(Script::calls(vec![call("reads"), call("writes")]));
        assert_eq!(guarded.room.read("leak.txt"), None, "{body}");
        let text = outcome.text();
        assert!(!text.contains("Found: one"), "{body}: {text}");
    }
}
