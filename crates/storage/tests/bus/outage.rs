//! Redis goes away, comes back empty, is emptied in the middle of things, or says nothing at all.

use std::net::TcpListener;
use std::time::Duration;

use artel_storage::bus::redis::Redis;
use artel_storage::bus::{Bus, Consumer, Error, Heard};
use artel_testkit::redis::Server;
use tokio::time::{Instant, sleep};

use super::{hear, ring};

const NOW: Duration = Duration::ZERO;
const LONG: Duration = Duration::from_secs(20);
const SOON: Duration = Duration::from_millis(200);
const QUICKLY: Duration = Duration::from_millis(3_500);

const WORKER: Consumer<'static> = Consumer { stream: "s", group: "g", name: "a" };

/// A stopped Redis fails every call at once, and the first call after it is back works.
#[tokio::test]
async fn redis_stops_and_comes_back() {
    let mut server = Server::start().unwrap();
    let bus = Redis::connect(&server.url()).unwrap();
    let mut listener = bus.listen(&["c"]).await.unwrap();
    bus.ring("c", "before".into()).await.unwrap();
    assert_eq!(hear(&mut listener).await, Some(ring("c", "before")));
    bus.append("s", &[("n", b"1")], 10).await.unwrap();
    assert_eq!(bus.take(WORKER, 1, LONG).await.unwrap().len(), 1);

    server.stop().unwrap();
    fails_quickly(&bus).await;
    let mut late = bus.listen(&["c"]).await.unwrap();

    server.restart().unwrap();
    bus.ping().await.unwrap();
    assert_eq!(hear(&mut listener).await, Some(Heard::Lost));
    assert_eq!(hear(&mut late).await, Some(Heard::Lost));
    bus.ring("c", "after".into()).await.unwrap();
    assert_eq!(hear(&mut listener).await, Some(ring("c", "after")));
    assert_eq!(hear(&mut late).await, Some(ring("c", "after")));
    bus.put("k", "v".into(), LONG).await.unwrap();
    assert_eq!(bus.get("k").await.unwrap(), Some("v".into()));
    assert_eq!(bus.take(WORKER, 1, NOW).await.unwrap(), [], "it came back empty");
    bus.append("s", &[("n", b"1")], 10).await.unwrap();
    assert_eq!(bus.take(WORKER, 1, LONG).await.unwrap().len(), 1);
}

/// Nothing was asked while it was away, so no failure has told of the old connections.
#[tokio::test]
async fn a_restart_in_a_quiet_moment_goes_unnoticed() {
    let mut server = Server::start().unwrap();
    let bus = Redis::connect(&server.url()).unwrap();
    bus.ping().await.unwrap();
    assert_eq!(bus.take(WORKER, 1, Duration::from_millis(1)).await.unwrap(), []);
    server.restart().unwrap();
    sleep(SOON).await;
    bus.append("s", &[("n", b"1")], 10).await.unwrap();
    assert_eq!(bus.take(WORKER, 1, LONG).await.unwrap().len(), 1);
}

/// A server must be able to start while Redis is down.
#[tokio::test]
async fn redis_is_down_at_the_start() {
    let mut server = Server::start().unwrap();
    server.kill().unwrap();
    let bus = Redis::connect(&server.url()).unwrap();
    let mut listener = bus.listen(&["c"]).await.unwrap();
    fails_quickly(&bus).await;
    server.restart().unwrap();
    assert_eq!(hear(&mut listener).await, Some(Heard::Lost));
    bus.ring("c", "at last".into()).await.unwrap();
    assert_eq!(hear(&mut listener).await, Some(ring("c", "at last")));
}

#[tokio::test]
async fn a_waiting_read_ends_with_redis() {
    let mut server = Server::start().unwrap();
    let bus = Redis::connect(&server.url()).unwrap();
    let start = Instant::now();
    let (read, taken, ()) =
        tokio::join!(bus.read("s", "0", 1, LONG), bus.take(WORKER, 1, LONG), async {
            sleep(SOON).await;
            server.kill().unwrap();
        });
    assert!(matches!(read, Err(Error::Unreachable(_))), "{read:?}");
    assert!(matches!(taken, Err(Error::Unreachable(_))), "{taken:?}");
    assert!(start.elapsed() < QUICKLY, "{:?}", start.elapsed());
}

/// It takes connections and never says a word, as a server behind a broken network does.
#[tokio::test]
async fn a_redis_that_does_not_answer_is_not_waited_for() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let bus = Redis::connect(&format!("redis://{}/", silent.local_addr().unwrap())).unwrap();
    fails_quickly(&bus).await;
    let start = Instant::now();
    bus.listen(&["c"]).await.unwrap();
    assert!(start.elapsed() < QUICKLY, "{:?}", start.elapsed());
}

/// CA-6.1: the group is made again, and what comes later is handed out.
#[tokio::test]
async fn redis_is_emptied_in_the_middle_of_reading() {
    let server = Server::start().unwrap();
    let bus = Redis::connect(&server.url()).unwrap();
    bus.append("s", &[("n", b"1")], 10).await.unwrap();
    let taken = bus.take(WORKER, 1, LONG).await.unwrap();

    flush(&server).await;
    assert_eq!(bus.claim(WORKER, NOW, 10).await.unwrap(), []);
    bus.acknowledge("s", "g", &[taken[0].id.clone()]).await.unwrap();
    let later = bus.append("s", &[("n", b"2")], 10).await.unwrap();
    assert_eq!(bus.take(WORKER, 1, NOW).await.unwrap()[0].id, later);

    // And while somebody waits.
    let (waited, later) = tokio::join!(bus.take(WORKER, 1, LONG), async {
        sleep(SOON).await;
        flush(&server).await;
        sleep(SOON).await;
        bus.append("s", &[("n", b"3")], 10).await.unwrap()
    });
    assert_eq!(waited.unwrap()[0].id, later);
    let after = bus.read("s", &taken[0].id, 10, NOW).await.unwrap();
    assert_eq!(after.len(), 1, "ids go on growing");
}

#[test]
fn an_address_is_checked_and_its_password_is_kept() {
    let bus = Redis::connect("redis://user:secret@localhost:1/").unwrap();
    assert_eq!(format!("{bus:?}"), r#"Redis { address: "localhost:1", .. }"#);
    for url in ["", "localhost", "http://localhost/", "redis://localhost/zero"] {
        assert!(matches!(Redis::connect(url), Err(Error::Url(_))), "{url:?}");
    }
}

async fn fails_quickly(bus: &Redis) {
    let start = Instant::now();
    let (ping, rung, got, appended, taken, claimed) = tokio::join!(
        bus.ping(),
        bus.ring("c", "lost".into()),
        bus.get("k"),
        bus.append("s", &[("n", b"1")], 10),
        bus.take(WORKER, 1, SOON),
        bus.claim(WORKER, NOW, 1),
    );
    let failed = [ping.err(), rung.err(), got.err(), appended.err(), taken.err(), claimed.err()];
    for (call, error) in failed.iter().enumerate() {
        assert!(matches!(error, Some(Error::Unreachable(_))), "call {call}: {error:?}");
    }
    assert!(start.elapsed() < QUICKLY, "{:?}", start.elapsed());
}

async fn flush(server: &Server) {
    let client = redis::Client::open(server.url()).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    redis::cmd("FLUSHALL").exec_async(&mut connection).await.unwrap();
}
