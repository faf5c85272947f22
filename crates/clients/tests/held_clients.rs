//! Clients that Interlock starts itself: none starts without its hooks.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use interlock_clients::{
    ClientId,
    install::{Site, Start, StartOptions, start_options},
};
use serde_json::{Value, json};

/// Codex as an app server: it trusts the hooks of its command line once their hashes are given, too.
///
/// A file beside it changes its answer about the last hook (`last`), and whether it knows that hook (`knows`).
const CODEX: &str = r#"#!/usr/bin/env python3
import json, pathlib, sys
says = json.loads(pathlib.Path(__file__).with_name("says.json").read_text())
names = [word.split("=")[0].removeprefix("hooks.") for word in sys.argv if word.startswith("hooks.")]
hooks = [{"key": f"/<session-flags>/config.toml:{name}:0:0", "currentHash": f"sha256:{name}", "enabled": True,
          "trustStatus": "trusted" if "state" in names else "untrusted"} for name in names if name != "state"]
if not says["knows"]: hooks.pop()
if "state" in names: hooks[-1].update(says["last"])
hooks.append({"key": "/etc/codex/hooks.json:stop:0:0", "currentHash": "sha256:0", "enabled": False, "trustStatus": "untrusted"})
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        result = {"data": [{"hooks": hooks, "errors": []}]} if asked["method"] == "hooks/list" else {}
        print(json.dumps({"id": asked["id"], "result": result}), flush=True)
"#;

/// Returns the arguments that Codex is started with, if it reports this about the hooks.
fn started(codex: &Path, says: &Value) -> Result<StartOptions, String> {
    let bin = codex.parent().unwrap();
    fs::write(bin.join("says.json"), says.to_string()).unwrap();
    let room = bin.parent().unwrap();
    let below = |part: &str| {
        let path = room.join(part);
        fs::create_dir_all(&path).unwrap();
        path
    };
    let site = Site::new(
        &below("project"),
        &below("home"),
        Path::new("/opt/interlock"),
    );
    start_options(&Start {
        client: ClientId::Codex,
        program: codex,
        directory: &below("project"),
        environment: &[],
        site: &site,
        state: &below("state"),
        folder: &below("folder"),
    })
}

#[test]
fn codex_is_started_only_where_it_would_run_every_hook_that_it_is_given() {
    let room = tempfile::tempdir().unwrap();
    let bin = room.path().canonicalize().unwrap().join("bin");
    fs::create_dir(&bin).unwrap();
    let codex = bin.join("codex");
    fs::write(&codex, CODEX).unwrap();
    fs::set_permissions(&codex, fs::Permissions::from_mode(0o755)).unwrap();
    let skips = "Codex would skip the hook";
    let cases = [
        (json!({}), true, None),
        (json!({"trustStatus": "managed"}), true, None),
        (json!({"trustStatus": "untrusted"}), true, Some(skips)),
        (json!({"trustStatus": "modified"}), true, Some(skips)),
        (json!({"trustStatus": ""}), true, Some(skips)),
        (json!({"enabled": false}), true, Some(skips)),
        (json!({}), false, Some("use a newer version")),
    ];
    for (last, knows, refused) in cases {
        let says = json!({"last": last, "knows": knows});
        let found = started(&codex, &says);
        match refused {
            Some(why) => {
                let said = found.unwrap_err();
                assert!(said.contains(why), "{says}: {said}");
            }
            None => {
                let words = found.unwrap().arguments;
                let state = words.iter().find(|word| word.starts_with("hooks.state="));
                let events = words
                    .iter()
                    .filter(|word| word.starts_with("hooks.") && !word.starts_with("hooks.state="));
                for event in events {
                    let (name, _) = event.split_once('=').unwrap();
                    let hash = format!("sha256:{}", name.trim_start_matches("hooks."));
                    assert!(state.unwrap().contains(&hash), "{says}: {words:?}");
                }
                assert!(
                    words.contains(&"features.hooks=true".to_owned()),
                    "{words:?}"
                );
            }
        }
    }
}
