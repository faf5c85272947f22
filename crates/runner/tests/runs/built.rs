//! The programs found before a run begins, and those used then.

use std::{fs, sync::Arc};

use interlock_models::Kind;
use interlock_project::{Config, Environment};
use interlock_runner::{Builder, Halt, Models, RunConfig};
use interlock_testkit::provider::Script;
use serde_json::json;

use crate::runs::{
    flow::{Room, bash},
    stages::{Scripted, machine, stage, submit},
};

fn builder(room: &Room) -> Builder {
    let environment = Environment {
        program: Some("interlock".into()),
        ..Environment::at(room.home())
    };
    Builder::new(environment, &room.project())
}

/// Parses `text` as the person's configuration.
fn config(room: &Room, text: &str) -> RunConfig {
    let directory = room.project().with_file_name("configuration");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("config.toml"), text).unwrap();
    RunConfig {
        person: Config::of_person(Some(&directory)).unwrap(),
        ..RunConfig::default()
    }
}

fn with_a_stage() -> Room {
    Room::new(machine(json!({"a": stage("Do it.", &["Read"], None)})))
}

#[test]
fn a_model_without_its_key_is_refused_before_the_run_is_taken() {
    let room = with_a_stage();
    let config = config(&room, "default_model = \"openai/gpt-5\"\n");
    let mut builder = builder(&room).config(config);
    let refused = builder.prepare(&room.machine, None).unwrap_err();
    assert!(refused.is_usage(), "{refused}");
    assert!(refused.to_string().contains("OPENAI_API_KEY"), "{refused}");
    assert!(builder.prepared().is_none());
}

#[test]
fn a_server_that_names_an_unset_variable_is_refused() {
    let room = with_a_stage();
    let text = "[mcp.files]\ncommand = \"server\"\nenv = { KEY = \"${INTERLOCK_NO_SUCH}\" }\n";
    let config = config(&room, text);
    let models = Scripted::new(Kind::OpenAi, Script::turns(Vec::new()));
    let mut builder = builder(&room)
        .config(config)
        .models(Arc::clone(&models) as Arc<dyn Models>);
    let refused = builder.prepare(&room.machine, None).unwrap_err();
    assert!(refused.is_usage(), "{refused}");
    assert!(
        refused.to_string().contains("INTERLOCK_NO_SUCH"),
        "{refused}"
    );
}

#[test]
fn a_stage_is_carried_out_with_what_was_assembled() {
    let room = with_a_stage();
    let models = Scripted::new(Kind::OpenAi, Script::turns(vec![submit("ready")]));
    let mut builder = builder(&room)
        .config(RunConfig::default())
        .models(Arc::clone(&models) as Arc<dyn Models>);
    builder.prepare(&room.machine, None).unwrap();
    assert!(builder.prepared().is_some());
    let mut host = builder.take(room.log(), &room.machine).unwrap();
    assert_eq!(host.drive(&room.machine).unwrap(), Halt::Over);
}

#[test]
fn a_run_without_stages_needs_no_configuration() {
    let room = Room::new(machine(json!({"a": bash("true", None)})));
    let mut builder = builder(&room);
    builder.prepare(&room.machine, None).unwrap();
    assert!(builder.prepared().is_none());
}
