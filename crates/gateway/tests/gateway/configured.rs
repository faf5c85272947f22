//! Limits of the gateway in the person's and the project's configuration.

use std::fs;

use interlock_gateway::ServerSet;

use crate::gateway::world::World;

#[test]
fn the_limits_of_the_project_count_where_it_has_any() {
    let own = "[gateway]\ncalls_max = 7\nmessage_bytes_max = 2097152\n";
    let projects = "[gateway]\ncalls_max = 5\n";
    for (person, project, calls, bytes) in [
        ("", "", 1_000, 32),
        (own, "", 7, 2),
        ("", projects, 5, 32),
        (own, projects, 5, 32),
    ] {
        let world = World::new();
        fs::create_dir_all(&world.configuration).unwrap();
        fs::write(world.configuration.join("config.toml"), person).unwrap();
        fs::write(world.project.join(".interlock/config.toml"), project).unwrap();
        let bounds = ServerSet::configured(&world.settings()).unwrap().bounds;
        assert_eq!(
            (bounds.calls_max, bounds.message_bytes_max),
            (calls, bytes * 1_048_576),
            "{person:?} {project:?}"
        );
    }
}
