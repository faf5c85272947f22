//! Reading YAML and JSON without loss and without panics.

use interlock_formats::{
    NoWorkflows, Source, Workflows, check, fit_arguments, load, render, schema_fault,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Folder, loaded, mutations::mutated, said};

fn variables(text: &str) -> Value {
    let states = "start-at: a\nstates: {a: {tool: bash, arguments: {command: ls}}}\n";
    Value::Object(
        loaded(&format!("{states}variables:\n{text}"))
            .machine
            .context,
    )
}

#[test]
fn scalars_are_their_source_text() {
    let text = "
  ver: 1.10
  seven: 007
  hex: 0x10
  word: yes
  truth: True
  time: 12:30:45
  long: 123456789012345678901234567890
  infinite: .inf
  none:
  tilde: ~
  nothing: null
  quoted: \"null\"
  folded: one
    two
  block: |
    a
    b
  date: 2024-01-01
";
    assert_eq!(
        variables(text),
        json!({
            "ver": "1.10", "seven": "007", "hex": "0x10", "word": "yes", "truth": "True",
            "time": "12:30:45", "long": "123456789012345678901234567890", "infinite": ".inf",
            "none": "", "tilde": "", "nothing": "", "quoted": "null", "folded": "one two",
            "block": "a\nb\n", "date": "2024-01-01",
        })
    );
}

#[test]
fn json_of_the_same_shape_is_the_same_workflow() {
    let json = r#"{"start-at": "a", "variables": {"v": 1.10, "t": true, "n": null, "s": "true"},
        "states": {"a": {"tool": "bash", "arguments": {"command": "ls", "timeout": "5s"}, "on-error": {"1": "a"}}}}"#;
    let yaml = "start-at: a\nvariables: {v: 1.10, t: true, n: null, s: 'true'}\nstates:\n  a: {tool: bash, arguments: {command: ls, timeout: 5s}, on-error: {1: a}}\n";
    let of = |name: &str, text: &str| {
        load(&Source::new(name, text), None, &NoWorkflows)
            .unwrap()
            .machine
    };
    assert_eq!(of("x.json", json), of("x.yaml", yaml));
    assert_eq!(of("x.yaml", json), of("x.yaml", yaml));
}

#[test]
fn keys_are_text_with_or_without_quotes() {
    let text = "start-at: 1\nstates:\n  1: {tool: switch, arguments: {value: x}, goto: {true: true, 'false': 200, _: 1}}\n  true: {tool: bash, arguments: {command: ls}}\n  200: {tool: bash, arguments: {command: ls}, next: null}\n";
    let machine = loaded(text).machine;
    let names: Vec<&str> = machine.states.keys().map(|name| name.as_str()).collect();
    assert_eq!(names, ["1", "true", "200"]);
}

#[test]
fn merged_keys_yield_to_written_ones() {
    let text = "
start-at: a
variables: {<<: &base {x: 1, y: 2}, y: 3}
states:
  a: &a
    tool: bash
    arguments: {command: ls, env: {<<: [{A: '1'}, {A: '2', B: '2'}]}}
    next: b
  b:
    <<: *a
    next: ~
";
    let machine = loaded(text).machine;
    assert_eq!(
        Value::Object(machine.context.clone()),
        json!({ "y": "3", "x": "1" })
    );
    let b = serde_json::to_value(&machine.states["b"]).unwrap();
    assert_eq!(
        b["activity"]["task"]["input"]["object"]["env"],
        json!({ "object": { "A": { "plain": "1" }, "B": { "plain": "2" } } })
    );
    assert_eq!(
        b["on"]["done"]["transitions"][0]["target"],
        json!({ "end": "success" })
    );
}

#[test]
fn a_path_with_an_at_sign_is_read_without_quotes() {
    let text = "start-at: a\nstates:\n  a:\n    tool: sub-flow\n    arguments: {workflow: @/checks.yaml}\n    next: b\n  b:\n    tool: bash\n    arguments:\n      command: ls\n      cwd: @/\n";
    assert_eq!(
        said("case.yaml", text),
        ["5:27 unquoted_path", "11:12 unquoted_path"]
    );
    let cwd = serde_json::to_value(&loaded(text).machine.states["b"].activity).unwrap();
    let cwd = &cwd["task"]["input"]["object"]["cwd"]["text"][0]["hole"]["path"][0];
    assert_eq!(*cwd, json!([{ "plain": "@/" }]));
}

