//! Recordings of real clients, each named by the client's version, and the sessions read from them.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a failed test panics"
)]

use std::{fmt::Write as _, path::Path};

use interlock_sessions::{Ended, Format, Session, join, read, read_files, recordings};
use proptest::prelude::*;

fn folder(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/recordings")
        .join(name)
}

fn sessions(name: &str) -> Vec<Session> {
    let files = recordings(&folder(name)).unwrap();
    read_files(&files, &files, |_| {}).unwrap()
}

/// Writes each call on one line: the tool, its subject, its caller, how it ended, and its exit code.
fn ledger(session: &Session) -> String {
    let mut text = String::new();
    for call in &session.calls {
        let about = [
            "command",
            "cmd",
            "file_path",
            "filePath",
            "path",
            "event",
            "agent_type",
            "input",
        ]
        .iter()
        .find_map(|key| call.input.get(*key)?.as_str())
        .unwrap_or("-");
        let about: String = about
            .lines()
            .collect::<Vec<_>>()
            .join("/")
            .chars()
            .take(60)
            .collect();
        let by = if call.agent.is_some() { "sub" } else { "main" };
        let ended = match call.ended {
            Ended::Well => "well",
            Ended::Failed => "failed",
            Ended::NotRun => "not run",
            Ended::Unknown => "unknown",
        };
        let exit = call.exit.map_or("-".to_owned(), |code| code.to_string());
        writeln!(text, "{by} {} | {about} | {ended} | {exit}", call.tool).unwrap();
    }
    text
}

#[track_caller]
fn check(name: &str, expected: &str) {
    let sessions = sessions(name);
    let [session] = sessions.as_slice() else {
        unreachable!("one session: {sessions:#?}")
    };
    let lines: Vec<&str> = expected
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    assert_eq!(ledger(session).lines().collect::<Vec<_>>(), lines, "{name}");
    assert_eq!(
        session.directory.as_deref().unwrap_or("/home/you/shop"),
        "/home/you/shop"
    );
    assert!(session.losses.is_none(), "{:?}", session.losses);
    let times: Vec<_> = session.calls.iter().map(|call| call.at_ms).collect();
    assert!(
        times.is_sorted() && times.iter().all(Option::is_some),
        "{times:?}"
    );
    let tried = session.format.tried();
    assert!(
        tried.is_none() || session.version.is_some(),
        "{name} has a version"
    );
}

const CLAUDE: &str = "
    main Read | /home/you/shop/sums.py | well | -
    main Bash | false; exit 3 | failed | 3
    main Edit | /home/you/shop/sums.py | well | -
    main Write | /home/you/shop/new.txt | well | -
    main Bash | echo ok && grep -c note notes.txt | well | -
    main Bash | grep -c nothing notes.txt | well | -
    main Bash | cd /tmp && pwd | well | 0
    main Read | /home/you/shop/missing.txt | failed | -
    main Agent | - | well | -
    sub Read | /home/you/shop/notes.txt | well | -
    sub Bash | ls | well | -
";

/// The recorded lines of sub-agents lack those fields, and Claude Code counts an exit code of 1 from `grep` as success:
/// so their exit codes are unknown.
#[test]
fn claude_code_and_its_sub_agents() {
    check("claude-2.1.329", CLAUDE);
    check("claude-2.1.197", CLAUDE);
}

#[test]
fn claude_code_says_what_a_file_held_before_an_edit() {
    let sessions = sessions("claude-2.1.329");
    let edit = sessions[0]
        .calls
        .iter()
        .find(|call| call.tool == "Edit")
        .unwrap();
    let before = "def add(a, b):\n    return a + b + 1\n".to_owned();
    assert_eq!(edit.files, [("/home/you/shop/sums.py".to_owned(), before)]);
}

const GUARDED: &str = "
    main Read | /home/you/shop/sums.py | well | -
    main Edit | /home/you/shop/sums.py | not run | -
    main mcp__interlock__interlock_transition | READY | well | -
    main Edit | /home/you/shop/sums.py | well | -
    main Bash | python3 -c pass | not run | -
    main Bash | rm -rf sums.py | not run | -
    main mcp__interlock__interlock_transition | DONE | failed | -
    main Read | /home/you/shop/sums.py | well | -
