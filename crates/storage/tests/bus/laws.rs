//! What both sides promise. Each function takes a fresh side and breaks when the law does.

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use artel_storage::bus::{Bus, Consumer, Entry, Error, Heard};
use bytes::Bytes;
use futures_util::future::join_all;
use tokio::time::{Instant, sleep, timeout};

use super::{Side, hear, ring};

const NOW: Duration = Duration::ZERO;
const SOON: Duration = Duration::from_millis(100);
const LONG: Duration = Duration::from_secs(20);

pub(crate) async fn a_ring_is_heard_by_all_who_listen_to_its_channel(side: Side) {
    let (a, b, c) = (side.name("a"), side.name("b"), side.name("c"));
    let mut both = side.bus.listen(&[&a, &b, &a]).await.unwrap();
    let mut one = side.other.listen(&[&b]).await.unwrap();

    side.bus.ring(&c, "nobody listens".into()).await.unwrap();
    side.bus.ring(&a, "first".into()).await.unwrap();
    side.other.ring(&b, "second".into()).await.unwrap();
    assert_eq!(hear(&mut both).await, Some(ring(&a, "first")));
    assert_eq!(hear(&mut both).await, Some(ring(&b, "second")));
    assert_eq!(hear(&mut one).await, Some(ring(&b, "second")));

    let bytes = Bytes::from_static(&[0, 255, 13, 10]);
    drop(both);
    side.bus.ring(&b, bytes.clone()).await.unwrap();
    assert_eq!(hear(&mut one).await, Some(Heard::Ring { channel: b, payload: bytes }));
}

pub(crate) async fn a_listener_that_falls_behind_hears_that_it_lost_something(side: Side) {
    let channel = side.name("channel");
    let mut listener = side.bus.listen(&[&channel]).await.unwrap();
    for number in 0..2_000 {
        side.bus.ring(&channel, number.to_string().into()).await.unwrap();
    }
    side.bus.ring(&channel, "last".into()).await.unwrap();
    let mut lost = false;
    loop {
        match hear(&mut listener).await {
            Some(Heard::Lost) => lost = true,
            Some(heard) if heard == ring(&channel, "last") => break,
            Some(Heard::Ring { .. }) => {}
            None => panic!("the bus is still there"),
        }
    }
    assert!(lost);
}

pub(crate) async fn a_dropped_bus_ends_its_listeners(side: Side) {
    let channel = side.name("channel");
    let mut listener = side.bus.listen(&[&channel]).await.unwrap();
    side.bus.ring(&channel, "farewell".into()).await.unwrap();
    assert_eq!(hear(&mut listener).await, Some(ring(&channel, "farewell")));
    let Side { bus, other, mark: _, _server } = side;
    drop((bus, other));
    assert_eq!(hear(&mut listener).await, None);
}

pub(crate) async fn a_value_lives_for_its_time(side: Side) {
    let (key, lasting) = (side.name("key"), side.name("lasting"));
    let life = Duration::from_millis(400);
    side.bus.put(&lasting, "stays".into(), Duration::MAX).await.unwrap();
    side.bus.put(&key, "old".into(), Duration::from_millis(1)).await.unwrap();
    side.bus.put(&key, "new".into(), life).await.unwrap();
    assert_eq!(side.other.get(&key).await.unwrap(), Some("new".into()));
    sleep(life + SOON).await;
    assert_eq!(side.other.get(&key).await.unwrap(), None);
    assert_eq!(side.other.get(&lasting).await.unwrap(), Some("stays".into()));

    side.bus.put(&lasting, "goes".into(), Duration::ZERO).await.unwrap();
    assert_eq!(side.other.get(&lasting).await.unwrap(), None);
}

pub(crate) async fn a_forgotten_value_is_gone_on_every_node(side: Side) {
    let (key, other) = (side.name("key"), side.name("other"));
    for key in [&key, &other] {
        side.bus.put(key, Bytes::from_static(&[0, 255]), LONG).await.unwrap();
    }
    assert_eq!(side.other.get(&key).await.unwrap(), Some(Bytes::from_static(&[0, 255])));
    side.bus.forget(&key).await.unwrap();
    assert_eq!(side.other.get(&key).await.unwrap(), None);
    assert!(side.other.get(&other).await.unwrap().is_some());
    side.bus.forget(&key).await.unwrap();
}