#[test]
fn names_come_from_the_file_or_its_folder() {
    let text = "start-at: a\nstates: {a: {tool: bash, arguments: {command: ls}}}\n";
    for (name, wanted) in [
        ("release.yaml", "release"),
        ("/p/.flowstate/release/index.yaml", "release"),
        ("./index.yaml", "index"),
        ("a/b.c.yml", "b.c"),
    ] {
        let machine = load(&Source::new(name, text), None, &NoWorkflows)
            .unwrap()
            .machine;
        assert_eq!(machine.id.as_str(), wanted, "{name}");
    }
    let named = load(&Source::new("x.yaml", text), Some("x"), &NoWorkflows);
    assert!(named.is_ok());
    let other = load(&Source::new("x.yaml", text), Some("y"), &NoWorkflows).unwrap_err();
    assert_eq!(other[0].code, "no_choice");
}

#[test]
fn a_byte_order_mark_is_skipped_and_a_long_file_refused() {
    let text = "start-at: a\nstates: {a: {tool: bash, arguments: {command: ls}}}\n";
    assert_eq!(
        loaded(&format!("\u{feff}{text}")).machine,
        loaded(text).machine
    );
    let long = format!("{text}# {}\n", "x".repeat(1_048_576));
    assert_eq!(said("case.yaml", &long), ["1:1 too_large"]);
    let many = format!(
        "{{\"start-at\": \"a\", \"variables\": {{\"x\": [{}1]}}}}",
        "1,".repeat(100_000)
    );
    assert_eq!(said("case.json", &many), ["1:1 too_large"]);
}

#[test]
fn marks_of_two_formats_are_an_error() {
    assert_eq!(
        said("case.yaml", "start-at: a\nstages: {}\n"),
        ["1:1 two_formats"]
    );
    assert_eq!(
        said(
            "case.yaml",
            "extends: parent\ninitial: a\nid: x\nstates: {a: {type: final}}\n"
        ),
        ["1:1 unknown_field"]
    );
}

#[test]
fn parents_without_end_are_refused() {
    struct Endless;
    impl interlock_formats::Workflows for Endless {
        fn find(&self, id: &str) -> Option<Result<Source, String>> {
            let number: u32 = id.parse().ok()?;
            Some(Ok(Source::new(
                format!("{id}.yaml"),
                format!("extends: '{}'\n", number + 1),
            )))
        }
    }
    let found = check(&Source::new("x.yaml", "extends: '0'\n"), &Endless);
    assert_eq!(found[0].code, "too_deep", "{}", render(&found, false));
}

#[test]
fn files_of_one_text_in_two_folders_refer_to_their_own_neighbours() {
    /// Workflows in two folders; `./next` is another one in each.
    struct Folders;
    impl Workflows for Folders {
        fn find(&self, _: &str) -> Option<Result<Source, String>> {
            None
        }
        fn resolve(&self, from: &Source, wanted: &str) -> Option<Result<Source, String>> {
            let folder = from.name.split_once('/').map_or("", |(folder, _)| folder);
            let name = match wanted.strip_prefix("./") {
                Some(rest) if folder.is_empty() => rest.to_owned(),
                Some(rest) => format!("{folder}/{rest}"),
                None => return None,
            };
            let text = match name.as_str() {
                "one/same" | "two/same" => CALLS_NEXT.to_owned(),
                "one/next" => said_by("first"),
                "two/next" => said_by("second"),
                _ => return None,
            };
            Some(Ok(Source::new(name, text)))
        }
    }
    const CALLS_NEXT: &str =
        "start-at: a\nstates:\n  a: {tool: sub-flow, arguments: {workflow: ./next}}\n";
    fn said_by(word: &str) -> String {
        format!("start-at: a\nstates:\n  a: {{tool: bash, arguments: {{command: echo {word}}}}}\n")
    }
    let text = "start-at: a\nstates:\n  a: {tool: sub-flow, arguments: {workflow: ./one/same}, next: b}\n  b: {tool: sub-flow, arguments: {workflow: ./two/same}}\n";
    let loaded = load(&Source::new("top", text), None, &Folders).unwrap();
    let machine = serde_json::to_string(&loaded.machine).unwrap();
    for word in ["first", "second"] {
        assert!(machine.contains(&format!("echo {word}")), "{machine}");
    }
}

#[test]
fn deep_chains_and_wide_files_are_read_in_time() {
    let mut text = "start-at: s0\nstates:\n".to_owned();
    for number in 0..9_000 {
        text.push_str(&format!(
            "  s{number}: {{tool: bash, arguments: {{command: ls}}, next: s{}}}\n",
            (number + 1) % 9_000
        ));
    }
    let found = check(&Source::new("x.yaml", text), &NoWorkflows);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].code, "unbounded_loop");
}

