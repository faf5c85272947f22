//! The scripted programs of agents: their input, and the handling of their results.

use super::*;

/// Prints its arguments, one per line in brackets, then its input and its folder.
const SAY: &str = r#"for word in "$@"; do echo "[$word]"; done; echo "<$(cat)>"; pwd >&2"#;

fn said(room: &Room, kind: &str, input: Value) -> String {
    done(room.carry(&order(kind, input)))
}

/// Writes words as the scripted programs print them.
fn words(words: &[&str]) -> String {
    words.iter().map(|word| format!("[{word}]\n")).collect()
}

#[test]
fn arguments_reach_each_agent_as_its_own_program_reads_them() {
    let room = Room::new();
    for name in ["claude", "codex", "gemini"] {
        room.program(name, SAY);
    }
    let nasty = "it's $(x) `y` \"z\"\n--flag";
    let schema = r#"{"type":"object"}"#;
    let all = json!({
        "prompt": "p", "model": "opus", "resume": "id1", "append-system-prompt": "- be short",
        "allowed-tools": ["Read", "Bash(git *)"], "output-format": "json",
        "json-output-schema": schema, "timeout": "5m",
    });
    let all_words = [
        "-p",
        "p",
        "--model",
        "opus",
        "--resume",
        "id1",
        "--append-system-prompt",
        "- be short",
        "--allowedTools",
        "Read,Bash(git *)",
        "--output-format",
        "json",
        "--json-schema",
        schema,
    ];
    let streamed = json!({
        "prompt": "p", "output-format": "stream-json", "json-output-schema": {"type": "object"},
    });
    let streamed_words = [
        "-p",
        "p",
        "--output-format",
        "stream-json",
        "--json-schema",
        schema,
        "--verbose",
    ];
    let gemini = json!({"prompt": nasty, "model": "m", "output-format": "json"});
    let gemini_words = ["--model", "m", "--output-format", "json", "-p", nasty];
    let with_model = json!({"prompt": "p", "model": "m"});
    for (kind, input, wanted) in [
        ("claude", json!({"prompt": nasty}), words(&["-p", nasty])),
        ("claude", all, words(&all_words)),
        ("claude", streamed, words(&streamed_words)),
        ("codex", json!({"prompt": nasty}), words(&["exec", nasty])),
        ("codex", with_model, words(&["exec", "--model", "m", "p"])),
        ("gemini", gemini, words(&gemini_words)),
    ] {
        assert_eq!(said(&room, kind, input), format!("{wanted}<>\n"), "{kind}");
    }
    let project = format!("{}\n", room.at("project").display());
    assert_eq!(room.seen.text(Stream::Err), project.repeat(6));
}

#[test]
fn a_prompt_too_long_or_like_an_option_comes_as_input() {
    let room = Room::new();
    let count = r#"for word in "$@"; do echo "[$word]"; done; cat > got"#;
    for name in ["claude", "codex", "gemini"] {
        room.program(name, count);
    }
    let long = "ä".repeat(65_536);
    assert_eq!(long.len(), 131_072);
    for prompt in [long.as_str(), "--dangerously-skip-permissions"] {
        for (kind, argv) in [
            ("claude", words(&["-p"])),
            ("codex", words(&["exec", "-"])),
            ("gemini", String::new()),
        ] {
            let text = said(&room, kind, json!({ "prompt": prompt }));
            assert_eq!(text, argv, "{kind}");
            assert!(room.read("project/got") == prompt, "{kind}");
        }
    }
    let short = "x".repeat(131_071);
    let text = said(&room, "codex", json!({ "prompt": short }));
    assert!(text == words(&["exec", &short]));
}

