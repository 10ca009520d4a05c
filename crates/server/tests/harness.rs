//! The crash and race harness in its short form, on the real binary.
//!
//! `make crash` runs the same in full size. Each test prints its figures; a broken promise is
//! named in the failure. They need PostgreSQL, Redis and strace (`scripts/setup.sh`).

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on must fail, and shows its figures"
)]

use std::path::Path;
use std::time::Duration;

use artel_testkit::crash::{self, At, Options, Store, Victim};
use artel_testkit::programs::{Walls, crowd, kills};
use artel_testkit::race::{Ground, Outcome, neighbours, shutdown, stalled, streams, writers};
use artel_testkit::{approvals, memories, plans, talk};

const ARTEL: &str = env!("CARGO_BIN_EXE_artel");

fn survives(options: &Options) {
    let report = crash::run(options).unwrap();
    println!("{report}");
    assert!(report.is_clean(), "{report}");
    assert!(report.counts.unknown > 0, "no kill hit an operation: {report}");
}

fn holds(outcome: &Outcome) {
    println!("{outcome}");
    assert!(outcome.violations.is_empty(), "{outcome}");
}

fn ground(store: Store) -> Ground {
    Ground::open(Path::new(ARTEL), store, &[stalled::TIMEOUT]).unwrap()
}

/// PF-7.4: SIGKILL at any moment loses no acknowledged work; PF-4.3: readers resume over restarts.
#[test]
fn random_kills_on_sqlite() {
    survives(&Options::new(ARTEL, Store::Sqlite));
}

/// PF-7.4, PF-4.3, on the other database.
#[test]
fn random_kills_on_postgres() {
    survives(&Options::new(ARTEL, Store::Postgres));
}

/// PF-7.4: a database that crashes under a living server costs no acknowledged work either.
#[test]
fn random_kills_of_server_and_postgres() {
    let victim = Victim::ServerOrDatabase;
    survives(&Options { victim, kills: 20, ..Options::new(ARTEL, Store::Postgres) });
}

/// PF-7.4: SIGKILL on entering the n-th fsync, n = 1 to 20, and at each fsync of a first start.
#[test]
fn kills_at_fsync_on_sqlite() {
    survives(&Options { at: At::Fsync, kills: 20, ..Options::new(ARTEL, Store::Sqlite) });
}

/// PF-1.8, PF-3.4, PF-3.5, WS-8.3: messages of many at once, under kills: each is kept once, has one answer, its own,
/// and one end; WS-1.2, WS-9.1, WS-9.2: nothing of one project gets into another. PF-1.3: limits hold throughout.
fn talks(store: Store) {
    let time = Duration::from_secs(10);
    let options = talk::Options {
        artel: ARTEL.into(),
        store,
        users: 10,
        projects: 2,
        time,
        kill_every: 500..3_000,
        seed: 1,
    };
    holds(&talk::run(&options).unwrap());
}

#[test]
fn conversations_under_kills_on_sqlite() {
    talks(Store::Sqlite);
}

#[test]
fn conversations_under_kills_on_postgres() {
    talks(Store::Postgres);
}

/// WS-9.1, PF-1.2: a user with a thousand tasks in the queue does not slow another's single task down.
#[test]
fn a_single_task_beside_a_thousand() {
    let options = neighbours::Options { queued: 1_000 };
    holds(&neighbours::run(&ground(Store::Sqlite).artel, options).unwrap());
}

const STREAMS: streams::Options =
    streams::Options { writers: 32, readers: 8, events: 5_000, cuts: 100, seed: 1 };

/// PF-4.1: numbers only grow, with 32 writers to one project; PF-4.3: cut readers miss nothing.
#[test]
fn cut_readers_resume_on_sqlite() {
    holds(&streams::run(&ground(Store::Sqlite).artel, STREAMS).unwrap());
}

/// PF-4.1, PF-4.3, on the other database.
#[test]
fn cut_readers_resume_on_postgres() {
    holds(&streams::run(&ground(Store::Postgres).artel, STREAMS).unwrap());
}