#[test]
fn arguments_take_the_types_of_their_schema() {
    let schema = json!({
        "type": "object",
        "required": ["n"],
        "properties": {
            "n": { "type": "integer", "minimum": 1 },
            "f": { "type": "number" },
            "b": { "type": "boolean", "default": false },
            "s": { "type": "string" },
            "l": { "type": "array", "items": { "$ref": "#/$defs/port" } },
            "o": { "type": "object", "properties": { "deep": { "type": "integer", "default": 3 } } },
            "e": { "enum": [1, "two"] },
            "r": { "$ref": "#/$defs/named" },
        },
        "$defs": { "named": { "$ref": "#/$defs/port" }, "port": { "type": "integer" } },
    });
    let fit = |arguments: Value| {
        let Value::Object(arguments) = arguments else {
            panic!()
        };
        fit_arguments(&schema, &arguments).map(Value::Object)
    };
    assert_eq!(
        fit(
            json!({ "n": "0x10", "f": "1.50", "b": "Yes", "s": "007", "l": ["80", "443"], "o": {}, "e": "1" })
        ),
        Ok(
            json!({ "n": 16, "f": serde_json::from_str::<Value>("1.50").unwrap(), "b": true, "s": "007", "l": [80, 443], "o": { "deep": 3 }, "e": 1 })
        )
    );
    assert_eq!(
        fit(json!({ "n": "2", "l": "[1, 2]", "o": "{\"deep\": 4}", "s": null, "b": null })),
        Ok(json!({ "n": 2, "l": [1, 2], "o": { "deep": 4 }, "s": "", "b": false }))
    );
    // A reference leads to a reference.
    assert_eq!(
        fit(json!({ "n": "1", "r": "80" })),
        Ok(json!({ "n": 1, "r": 80, "b": false }))
    );
    assert_eq!(fit(json!({ "n": "0" })).unwrap_err()[0].path, "/n");
    assert_eq!(fit(json!({ "n": "x" })).unwrap_err()[0].path, "/n");
    assert_eq!(
        fit(json!({ "n": "1", "l": ["x"] })).unwrap_err()[0].path,
        "/l/0"
    );
    assert_eq!(fit(json!({})).unwrap_err()[0].path, "");
    let far = json!({ "$ref": "https://example.com/schema.json" });
    assert!(fit_arguments(&far, &serde_json::Map::new()).is_err());
}

#[test]
fn texts_become_what_their_schema_asks_for() {
    let fit = |text: &str, schema: Value| {
        let whole = json!({ "properties": { "x": schema } });
        let arguments = json!({ "x": text }).as_object().unwrap().clone();
        // A text that cannot be converted is refused where another type is required.
        fit_arguments(&whole, &arguments)
            .map_or_else(|_| "refused".to_owned(), |fitted| fitted["x"].to_string())
    };
    for (kind, text, wanted) in [
        ("integer", " 42 ", "42"),
        ("integer", "+007", "7"),
        (
            "integer",
            "123456789012345678901234567890",
            "123456789012345678901234567890",
        ),
        ("integer", "1.5", "refused"),
        ("number", "1.5", "1.5"),
        ("number", "-.5", "-0.5"),
        ("number", "3", "3"),
        ("number", "abc", "refused"),
        ("boolean", "Yes", "true"),
        ("boolean", "off", "false"),
        ("boolean", "1", "refused"),
        ("null", "~", "null"),
        ("string", "42", "\"42\""),
        ("array", "[1,\"a\"]", "[1,\"a\"]"),
        ("array", "a", "refused"),
        ("object", "{\"a\":1}", "{\"a\":1}"),
    ] {
        assert_eq!(fit(text, json!({ "type": kind })), wanted, "{kind} {text}");
    }
    let choices = json!({ "anyOf": [{ "type": "boolean" }, { "type": "integer" }] });
    assert_eq!(fit("5", choices), "5");
    assert_eq!(fit("5", json!({ "type": ["integer", "string"] })), "\"5\"");
    assert_eq!(fit("2", json!({ "enum": [1, 2] })), "2");
    assert_eq!(fit("2", json!({})), "\"2\"");
    let map = json!({ "type": "object", "additionalProperties": { "type": "boolean" } });
    assert_eq!(fit("{\"a\": \"no\"}", map), "{\"a\":false}");
}