#[test]
fn each_agent_has_its_code_for_what_lacks_and_what_fails() {
    let mut room = Room::new();
    room.context.path = Some(room.at("bin").into());
    let code = |room: &Room, kind: &str, input: Value| failed(room.carry(&order(kind, input))).code;
    let prompt = || json!({"prompt": "p"});
    for (kind, missing) in [("claude", 1), ("codex", 2), ("gemini", 2)] {
        assert_eq!(code(&room, kind, prompt()), missing, "{kind}");
        room.program(kind, "exit 7");
        assert_eq!(code(&room, kind, prompt()), 1, "{kind}");
        room.program(kind, "kill -9 $$");
        assert_eq!(code(&room, kind, prompt()), 1, "{kind}");
        room.program(kind, "sleep 600");
        let input = json!({"prompt": "p", "timeout": "1s"});
        assert_eq!(code(&room, kind, input), 124, "{kind}");
        for bad in [
            json!({"prompt": " \n"}),
            json!({"prompt": "a\0b"}),
            json!({"prompt": "p", "model": "--yolo"}),
            json!({"prompt": "p", "timeout": "soon"}),
            json!({"prompt": "p", "capture": "all"}),
            json!({}),
        ] {
            assert_eq!(code(&room, kind, bad), 1, "{kind}");
        }
    }
    for bad in [
        json!({"prompt": "p", "output-format": "xml"}),
        json!({"prompt": "p", "json-output-schema": "{"}),
        json!({"prompt": "p", "json-output-schema": "{\"type\": 5}"}),
        json!({"prompt": "p", "json-output-schema": {"type": 5}}),
        json!({"prompt": "p", "allowed-tools": "--x"}),
    ] {
        assert_eq!(code(&room, "claude", bad), 1);
    }
}

#[test]
fn both_outputs_are_captured_where_that_is_asked() {
    let room = Room::new();
    room.program("codex", "echo a; echo b >&2; echo c");
    let mut order = order("codex", json!({"prompt": "p", "capture": "both"}));
    order.capture = Some(Capture::Text);
    assert_eq!(done(room.carry(&order)), "a\nb\nc\n");
    order.input["capture"] = json!("stdout");
    assert_eq!(done(room.carry(&order)), "a\nc\n");
    assert_eq!(room.seen.text(Stream::Err), "b\n");
}

#[test]
fn an_interactive_agent_needs_a_terminal() {
    let room = Room::new();
    room.program("claude", "true");
    let said = failed(room.carry(&order("claude-code", json!({"prompt": "p"}))));
    assert!(said.message.contains("terminal"), "{}", said.message);
    let long = "x".repeat(131_072);
    for (prompt, said) in [
        ("a\0b", "has a NUL byte"),
        (long.as_str(), "put it in a file"),
    ] {
        let failed = failed(room.carry(&order("claude-code", json!({ "prompt": prompt }))));
        assert!(failed.message.contains(said), "{}", failed.message);
    }
}