pub(crate) async fn a_prefix_is_forgotten_and_nothing_else(side: Side) {
    // The prefix holds every character that is special in a pattern.
    let prefix = side.name(r"p[ab]?*\^-");
    let stream = format!("{prefix}stream");
    let within = [prefix.clone(), format!("{prefix}1"), format!("{prefix}привет")];
    let without = [side.name(r"pa?*\^-"), side.name(r"p[ab]xx\^-1"), side.name("p")];
    for key in within.iter().chain(&without) {
        side.bus.put(key, "value".into(), LONG).await.unwrap();
    }
    side.bus.append(&stream, &[("n", b"1")], 10).await.unwrap();

    assert_eq!(side.bus.forget_prefix(&prefix).await.unwrap(), 3);
    for key in &within {
        assert_eq!(side.other.get(key).await.unwrap(), None, "{key}");
    }
    for key in &without {
        assert!(side.other.get(key).await.unwrap().is_some(), "{key}");
    }
    assert_eq!(side.bus.read(&stream, "0", 10, NOW).await.unwrap().len(), 1);
    assert_eq!(side.bus.forget_prefix(&prefix).await.unwrap(), 0);
}

pub(crate) async fn many_keys_are_forgotten_by_prefix(side: Side) {
    let keys: Vec<String> = (0..2_500).map(|number| side.name(&format!("k{number}"))).collect();
    let puts = keys.iter().map(|key| side.bus.put(key, "value".into(), LONG));
    assert!(join_all(puts).await.into_iter().all(|put| put.is_ok()));
    assert_eq!(side.bus.forget_prefix(&side.name("k")).await.unwrap(), 2_500);
}

pub(crate) async fn entries_are_read_in_order(side: Side) {
    let stream = side.name("stream");
    assert_eq!(side.bus.read(&stream, "0", 10, NOW).await.unwrap(), []);
    let fields: [(&str, &[u8]); 4] = [("z", b"1"), ("a", &[0, 255]), ("m", b""), ("z", b"2")];
    let mut ids = vec![side.bus.append(&stream, &fields, 100).await.unwrap()];
    for _ in 0..4 {
        ids.push(side.other.append(&stream, &[("n", b"1")], 100).await.unwrap());
    }

    let all = side.other.read(&stream, "0", 10, NOW).await.unwrap();
    assert_eq!(all.iter().map(|entry| entry.id.clone()).collect::<Vec<_>>(), ids);
    let read: Vec<(&str, &[u8])> =
        all[0].fields.iter().map(|(name, value)| (name.as_str(), &value[..])).collect();
    assert_eq!(read, fields);
    assert_eq!(all[0].deliveries, 0);

    let some = side.bus.read(&stream, &ids[1], 2, NOW).await.unwrap();
    assert_eq!(some, all[2..4]);
    assert_eq!(side.bus.read(&stream, &ids[4], 2, SOON).await.unwrap(), []);
}

pub(crate) async fn a_waiting_read_wakes_up(side: Side) {
    let stream = side.name("stream");
    let start = Instant::now();
    let (read, id) = tokio::join!(side.bus.read(&stream, "0", 10, LONG), async {
        sleep(SOON).await;
        side.other.append(&stream, &[("n", b"1")], 10).await.unwrap()
    });
    assert_eq!(read.unwrap()[0].id, id);
    assert!(start.elapsed() < LONG / 2, "{:?}", start.elapsed());
}

pub(crate) async fn a_read_waits_for_its_time_and_no_longer(side: Side) {
    let (stream, wait) = (side.name("stream"), Duration::from_millis(300));
    let start = Instant::now();
    assert_eq!(side.bus.read(&stream, "0", 10, wait).await.unwrap(), []);
    assert_eq!(side.bus.take(worker(&stream, "g", "a"), 10, wait).await.unwrap(), []);
    assert!(start.elapsed() >= wait * 2, "{:?}", start.elapsed());
    assert!(start.elapsed() < wait * 10, "{:?}", start.elapsed());

    let start = Instant::now();
    let tiny = Duration::from_nanos(1);
    assert_eq!(side.bus.read(&stream, "0", 10, tiny).await.unwrap(), []);
    assert_eq!(side.bus.take(worker(&stream, "g", "a"), 10, NOW).await.unwrap(), []);
    assert!(start.elapsed() < wait * 10, "{:?}", start.elapsed());
}

/// More of them than the bus has places to wait in.
pub(crate) async fn waiting_reads_hold_up_nobody(side: Side) {
    let stream = side.name("stream");
    let wait = Duration::from_secs(2);
    let reads = join_all((0..100).map(|_| side.bus.read(&stream, "0", 10, wait)));
    let others = async {
        sleep(SOON).await;
        let start = Instant::now();
        side.bus.ping().await.unwrap();
        side.bus.put(&stream.replace("stream", "key"), "value".into(), LONG).await.unwrap();
        assert!(start.elapsed() < wait / 2, "{:?}", start.elapsed());
    };
    let (reads, ()) = tokio::join!(reads, others);
    for read in reads {
        assert_eq!(read.unwrap(), []);
    }
}