#[test]
fn a_schema_that_never_ends_is_none() {
    let circle = json!({ "anyOf": [{ "$ref": "#/$defs/b" }, { "$ref": "#/$defs/b" }] });
    let tree = json!({ "properties": { "left": { "$ref": "#/$defs/b" } } });
    let given = json!({ "x": "t" }).as_object().unwrap().clone();
    for (part, wanted) in [
        (&circle, Some("without end")),
        (&json!({ "$ref": "#/$defs/b" }), Some("without end")),
        (
            &json!({ "not": { "$ref": "#/properties/x" } }),
            Some("without end"),
        ),
        (
            &json!({ "$ref": "https://example.com/" }),
            Some("not a place in this schema"),
        ),
        (&json!({ "$dynamicRef": "#b" }), Some("not supported")),
        (&tree, None),
    ] {
        let schema =
            json!({ "$defs": { "b": part }, "properties": { "x": { "$ref": "#/$defs/b" } } });
        let fault = schema_fault(&schema).map(|fault| fault.message);
        match (wanted, &fault) {
            (None, None) => {}
            (Some(wanted), Some(fault)) => assert!(fault.contains(wanted), "{part}: {fault}"),
            _ => panic!("{part}: {fault:?}"),
        }
        // The conversion terminates, too.
        assert_eq!(
            fit_arguments(&schema, &given).is_err(),
            wanted.is_some(),
            "{part}"
        );
    }
}

/// A workflow that uses every feature.
const EVERYTHING: &str = r#"
name: everything
start-at: a
extends: parent
description: All there is
shell-safe: false
cwd: "@/"
max-transitions: 99
variables: {x: 1.10, y: ~, <<: &m {z: '1'}}
tools:
  count: {command: [wc, "{{ path }}"], arguments: {type: object, properties: {path: {type: string}}}, env: {A: "{{ path }}"}}
states:
  a:
    tool: bash
    arguments: {command: "echo {{ x }} \"$(cat '{{ file(./{{ x }}.txt) }}')\" $(({{ y }})) # {{ z }}", timeout: 5s, env: {A: b}, retry: {attempts: 2, codes: [1]}}
    output: var(out)
    on-error: {1: b, _: c}
    next: b
  b: {tool: switch, arguments: {value: "{{ out == '{{ x }}' }}"}, goto: {true: c, _: d}}
  c:
    tool: parallel
    arguments: {tasks: [{tool: count, arguments: {path: x}}, {name: n, tool: sub-flow, arguments: {workflow: ./checks.yaml, variables: {depth: "{{ x }}"}}}], fail-fast: true}
    next: d
  d:
    tool: for-each
    arguments: {items-from: {tool: bash, arguments: {command: |-
      cat <<EOF
      {{ x }}
      EOF
      case a in b) ;; esac}}, on-empty: fail}
    start-at: e
    states: {e: {tool: pause, arguments: {reason: "{{ item }}", condition: {command: "[[ {{ index }} -eq 1 ]]"}}, output: file(./{{ index }}.txt)}}
"#;

fn survives(name: &str, text: &str) {
    for text in [
        text.to_owned(),
        text.replace("shell-safe: false", "shell-safe: true"),
    ] {
        let found = check(&Source::new(name, text), &Folder);
        assert!(found.iter().all(|found| found.line > 0 && found.column > 0));
        let _ = render(&found, false);
    }
}

/// Changes some places of a text.
fn changed(text: &'static str) -> impl Strategy<Value = String> {
    mutated(
        text,
        "[-{}\\[\\]:,#&*!|>'\"%@`?~$()<> \\n]{1,5}",
        &["{{ x }}", "@/x", "<<: *m", "\r\n", "<<EOF"],
        4,
    )
}

proptest! {
    #[test]
    fn any_text_is_answered(text in "\\PC*") {
        survives("w.yaml", &format!("start-at: {text}"));
        survives("w.json", &format!("{{\"start-at\": {text}"));
    }

    #[test]
    fn any_mutated_workflow_is_answered(text in changed(EVERYTHING)) {
        survives("w.yaml", &text);
    }

    #[test]
    fn any_command_is_answered(text in "[a-c{}x \\[\\]:#&|>'\"`$()<;=!\\\\\\n-]{0,40}") {
        let quoted = serde_json::to_string(&text).unwrap();
        survives("w.yaml", &format!("shell-safe: false\nstart-at: a\nstates: {{a: {{tool: bash, arguments: {{command: {quoted}}}}}}}\n"));
    }
}