";

/// The older version records a refusal like any failure; its code identifies it.
#[test]
fn a_call_that_a_hook_refused_did_not_run() {
    check("claude-guarded-2.1.329", GUARDED);
    check("claude-guarded-2.1.197", GUARDED);
}

#[test]
fn codex_with_functions() {
    check(
        "codex-0.169.0",
        "
        main exec_command | cat sums.py | well | 0
        main exec_command | false; exit 3 | failed | 3
        main apply_patch | *** Begin Patch/*** Update File: sums.py/@@/-    return a +  | well | 0
        main apply_patch | *** Begin Patch/*** Add File: new.txt/+one/+two/*** End Patc | well | 0
        main exec_command | echo ok && grep -c note notes.txt | well | 0
        main exec_command | grep -c nothing notes.txt | failed | 1
        main exec_command | cd /tmp && pwd | well | 0
        main exec_command | cat missing.txt | failed | 1
        main collaborationspawn_agent | - | not run | -
        ",
    );
}

/// Calls made by code are read from the program's report of its own work.
#[test]
fn codex_with_code() {
    check(
        "codex-code-0.169.0",
        r#"
        main exec | text(await tools.exec_command({"cmd": "cat sums.py"})); | well | -
        main exec_command | cat sums.py | well | 0
        main exec | text(await tools.exec_command({"cmd": "false; exit 3"})); | well | -
        main exec_command | false; exit 3 | failed | 3
        main exec | text(await tools.apply_patch("*** Begin Patch\n*** Update Fi | well | -
        main apply_patch | *** Begin Patch/*** Update File: /home/you/shop/sums.py/@@/  | well | -
        main exec | text(await tools.apply_patch("*** Begin Patch\n*** Add File: | well | -
        main apply_patch | *** Begin Patch/*** Add File: /home/you/shop/new.txt/+one/+t | well | -
        main exec | text(await tools.exec_command({"cmd": "echo ok && grep -c no | well | -
        main exec_command | echo ok && grep -c note notes.txt | well | 0
        main exec | text(await tools.exec_command({"cmd": "grep -c nothing notes | well | -
        main exec_command | grep -c nothing notes.txt | failed | 1
        main exec | text(await tools.exec_command({"cmd": "cd /tmp && pwd"})); | well | -
        main exec_command | cd /tmp && pwd | well | 0
        main exec | text(await tools.exec_command({"cmd": "cat missing.txt"})); | well | -
        main exec_command | cat missing.txt | failed | 1
        main collaborationspawn_agent | - | well | -
        sub exec | text(await tools.exec_command({"cmd": "cat notes.txt"})); | not run | -
        "#,
    );
}

/// Gemini CLI records an exit code only if it is not 0.
#[test]
fn gemini_and_its_sub_agents() {
    check(
        "gemini",
        "
        main read_file | sums.py | well | -
        main run_shell_command | false; exit 3 | failed | 3
        main replace | sums.py | well | -
        main write_file | new.txt | well | -
        main run_shell_command | echo ok && grep -c note notes.txt | well | -
        main run_shell_command | grep -c nothing notes.txt | failed | 1
        main run_shell_command | cd /tmp && pwd | well | -
        main read_file | missing.txt | failed | -
        main invoke_agent | - | well | -
        sub read_file | notes.txt | well | -
        sub run_shell_command | ls | well | -
        ",
    );
}

#[test]
fn copilot_and_its_sub_agents() {
    check(
        "copilot-1.0.102",
        "
        main view | /home/you/shop/sums.py | well | -
        main bash | false; exit 3 | failed | 3
        main edit | /home/you/shop/sums.py | well | -
        main create | /home/you/shop/new.txt | well | -
        main bash | echo ok && grep -c note notes.txt | well | 0
        main bash | grep -c nothing notes.txt | failed | 1
        main bash | cd /tmp && pwd | well | 0
        main view | /home/you/shop/missing.txt | failed | -
        main task | general-purpose | well | -
        sub view | /home/you/shop/notes.txt | well | -
        sub bash | ls | well | 0
        ",
    );
}

#[test]
fn opencode_exports() {
    check(
        "opencode-1.18.33",
        "
        main read | /home/you/shop/sums.py | well | -
        main bash | false; exit 3 | failed | 3
        main edit | /home/you/shop/sums.py | well | -
        main write | /home/you/shop/new.txt | well | -
        main bash | echo ok && grep -c note notes.txt | well | 0
        main bash | grep -c nothing notes.txt | failed | 1
        main bash | cd /tmp && pwd | well | 0
        main read | /home/you/shop/missing.txt | failed | -
        main task | - | well | -
        ",
    );
}

fn of_text(text: &str) -> Session {
    let one = read("here", text.as_bytes(), None).expect("a recording");
    join(vec![one]).remove(0)
}

#[test]
fn older_rollouts_have_no_envelopes() {
    let session = of_text(
        r#"{"id":"s1","timestamp":"2025-06-01T08:00:00.000Z","instructions":null,"git":null}
{"record_type":"state"}
{"type":"message","role":"user","content":[]}
{"type":"function_call","name":"shell","arguments":"{\"command\":[\"bash\",\"-lc\",\"make\"],\"workdir\":\"/p\"}","call_id":"c1"}
{"type":"function_call_output","call_id":"c1","output":"{\"output\":\"no\",\"metadata\":{\"exit_code\":2,\"duration_seconds\":0.1}}"}
"#,
    );
    assert_eq!((session.format, session.id.as_str()), (Format::Codex, "s1"));
    assert_eq!(ledger(&session), "main shell | - | failed | 2\n");
    assert!(session.losses.is_none(), "{:?}", session.losses);
}

#[test]
fn trajectories_do_not_say_how_a_call_ended() {
    let session = of_text(
        r#"{"schema_version":"ATIF-v1.4","session_id":"t1","agent":{"name":"Claude Code","version":"2.0.0"},
        "steps":[{"step_id":1,"timestamp":"2025-10-11T10:30:00Z","source":"agent","message":"",
        "tool_calls":[{"tool_call_id":"c1","function_name":"Bash","arguments":{"command":"make"}}],
        "observation":{"results":[{"source_call_id":"c1","content":"ok"}]}}]}"#,
    );
    assert_eq!(session.client.as_deref(), Some("claude-code"));
    assert_eq!(ledger(&session), "main Bash | make | unknown | -\n");
}

#[test]
fn spans_that_execute_tools_are_calls() {
    let session = of_text(
        r#"{"resourceSpans":[{"scopeSpans":[{"spans":[
        {"name":"chat x","spanId":"1","attributes":[]},
        {"name":"execute_tool Bash","spanId":"2","traceId":"t","startTimeUnixNano":"1760178600000000000","status":{"code":2},
         "attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"execute_tool"}},
          {"key":"gen_ai.tool.name","value":{"stringValue":"Bash"}},
          {"key":"gen_ai.tool.call.arguments","value":{"stringValue":"{\"command\":\"make\"}"}}]}]}]}]}"#,
    );
    assert_eq!(ledger(&session), "main Bash | make | failed | -\n");
    assert_eq!(session.calls[0].at_ms, Some(1_760_178_600_000));
}

#[test]
fn what_is_not_known_is_counted() {
    let text = std::fs::read_to_string(
        folder("claude-2.1.329").join("cea46fce-4916-4a24-84b8-bb0867b462d6.jsonl"),
    );
    let mut text = text.unwrap();
    text += r#"{"type":"new-thing","sessionId":"s"}
{"type":"assistant","sessionId":"s","message":{"content":[{"type":"new_block"}]}}
[1]
{"type":"assistant","mess"#;
    let session = of_text(&text);
    assert_eq!(session.losses.broken, 1);
    let unknown: Vec<_> = session.losses.unknown.into_iter().collect();
    let expected = [("(no object)", 1), ("block new_block", 1), ("new-thing", 1)];
    let expected = expected.map(|(kind, count)| (kind.to_owned(), count));
    assert_eq!(unknown, expected);
    assert_eq!(session.calls.len(), 9);
}

#[test]
fn a_session_that_goes_on_with_another_does_not_count_its_calls_again() {
    let call = r#"{"type":"assistant","sessionId":"S","timestamp":"2026-01-01T00:00:00Z","message":{"content":[{"type":"tool_use","id":"a","name":"Read","input":{}}]}}"#;
    let more = r#"{"type":"assistant","sessionId":"two","timestamp":"2026-01-01T00:01:00Z","message":{"content":[{"type":"tool_use","id":"b","name":"Read","input":{}}]}}"#;
    let one = read("1", call.replace('S', "one").as_bytes(), None).unwrap();
    let two = read(
        "2",
        format!("{}\n{more}", call.replace('S', "two")).as_bytes(),
        None,
    )
    .unwrap();
    let sessions = join(vec![one, two]);
    let counts: Vec<_> = sessions
        .iter()
        .map(|one| (one.calls.len(), one.losses.repeated))
        .collect();
    assert_eq!(counts, [(1, 0), (1, 1)]);
}

#[test]
fn a_file_that_is_named_has_to_be_a_recording() {
    let room = tempfile::tempdir().unwrap();
    let file = room.path().join("other.json");
    std::fs::write(&file, "{\"a\": 1}").unwrap();
    let files = recordings(room.path()).unwrap();
    assert_eq!(read_files(&files, &[], |_| {}).unwrap(), []);
    let error = read_files(&files, &files, |_| {}).unwrap_err().to_string();
    assert!(error.contains("other.json` is not a recording"), "{error}");
}

const FORMATS: [Format; 8] = [
    Format::Interlock,
    Format::ClaudeCode,
    Format::Codex,
    Format::Gemini,
    Format::Copilot,
    Format::Opencode,
    Format::Atif,
    Format::Otel,
];

/// Returns every recording.
fn all() -> Vec<Vec<u8>> {
    let files = recordings(&folder("")).unwrap();
    assert!(files.len() >= 10, "the recordings are there: {files:?}");
    files
        .iter()
        .map(|file| std::fs::read(file).unwrap())
        .collect()
}

proptest! {
    #[test]
    fn bytes_of_any_kind_are_read(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = read("any", &bytes, None);
        for format in FORMATS {
            let _ = read("any", &bytes, Some(format));
        }
    }

    /// A recording may end anywhere, and may be damaged anywhere.
    #[test]
    fn damaged_recordings_are_read(
        at in any::<prop::sample::Index>(),
        end in any::<prop::sample::Index>(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
    ) {
        let all = all();
        let mut bytes = at.get(&all).clone();
        bytes.truncate(end.index(bytes.len()));
        for (place, byte) in damage {
            if !bytes.is_empty() {
                let place = place.index(bytes.len());
                bytes[place] = byte;
            }
        }
        if let Some(one) = read("damaged", &bytes, None) {
            let _ = join(vec![one]);
        }
        for format in FORMATS {
            if let Some(one) = read("damaged", &bytes, Some(format)) {
                let _ = join(vec![one]);
            }
        }
    }

    /// Values of other types than the client writes must not cause a failure either.
    #[test]
    fn values_of_other_types_are_read(
        at in any::<prop::sample::Index>(),
        what in prop::sample::select(vec!["null", "7", "[]", "{}", "\"x\"", "true"]),
        place in any::<prop::sample::Index>(),
    ) {
        let all = all();
        let text = String::from_utf8(at.get(&all).clone()).unwrap();
        let colons: Vec<usize> = text.match_indices("\":").map(|(at, _)| at + 2).collect();
        let from = *place.get(&colons);
        let rest = &text[from..];
        let end = rest.find([',', '}']).unwrap_or(rest.len());
        let changed = format!("{}{what}{}", &text[..from], &rest[end..]);
        if let Some(one) = read("changed", changed.as_bytes(), None) {
            let _ = join(vec![one]);
        }
    }
}