pub(crate) async fn a_stream_keeps_about_its_last_entries(side: Side) {
    let stream = side.name("stream");
    let mut last = String::new();
    for number in 0..600 {
        last = side.bus.append(&stream, &[("n", number.to_string().as_bytes())], 10).await.unwrap();
    }
    let kept = side.bus.read(&stream, "0", 1_000, NOW).await.unwrap();
    assert!((10..=300).contains(&kept.len()), "{}", kept.len());
    assert_eq!(kept.last().unwrap().id, last);
}

/// CA-6.1: within a group every command goes to one consumer.
pub(crate) async fn an_entry_goes_to_one_of_a_group(side: Side) {
    let stream = side.name("stream");
    let (a, b) = (worker(&stream, "g", "a"), worker(&stream, "g", "b"));
    assert_eq!(side.bus.take(a, 10, NOW).await.unwrap(), [], "the group is made before the stream");
    let mut ids = BTreeSet::new();
    for _ in 0..100 {
        ids.insert(side.bus.append(&stream, &[("n", b"1")], 1_000).await.unwrap());
    }
    let mut had = BTreeSet::new();
    loop {
        let (first, second) = tokio::join!(side.bus.take(a, 7, NOW), side.other.take(b, 3, NOW));
        let (first, second) = (first.unwrap(), second.unwrap());
        if first.is_empty() && second.is_empty() {
            break;
        }
        for entry in first.into_iter().chain(second) {
            assert_eq!(entry.deliveries, 0);
            assert!(had.insert(entry.id), "handed out twice");
        }
    }
    assert_eq!(had, ids);
}

pub(crate) async fn each_group_has_its_own_place(side: Side) {
    let stream = side.name("stream");
    for _ in 0..3 {
        side.bus.append(&stream, &[("n", b"1")], 10).await.unwrap();
    }
    let (g, h) = (worker(&stream, "g", "a"), worker(&stream, "h", "a"));
    assert_eq!(side.bus.take(g, 2, NOW).await.unwrap().len(), 2);
    assert_eq!(side.bus.take(h, 10, NOW).await.unwrap().len(), 3, "from the beginning");
    assert_eq!(side.bus.take(g, 10, NOW).await.unwrap().len(), 1);
    assert_eq!(side.bus.read(&stream, "0", 10, NOW).await.unwrap().len(), 3);
}

pub(crate) async fn a_waiting_consumer_wakes_up(side: Side) {
    let stream = side.name("stream");
    let wait = Duration::from_millis(1_500);
    let (first, second, id) = tokio::join!(
        side.bus.take(worker(&stream, "g", "a"), 10, wait),
        side.other.take(worker(&stream, "g", "b"), 10, wait),
        async {
            sleep(SOON).await;
            side.other.append(&stream, &[("n", b"1")], 10).await.unwrap()
        }
    );
    let taken: Vec<Entry> = first.unwrap().into_iter().chain(second.unwrap()).collect();
    assert_eq!(taken.len(), 1, "one of the two");
    assert_eq!(taken[0].id, id);
}

/// CA-6.1: acknowledged after the work is done, claimed by another node when one dies.
pub(crate) async fn work_that_was_not_acknowledged_is_claimed(side: Side) {
    let stream = side.name("stream");
    let idle = Duration::from_millis(300);
    let (dead, alive) = (worker(&stream, "g", "dead"), worker(&stream, "g", "alive"));
    for number in ["0", "1", "2"] {
        side.bus.append(&stream, &[("n", number.as_bytes())], 10).await.unwrap();
    }
    let taken = side.bus.take(dead, 10, NOW).await.unwrap();
    side.bus.acknowledge(&stream, "g", &[taken[1].id.clone()]).await.unwrap();
    assert_eq!(side.other.claim(alive, LONG, 10).await.unwrap(), [], "not idle for so long");

    sleep(idle + SOON).await;
    let claimed = side.other.claim(alive, idle, 10).await.unwrap();
    assert_eq!(ids(&claimed), [taken[0].id.clone(), taken[2].id.clone()]);
    assert_eq!(claimed[0].fields, taken[0].fields);
    assert!(claimed.iter().all(|entry| entry.deliveries == 1));
    assert_eq!(side.bus.claim(dead, idle, 10).await.unwrap(), [], "it was handed out just now");

    sleep(idle + SOON).await;
    let again = side.bus.claim(dead, idle, 1).await.unwrap();
    assert_eq!((again[0].id.as_str(), again[0].deliveries), (taken[0].id.as_str(), 2));

    side.bus.acknowledge(&stream, "g", &ids(&taken)).await.unwrap();
    assert_eq!(side.other.claim(alive, NOW, 10).await.unwrap(), []);
    assert_eq!(side.other.take(alive, 10, NOW).await.unwrap(), []);
}

