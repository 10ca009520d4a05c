//! Servers and workers on a real Redis: nothing is lost, nothing is done twice, whoever goes away.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]
#![expect(clippy::disallowed_methods, reason = "tests stand outside the house rules")]
#![expect(clippy::wildcard_enum_match_arm, reason = "a test looks for what it wants to see")]

mod stage;

use std::time::Duration;

use artel_nodes::logs::StreamLog;
use artel_nodes::wire::{COMMANDS, DEAD, Failure, RESPONSES, commands_of};
use artel_programs::codec::{Command, Fault, Outcome};
use artel_programs::life::State;
use artel_programs::log::{Followed, LogSink};
use artel_storage::bus::Bus;
use artel_storage::bus::redis::Redis;
use stage::{LONG, Stage, agent, heard, is_up, lines, said, until};
use tokio::time::{sleep, timeout};

/// CA-6.1, CA-6.2: an agent lives on one worker, messages find it, and its log can be read from anywhere.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_lives_on_a_worker() {
    let stage = Stage::new();
    let (server, worker) = (stage.server("one"), stage.worker("w1"));
    let id = agent();
    let (far, notes) = server.open(id, None);
    assert_eq!(said(&far, "hello").await, "1: hello\n");
    assert_eq!(said(&far, "again").await, "2: again\n");
    assert_eq!(far.status().node.as_deref(), Some("w1"));
    let bus = Redis::connect(&stage.redis.url()).unwrap();
    let log = StreamLog::new(std::sync::Arc::new(bus), id);
    let kept =
        || async { log.read().await.unwrap().into_iter().map(|it| it.line).collect::<Vec<_>>() };
    assert!(kept().await.contains(&"2: again".to_owned()));
    // Whoever follows hears what is kept, then what comes.
    let mut tail = log.tail(Some(0)).await.unwrap();
    assert!(matches!(tail.next().await, Followed::Line(entry) if entry.line == "__READY__"));
    far.stop("enough").await;
    until("it has stopped", || far.status().state == State::Stopped).await;
    assert!(notes.0.lock().unwrap().iter().any(|status| status.mark.is_some()));
    // What was stopped is started again by a message.
    assert_eq!(said(&far, "back").await, "1: back\n");
    drop(far);
    until("nobody lives there", || server.workers.nodes()[0].presence.agents == 0).await;
    worker.end().await;
}

/// CA-6.1: what stands open on the streams is what others rely on; nothing secret is among it.
#[tokio::test(flavor = "multi_thread")]
async fn the_streams_say_what_others_rely_on() {
    let stage = Stage::new();
    let (server, _worker) = (stage.server("one"), stage.worker("w1"));
    let (far, _) = server.open(agent(), None);
    said(&far, "a word for the agent alone").await;
    let bus = Redis::connect(&stage.redis.url()).unwrap();
    let created = bus.read(COMMANDS, "0", 10, Duration::ZERO).await.unwrap();
    let orders = bus.read(&commands_of("w1"), "0", 10, Duration::ZERO).await.unwrap();
    let all = created.iter().chain(&orders);
    let mut types: Vec<_> = all.map(|entry| field(entry, "type")).collect();
    // Where it was not known whether a post came through, it was posted again.
    types.dedup();
    assert_eq!(types[..2], ["create", "send_message"]);
    let reports = bus.read(RESPONSES, "0", 100, Duration::ZERO).await.unwrap();
    let about: Vec<_> =
        reports.iter().filter(|entry| !field(entry, "agent_id").is_empty()).collect();
    for entry in &about {
        assert!(["answer", "question", "status"].contains(&field(entry, "type").as_str()));
        assert!(!field(entry, "timestamp").is_empty());
    }
    assert!(about.iter().any(|entry| !field(entry, "turn_id").is_empty()));
    for entry in created.iter().chain(&orders) {
        let all = entry.fields.iter().map(|(_, value)| String::from_utf8_lossy(value).into_owned());
        assert!(!all.collect::<String>().contains("a word for the agent alone"));
    }
}

fn field(entry: &artel_storage::bus::Entry, name: &str) -> String {
    let found = entry.fields.iter().find(|(key, _)| key == name);
    found.map_or_else(String::new, |(_, value)| String::from_utf8_lossy(value).into_owned())
}

/// CA-6.2: workers share the agents, and an agent returns to where its files are.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_returns_to_its_files() {
    let stage = Stage::new();
    let server = stage.server("one");
    let (_first, _second) = (stage.worker("w1"), stage.worker("w2"));
    until("both are there", || server.workers.nodes().len() == 2).await;
    let id = agent();
    for text in ["one", "two", "three"] {
        let (far, _) = server.open(id, Some("w2"));
        assert_eq!(said(&far, text).await, format!("1: {text}\n"));
        assert_eq!(far.status().node.as_deref(), Some("w2"));
    }
    assert_eq!(stage.said_on("w2", id), ["one", "two", "three"]);
    assert!(stage.said_on("w1", id).is_empty());
}

