//! The manifests of gateways: whether their processes are running, and the names of their tools.

use std::{fs, path::PathBuf};

use interlock_core::names::RunId;
use interlock_store::{ClientProcess, GatewayCard, ServedTool};

use crate::world::World;

fn card(tool: &str) -> GatewayCard {
    GatewayCard {
        above: vec![ClientProcess {
            pid: 77,
            started: "at 77".to_owned(),
        }],
        run: Some(RunId::new("r")),
        tools: vec![ServedTool {
            shown: tool.to_owned(),
            server: "web".to_owned(),
            tool: tool.to_owned(),
            read_only: true,
        }],
    }
}

fn files(world: &World) -> Vec<PathBuf> {
    let entries = fs::read_dir(world.home.path().join("gateways"));
    let entries = entries.into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// Stores a manifest as from another process.
fn of_process(world: &World, process: u32, tool: &str) {
    let before = files(world);
    let kept = world.home.keep_card(&card(tool), |_| true).unwrap();
    let own = std::process::id().to_string();
    for file in files(world) {
        let name = file.file_name().unwrap().to_str().unwrap();
        if !before.contains(&file) {
            let named = name.replacen(&own, &process.to_string(), 1);
            fs::rename(&file, file.with_file_name(named)).unwrap();
        }
    }
    drop(kept);
}

#[test]
fn a_card_counts_while_its_process_is_alive() {
    let world = World::new();
    assert_eq!(world.home.cards(|_| true).unwrap(), []);
    let _own = world.home.keep_card(&card("own"), |_| true).unwrap();
    of_process(&world, 4_000_001, "gone");
    assert_eq!(files(&world).len(), 2);
    let own = std::process::id();
    let is_alive = |process: u32| process == own;
    assert_eq!(world.home.cards(is_alive).unwrap(), [card("own")]);
    assert_eq!(world.home.cards(|_| true).unwrap().len(), 2);
    assert_eq!(world.home.gateway_processes(is_alive).unwrap(), [own]);
    // The next one removes the manifests of processes that have ended, and nothing else.
    let next = world.home.keep_card(&card("next"), is_alive).unwrap();
    assert_eq!(files(&world).len(), 2);
    drop(next);
    assert_eq!(world.home.cards(|_| true).unwrap(), [card("own")]);
}

#[test]
fn a_card_is_renewed_and_goes_with_its_gateway() {
    let world = World::new();
    let kept = world.home.keep_card(&card("first"), |_| true).unwrap();
    kept.renew(&card("second")).unwrap();
    assert_eq!(world.home.cards(|_| true).unwrap(), [card("second")]);
    drop(kept);
    assert_eq!(files(&world), [] as [PathBuf; 0]);
}
