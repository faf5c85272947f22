//! Pins of servers' tools, as a run first saw them.

use interlock_core::names::Digest;
use interlock_store::ToolPin;

use crate::world::World;

fn pin(server: &str, tool: &str, digest: &str) -> ToolPin {
    ToolPin {
        server: server.to_owned(),
        tool: tool.to_owned(),
        digest: Digest::new(digest),
        parts: Default::default(),
    }
}

#[test]
fn the_first_sight_of_each_servers_tool_counts() {
    let world = World::new();
    let log = world.start(1);
    let first = pin("a", "look", "1");
    assert_eq!(
        log.folder().pin_tools(vec![first.clone()]).unwrap().len(),
        1
    );
    // Another server may have a tool with the same name.
    let other = pin("b", "look", "2");
    let again = pin("a", "look", "3");
    let known = [first, other.clone()];
    assert_eq!(log.folder().pin_tools(vec![again, other]).unwrap(), known);
    assert_eq!(log.folder().tool_pins().unwrap(), known);
}
