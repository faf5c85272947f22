//! The verdict of a server on a connection that is kept.

use std::time::{Duration, Instant};

use super::bare;
use crate::{
    figures::{Figures, percentile},
    http::Client,
    site::{GUARDED, Site, proposal},
};

const ROUNDS: usize = 3_000;
const BAR: Duration = Duration::from_millis(5);

/// Measures one client that has one call after the other judged.
pub(super) fn inside(site: &Site, figures: &mut Figures) {
    let server = site.server(&site.words());
    let ana = site.token("person", "ana");
    let agent = site.token("agent", "ana");
    let run = server.start_run(&ana, ("trial.yaml", GUARDED));
    let mut client = server.client();
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|at| {
            let begun = Instant::now();
            judge(&mut client, (&run, &agent), &format!("c{at}"));
            begun.elapsed()
        })
        .collect();
    // What is loaded first does not count.
    times.drain(..100);
    let mut bare = bare::alone(site, bare::sizes(site), ROUNDS);
    bare.drain(..100);
    for (of_hundred, bar) in [(50, None), (99, Some(BAR))] {
        figures.time_beside(
            &format!("verdict of a server, with the request on a kept connection, p{of_hundred}"),
            percentile(&mut times, of_hundred),
            bar,
            percentile(&mut bare, of_hundred),
        );
    }
}

/// Has a call judged, which must be allowed.
pub(super) fn judge(client: &mut Client, (run, agent): (&str, &str), id: &str) {
    let path = format!("/v1/runs/{run}/commands");
    let answer = client
        .post(&path, (agent, id), &proposal(id, None))
        .unwrap();
    let json = answer.json();
    assert_eq!(
        (answer.status, &json["verdict"]),
        (200, &"accepted".into()),
        "{json}"
    );
}