/// PF-7.1: the embedded database takes 64 writers at once, and none is told that it is locked.
#[test]
fn many_writers_on_sqlite() {
    let options = writers::Options { writers: 64, time: Duration::from_secs(5), seed: 1 };
    holds(&writers::run(&ground(Store::Sqlite).artel, options).unwrap());
}

/// PF-7.4: SIGTERM ends 1,000 streams, answers what is under way, and exits 0 within 3 s.
#[test]
fn sigterm_ends_streams_and_answers_requests() {
    let options = shutdown::Options { streams: 1_000, requests: 32, stalled: 4, silent: 4 };
    holds(&shutdown::run(&mut ground(Store::Sqlite).artel, options).unwrap());
}

/// PF-7.4: a second SIGTERM does not wait for what is under way.
#[test]
fn second_sigterm_ends_at_once() {
    holds(&shutdown::twice(&mut ground(Store::Sqlite).artel).unwrap());
}

/// PF-4.4: a reader that does not read costs bounded memory, delays nobody, and can resume.
#[test]
fn stalled_readers_delay_nobody() {
    let options = stalled::Options { readers: 300, stalled: 4, backlog: 20_000 };
    holds(&stalled::run(&ground(Store::Sqlite).artel, options).unwrap());
}

/// CS-2.1, CS-4.1, CS-4.2, CS-4.4: kill -9 in the middle of adds, prunes and clears: what was acknowledged is found, what
/// was deleted is gone, and every collection opens.
#[test]
fn memories_under_kills() {
    let (artel, store) = (ARTEL.into(), Store::Sqlite);
    holds(
        &memories::run(&memories::Options { artel, store, kills: 20, keepers: 4, seed: 1 })
            .unwrap(),
    );
}

/// PF-2.2: eight answers at the same moment, again and again, and one wins each time, also when the server dies among
/// them; PF-2.3, PF-2.4: what nobody decides is rejected at its deadline, which the server does not see.
fn decides(store: Store) {
    let (artel, rounds, kill_every) = (ARTEL.into(), 40, 10);
    let options = approvals::Options { artel, store, rounds, kill_every, seed: 1 };
    holds(&approvals::run(&options).unwrap());
}

#[test]
fn approvals_at_the_same_moment_on_sqlite() {
    decides(Store::Sqlite);
}

#[test]
fn approvals_at_the_same_moment_on_postgres() {
    decides(Store::Postgres);
}

/// OR-11.3, OR-11.5: random plans under kills go on where they were, and nothing that is done is done twice; OR-4.2,
/// OR-9.2, OR-9.3, OR-9.4: no task begins before those that it needs are done, whatever fails stops what needs it and
/// nothing else, and limits hold throughout.
fn executes(store: Store) {
    let options = plans::Options {
        artel: ARTEL.into(),
        store,
        plans: 24,
        most_tasks: 40,
        kill_every: 200..1_500,
        seed: 1,
    };
    holds(&plans::run(&options).unwrap());
}

#[test]
fn plans_under_kills_on_sqlite() {
    executes(Store::Sqlite);
}

#[test]
fn plans_under_kills_on_postgres() {
    executes(Store::Postgres);
}

/// CA-2.5: a server that is killed while its programs start, work, stop and have stubborn children leaves nothing of
/// them, and the next one knows how they stand; every message has one answer, and every agent answers again.
#[test]
fn programs_under_kills() {
    let (artel, walls) = (ARTEL.into(), Walls::Both);
    holds(&kills::run(&kills::Options { artel, agents: 6, kills: 3, walls, seed: 1 }).unwrap());
}

/// CA-8.1, CA-8.2: many programs at once hear every message once, in order, and answer it.
#[test]
fn a_crowd_of_programs() {
    let (artel, walls, rest) = (ARTEL.into(), Walls::Both, Duration::ZERO);
    holds(&crowd::run(&crowd::Options { artel, agents: 10, messages: 10, walls, rest }).unwrap());
}