/// CA-6.1, CA-8.3: Redis goes in the middle of a turn and comes back empty; every line comes, once.
#[tokio::test(flavor = "multi_thread")]
async fn redis_goes_and_comes_back_empty() {
    let mut stage = Stage::new();
    let (server, _worker) = (stage.server("one"), stage.worker("w1"));
    let id = agent();
    let (far, _) = server.open(id, None);
    assert_eq!(said(&far, "hello").await, "1: hello\n");
    let mut turn = far.turn("drip 40".to_owned()).await.unwrap();
    sleep(Duration::from_millis(500)).await;
    stage.redis.kill().unwrap();
    // Shorter than a worker waits before it ends its agents.
    sleep(Duration::from_millis(1500)).await;
    stage.redis.restart().unwrap();
    let (answer, outcome) = heard(&mut turn).await;
    assert!(matches!(outcome, Outcome::Completed { .. }), "{outcome:?}");
    assert_eq!(answer, lines(40));
    drop(turn);
    assert_eq!(said(&far, "still there").await, "3: still there\n");
    assert_eq!(stage.said_on("w1", id), ["hello", "drip 40", "still there"]);
}

/// CA-6.1: more events than are kept unheard; none is missed, none comes twice, and the program waits meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn many_events_come_in_order() {
    let stage = Stage::new();
    let (server, _worker) = (stage.server("one"), stage.worker("w1"));
    let (far, _) = server.open(agent(), None);
    let mut turn = far.turn("many 3000".to_owned()).await.unwrap();
    // Nobody listens for a while.
    sleep(Duration::from_millis(500)).await;
    let (answer, _) = heard(&mut turn).await;
    assert_eq!(answer, lines(3000));
}

/// CA-6.2, CA-8.3: a worker that ends says so; what ran there is known as lost at once, and goes on elsewhere.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_ends_and_another_goes_on() {
    let stage = Stage::new();
    let (server, first) = (stage.server("one"), stage.worker("w1"));
    let id = agent();
    let (far, notes) = server.open(id, None);
    said(&far, "hello").await;
    let mut turn = far.turn("wait".to_owned()).await.unwrap();
    let _second = stage.worker("w2");
    first.end().await;
    let (_, outcome) = heard(&mut turn).await;
    assert!(matches!(outcome, Outcome::Failed { fault: Fault::Lost, .. }), "{outcome:?}");
    drop(turn);
    until("it is known as ended", || !far.status().state.is_up()).await;
    assert!(notes.0.lock().unwrap().iter().any(|status| status.reason.is_some()));
    assert_eq!(said(&far, "and now?").await, "1: and now?\n");
    assert_eq!(far.status().node.as_deref(), Some("w2"));
    assert_eq!(stage.said_on("w1", id), ["hello", "wait"]);
    assert_eq!(stage.said_on("w2", id), ["and now?"]);
}

/// CA-6.2: a worker that is cut off ends its agents itself, before anybody starts them elsewhere.
#[tokio::test(flavor = "multi_thread")]
async fn who_is_cut_off_ends_its_agents() {
    let mut stage = Stage::new();
    let (server, _worker) = (stage.server("one"), stage.worker("w1"));
    let (far, _) = server.open(agent(), None);
    let mut turn = far.turn("wait".to_owned()).await.unwrap();
    until("it runs", || is_up(&far)).await;
    let pid = match far.status().mark {
        Some(artel_programs::sandbox::Mark::Process { pid, .. }) => pid,
        other => panic!("{other:?}"),
    };
    stage.redis.kill().unwrap();
    until("its process is gone", || !std::path::Path::new(&format!("/proc/{pid}")).exists()).await;
    stage.redis.restart().unwrap();
    let (_, outcome) = heard(&mut turn).await;
    assert!(matches!(outcome, Outcome::Failed { fault: Fault::Lost, .. }), "{outcome:?}");
    drop(turn);
    assert_eq!(said(&far, "back").await, "1: back\n");
}

/// CA-6.2: a server that is started again finds its workers, which have ended what it knows nothing of.
#[tokio::test(flavor = "multi_thread")]
async fn a_new_run_of_a_server_is_told_what_was_ended() {
    let stage = Stage::new();
    let (server, _worker) = (stage.server("one"), stage.worker("w1"));
    let id = agent();
    let (far, _) = server.open(id, None);
    let turn = far.turn("wait".to_owned()).await.unwrap();
    until("it runs", || is_up(&far)).await;
    server.vanish().await;
    let mut next = stage.server("one");
    let left = timeout(LONG, next.left.recv()).await.unwrap().unwrap();
    assert_eq!((left.agent, left.node.as_str()), (id, "w1"));
    let (again, _) = next.open(id, Some("w1"));
    assert_eq!(said(&again, "hello").await, "1: hello\n");
    drop((turn, far));
}