#[test]
fn an_issue_is_asked_of_its_own_program() {
    let mut room = Room::new();
    room.context.path = Some(room.at("bin").into());
    let issue = |input| order("get-gh-issue", input);
    let number = || json!({"issue-number": " #12 "});
    assert_eq!(failed(room.carry(&issue(number()))).code, 2);
    room.program("gh", r#"for word in "$@"; do echo "[$word]"; done"#);
    let parts = "number,title,body,state,labels,url,comments";
    let argv = words(&["issue", "view", "12", "--json", parts]);
    assert_eq!(done(room.carry(&issue(number()))), argv);
    let with_repo = json!({"issue-number": "12", "repo": "a/b"});
    let wanted = argv + &words(&["--repo", "a/b"]);
    assert_eq!(done(room.carry(&issue(with_repo))), wanted);
    room.program("gh", "exit 4");
    assert_eq!(failed(room.carry(&issue(number()))).code, 1);
    for bad in [
        json!({"issue-number": "x1"}),
        json!({"issue-number": "#"}),
        json!({"issue-number": "1", "repo": "-R"}),
    ] {
        assert_eq!(failed(room.carry(&issue(bad))).code, 1);
    }
}

fn custom(command: &Value, arguments: Value) -> Order {
    let schema = json!({
        "type": "object",
        "properties": {
            "count": {"type": "integer", "minimum": 1, "default": 2},
            "name": {"type": "string"},
            "loud": {"type": "boolean"},
        },
        "required": ["name"],
        "additionalProperties": false,
    });
    let input =
        json!({"tool": "greet", "command": command, "arguments": arguments, "schema": schema});
    order("custom", input)
}

fn hole(key: &str) -> Value {
    json!([{"hole": {"key": key}}])
}

#[test]
fn a_custom_tool_gets_its_arguments_in_its_own_argv() {
    let room = Room::new();
    room.program("greet", SAY);
    let count = json!([{"plain": "n="}, {"hole": {"key": "count"}}]);
    let command = json!(["greet", hole("name"), hole("loud"), count]);
    let text = |order: &Order| done(room.carry(order));
    let nasty = "a b; $(x)";
    let wanted = words(&[nasty, "n=2"]) + "<>\n";
    assert_eq!(text(&custom(&command, json!({"name": nasty}))), wanted);
    let all = json!({"name": "n", "loud": "yes", "count": "007"});
    let wanted = words(&["n", "true", "n=7"]) + "<>\n";
    assert_eq!(text(&custom(&command, all)), wanted);
    let mut order = custom(&command, json!({"name": "n"}));
    order.input["stdin"] = json!([{"plain": "hello "}, {"hole": {"key": "name"}}]);
    order.input["env"] = json!({"X": hole("name")});
    order.input["cwd"] = json!(room.at("home").to_str().unwrap());
    assert_eq!(text(&order), words(&["n", "n=2"]) + "<hello n>\n");
    assert!(room.seen.text(Stream::Err).ends_with("/home\n"));
}

#[test]
fn a_custom_tool_refuses_what_its_schema_does() {
    let room = Room::new();
    room.program("greet", "touch ran; exit 9");
    let command = json!(["greet"]);
    for arguments in [
        json!({}),
        json!({"name": "n", "count": "0"}),
        json!({"name": "n", "count": "many"}),
        json!({"name": "n", "loud": "perhaps"}),
        json!({"name": "n", "other": "x"}),
    ] {
        let said = failed(room.carry(&custom(&command, arguments)));
        assert_eq!(said.code, 1);
        assert!(said.message.contains("`greet`"), "{}", said.message);
    }
    assert!(!room.at("project/ran").exists());
    let good = json!({"name": "n"});
    assert_eq!(failed(room.carry(&custom(&command, good.clone()))).code, 9);
    let absent = custom(&json!(["not-there-at-all"]), good);
    assert_eq!(failed(room.carry(&absent)).code, 2);
}

/// A guard with which a scripted agent reports the end of its run.
struct Scripted(PathBuf);

#[derive(Debug)]
struct Held(PathBuf);

impl Guard for Scripted {
    fn begin(&self, wanted: &GuardWanted<'_>) -> Result<Box<dyn Guarded>, String> {
        match wanted.workflow {
            "bugfix" => Ok(Box::new(Held(self.0.join("ended")))),
            other => Err(format!("there is no workflow `{other}`")),
        }
    }
}

impl Guarded for Held {
    fn environment(&self) -> Vec<(String, String)> {
        let file = self.0.to_str().unwrap().to_owned();
        vec![("GUARD_FILE".to_owned(), file)]
    }

    fn arguments(&self) -> Vec<String> {
        vec!["--held".to_owned(), "firmly".to_owned()]
    }

    fn end(&mut self) -> Result<(), String> {
        match fs::read_to_string(&self.0).unwrap_or_default().trim() {
            "success" => Ok(()),
            _ => Err("the run of `bugfix` has not ended".to_owned()),
        }
    }
}

#[test]
fn a_guarded_agent_succeeds_only_where_its_run_did() {
    let mut room = Room::new();
    room.program(
        "claude",
        "echo worked; echo $* > ../beside/words; echo success > \"$GUARD_FILE\"",
    );
    let order = |workflow: &str| order("claude", json!({"prompt": "p", "guard": workflow}));
    let unheld = failed(room.carry(&order("bugfix")));
    assert_eq!(unheld.code, 1, "nothing holds an agent here");
    room.context.guard = Some(Arc::new(Scripted(room.at("beside"))));
    assert_eq!(done(room.carry(&order("bugfix"))), "worked\n");
    assert_eq!(room.read("beside/words"), "--held firmly -p p\n");
    room.program("claude", "echo worked");
    fs::remove_file(room.at("beside/ended")).unwrap();
    let unended = failed(room.carry(&order("bugfix")));
    assert_eq!((unended.code, unended.reason), (1, Some("guard_failed")));
    assert_eq!(unended.stdout, "worked\n");
    let unknown = failed(room.carry(&order("other")));
    assert!(
        unknown.message.contains("no workflow `other`"),
        "{}",
        unknown.message
    );
}