/// Redis looks at a part of what is pending at a time, and may find nothing in it.
pub(crate) async fn what_is_idle_is_found_behind_what_is_not(side: Side) {
    let stream = side.name("stream");
    let idle = Duration::from_secs(1);
    let consumer = worker(&stream, "g", "a");
    for _ in 0..200 {
        side.bus.append(&stream, &[("n", b"1")], 1_000).await.unwrap();
    }
    assert_eq!(side.bus.take(consumer, 200, NOW).await.unwrap().len(), 200);
    sleep(idle + SOON).await;
    let front = side.bus.claim(consumer, idle, 190).await.unwrap();
    assert_eq!(front.len(), 190);
    let behind = side.bus.claim(consumer, idle, 1).await.unwrap();
    let rest = side.bus.claim(consumer, idle, 100).await.unwrap();
    assert_eq!((behind.len(), rest.len()), (1, 9));
    let all: HashSet<String> = [front, behind, rest].iter().flat_map(|part| ids(part)).collect();
    assert_eq!(all.len(), 200);
}

pub(crate) async fn what_the_stream_forgot_is_not_claimed(side: Side) {
    let stream = side.name("stream");
    let consumer = worker(&stream, "g", "a");
    let first = side.bus.append(&stream, &[("n", b"first")], 10).await.unwrap();
    assert_eq!(side.bus.take(consumer, 1, NOW).await.unwrap()[0].id, first);
    for _ in 0..400 {
        side.bus.append(&stream, &[("n", b"later")], 1).await.unwrap();
    }
    assert_eq!(side.bus.claim(consumer, NOW, 10).await.unwrap(), []);
    side.bus.acknowledge(&stream, "g", &[first]).await.unwrap();
}

pub(crate) async fn a_take_that_is_given_up_loses_nothing(side: Side) {
    let stream = side.name("stream");
    let consumer = worker(&stream, "g", "a");
    assert!(timeout(SOON, side.bus.take(consumer, 10, LONG)).await.is_err());
    let id = side.bus.append(&stream, &[("n", b"1")], 10).await.unwrap();
    let taken = side.bus.take(consumer, 10, SOON).await.unwrap();
    let claimed = side.bus.claim(consumer, NOW, 10).await.unwrap();
    assert!(ids(&taken).contains(&id) || ids(&claimed).contains(&id));
}

pub(crate) async fn a_group_that_is_not_there_has_nothing_to_claim(side: Side) {
    let stream = side.name("stream");
    assert_eq!(side.bus.claim(worker(&stream, "g", "a"), NOW, 10).await.unwrap(), []);
    side.bus.append(&stream, &[("n", b"1")], 10).await.unwrap();
    assert_eq!(side.bus.claim(worker(&stream, "g", "a"), NOW, 10).await.unwrap(), []);
    side.bus.acknowledge(&stream, "g", &["1-0".to_owned()]).await.unwrap();
    side.bus.acknowledge(&stream, "g", &[]).await.unwrap();
    assert_eq!(side.bus.take(worker(&stream, "g", "a"), 10, NOW).await.unwrap().len(), 1);
}

pub(crate) async fn a_call_that_makes_no_sense_is_invalid(side: Side) {
    let stream = side.name("stream");
    let bus: &dyn Bus = &*side.bus;
    assert!(matches!(bus.read(&stream, "$", 1, NOW).await, Err(Error::Invalid(_))));
    assert!(matches!(bus.append(&stream, &[], 1).await, Err(Error::Invalid(_))));
    assert!(matches!(bus.listen(&[]).await.err(), Some(Error::Invalid(_))));
    let ids = ["1-0".to_owned(), "one".to_owned()];
    assert!(matches!(bus.acknowledge(&stream, "g", &ids).await, Err(Error::Invalid(_))));
}

pub(crate) async fn a_limit_of_nothing_is_nothing(side: Side) {
    let stream = side.name("stream");
    let consumer = worker(&stream, "g", "a");
    side.bus.append(&stream, &[("n", b"1")], 0).await.unwrap();
    let start = Instant::now();
    assert_eq!(side.bus.read(&stream, "0", 0, LONG).await.unwrap(), []);
    assert_eq!(side.bus.take(consumer, 0, LONG).await.unwrap(), []);
    assert_eq!(side.bus.claim(consumer, NOW, 0).await.unwrap(), []);
    assert!(start.elapsed() < LONG / 2);
    assert_eq!(side.bus.take(consumer, usize::MAX, Duration::MAX).await.unwrap().len(), 1);
    assert_eq!(side.bus.claim(consumer, Duration::MAX, usize::MAX).await.unwrap(), []);
}

fn worker<'a>(stream: &'a str, group: &'a str, name: &'a str) -> Consumer<'a> {
    Consumer { stream, group, name }
}

fn ids(entries: &[Entry]) -> Vec<String> {
    entries.iter().map(|entry| entry.id.clone()).collect()
}