/// CA-3.4: a turn that is given up while its process is being started never begins; the next message is answered.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_given_up_in_time_is_not_begun() {
    let stage = Stage::new();
    let (server, _worker) = (stage.server("one"), stage.worker("w1"));
    let id = agent();
    let (far, _) = server.open_slow(id, None, "2");
    {
        let turn = far.turn("never mind".to_owned());
        tokio::pin!(turn);
        tokio::select! {
            _ = &mut turn => panic!("it was not slow"),
            () = until("it is being started", || far.status().state == State::Starting) => {}
        }
    }
    assert_eq!(said(&far, "hello").await, "1: hello\n");
    assert_eq!(stage.said_on("w1", id), ["hello"]);
}

/// CA-3.4: a turn that is given up is interrupted, and the next one is not kept waiting for it.
#[tokio::test(flavor = "multi_thread")]
async fn a_turn_is_given_up() {
    let stage = Stage::new();
    let (server, _worker) = (stage.server("one"), stage.worker("w1"));
    let (far, _) = server.open(agent(), None);
    let mut turn = far.turn("drip 1000".to_owned()).await.unwrap();
    turn.next().await.unwrap();
    drop(turn);
    let answer = said(&far, "hello").await;
    assert!(answer.ends_with(": hello\n"), "{answer}");
    // Nothing runs, so nothing can be interrupted.
    let refused = far.command(Command::Interrupt).await.unwrap_err();
    assert!(matches!(refused, Failure::Program(_)), "{refused:?}");
}

/// CA-6.1: what nobody can read is put aside, with the reason, and holds up nothing.
#[tokio::test(flavor = "multi_thread")]
async fn poison_is_put_aside() {
    let stage = Stage::new();
    let (server, _worker) = (stage.server("one"), stage.worker("w1"));
    let bus = Redis::connect(&stage.redis.url()).unwrap();
    let junk: [&[(&str, &[u8])]; 3] = [
        &[("nothing", b"of ours")],
        &[("id", b"0198c5a2-7d3e-7cc1-9a4e-0f7c5f1c2ab3"), ("sealed", b"AAAA")],
        &[("id", b"\xff\xfe"), ("sealed", b"\xff")],
    ];
    for fields in junk {
        bus.append(COMMANDS, fields, 100).await.unwrap();
        bus.append(&commands_of("w1"), fields, 100).await.unwrap();
        bus.append(RESPONSES, fields, 100).await.unwrap();
    }
    let (far, _) = server.open(agent(), None);
    assert_eq!(said(&far, "hello").await, "1: hello\n");
    let dead = timeout(LONG, async {
        loop {
            let dead = bus.read(DEAD, "0", 100, Duration::ZERO).await.unwrap();
            if dead.len() == 6 {
                break dead;
            }
            sleep(Duration::from_millis(20)).await;
        }
    });
    for entry in dead.await.unwrap() {
        assert!(!field(&entry, "error").is_empty());
    }
}

/// CA-6.1: who does not share the secret is neither obeyed nor believed.
#[tokio::test(flavor = "multi_thread")]
async fn another_secret_opens_nothing() {
    let stage = Stage::new();
    let _worker = stage.worker("w1");
    let stranger = stage.line_with("another secret that is long enough too");
    let (tracker, stop) =
        (tokio_util::task::TaskTracker::new(), tokio_util::sync::CancellationToken::new());
    let settings = artel_nodes::server::Settings {
        name: "stranger".to_owned(),
        lost_after: stage::LOST_AFTER,
    };
    let clock = std::sync::Arc::new(artel_domain::clock::SystemClock);
    let (workers, _left) =
        artel_nodes::server::Workers::start(stranger, clock, settings, &tracker, stop.clone());
    sleep(Duration::from_secs(3)).await;
    assert!(workers.nodes().is_empty(), "it believes a worker whose secret it does not have");
    stop.cancel();
}

/// CA-6.2: without any worker that is said, with what to do.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_worker_it_is_said() {
    let stage = Stage::new();
    let server = stage.server("one");
    let (far, _) = server.open(agent(), None);
    let failure = timeout(LONG, far.turn("hello".to_owned())).await.unwrap().unwrap_err();
    assert_eq!(failure, Failure::NoWorker);
    assert!(failure.to_string().contains("artel worker"));
}

/// CA-6.2: two workers cannot have one name.
#[tokio::test(flavor = "multi_thread")]
async fn a_name_is_one_workers() {
    let stage = Stage::new();
    let first = stage.worker("same");
    let server = stage.server("one");
    until("it is there", || !server.workers.nodes().is_empty()).await;
    let second = stage.worker("same");
    let refused = timeout(LONG, second.task).await.unwrap();
    assert!(refused.is_err(), "the second went on");
    first.end().await;
}
