//! What both sides promise. Each function takes a side, makes collections of its own, and breaks when the law does.

use std::collections::BTreeSet;

use artel_domain::memory::{Collection, Filter, Kind};
use artel_domain::{InteractionId, SystemClock, TaskId};
use artel_storage::vectors::{Entry, Error, LARGEST_PAGE, MOST_HITS, Spot, Tally, VectorIndex};
use futures_util::future::join_all;
use serde_json::json;

use super::kit::{
    Changed, DAY, Dice, at, dot, entry, found, fresh, interactions, kept, leaning, set, texts,
};

const ALL: Filter = Filter { kind: None, success: None, from: None, to: None, task: None };

pub(crate) async fn it_can_be_used(index: &dyn VectorIndex) {
    index.ping().await.unwrap();
    assert!(["embedded", "qdrant"].contains(&index.kind()));
    assert!(index.model().dimensions >= 8);
}

/// CS-2.1, CS-3.1: what was put is found by nearness, best first, with all that is known of it.
pub(crate) async fn the_nearest_are_found_best_first(index: &dyn VectorIndex) {
    let of = fresh("agent");
    let cosines = [0.1, 0.9, -0.5, 1.0, 0.5];
    let entries: Vec<Entry> =
        cosines.iter().map(|&c| entry(&c.to_string()).with(leaning(index, c))).collect();
    index.put(&of, entries.clone()).await.unwrap();

    let hits = found(index, &of, &ALL, 3).await;
    for (hit, (place, cosine)) in hits.iter().zip([(3, 1.0), (1, 0.9), (4, 0.5)]) {
        assert_eq!(hit.interaction, entries[place].interaction);
        assert!((hit.score - cosine).abs() < 1e-3, "{} is not {cosine}", hit.score);
    }
    assert_eq!(hits.len(), 3);
    assert_eq!(texts(index, &of, &ALL).await, ["1", "0.9", "0.5", "0.1", "-0.5"]);
}

/// The same id replaces, in another call and in the same.
pub(crate) async fn putting_again_replaces(index: &dyn VectorIndex) {
    let of = fresh("agent");
    let first = entry("first").with(leaning(index, 0.2));
    let other = entry("other").with(leaning(index, 0.5));
    index.put(&of, vec![first.clone(), other.clone()]).await.unwrap();

    let mut second = first.clone().with(leaning(index, 0.9)).facts(|facts| {
        facts.kind = Kind::UserMessage;
        facts.success = false;
    });
    "second".clone_into(&mut second.interaction.text);
    index.put(&of, vec![first.clone(), second.clone()]).await.unwrap();

    assert_eq!(index.count(&of).await.unwrap(), 2);
    assert_eq!(texts(index, &of, &ALL).await, ["second", "other"]);
    assert_eq!(found(index, &of, &ALL, 1).await[0].interaction, second.interaction);
    let filter = Filter { kind: Some(Kind::ToolCall), ..ALL };
    assert_eq!(texts(index, &of, &filter).await, ["other"], "it is another kind now");
}

/// CS-2.3, CS-3.2.
pub(crate) async fn a_filter_by_kind_holds(index: &dyn VectorIndex) {
    let of = fresh("agent");
    let entries = Kind::ALL.map(|kind| {
        entry(kind.as_str()).with(leaning(index, 0.5)).facts(|facts| facts.kind = kind)
    });
    index.put(&of, entries.to_vec()).await.unwrap();
    for kind in Kind::ALL {
        let filter = Filter { kind: Some(kind), ..ALL };
        assert_eq!(texts(index, &of, &filter).await, [kind.as_str()]);
        assert_eq!(kept(index, &of, &filter).await, set([kind.as_str()]));
        assert_eq!(index.figures(&of, &filter).await.unwrap().tally.total, 1);
    }
}

/// CS-2.2, CS-3.3: failures are kept with their reason, and found apart.
pub(crate) async fn a_filter_by_success_holds(index: &dyn VectorIndex) {
    let of = fresh("agent");
    let good = entry("good").with(leaning(index, 0.5));
    let bad = entry("bad").with(leaning(index, 0.9)).facts(|facts| {
        facts.success = false;
        facts.error_details = Some("the port was taken".to_owned());
    });
    index.put(&of, vec![good, bad.clone()]).await.unwrap();
    let failures = Filter { success: Some(false), ..ALL };
    let hits = found(index, &of, &failures, 10).await;
    assert_eq!(hits.len(), 1);
    assert_eq!(hits[0].interaction, bad.interaction);
    let successes = Filter { success: Some(true), ..ALL };
    assert_eq!(texts(index, &of, &successes).await, ["good"]);
}

/// CS-3.4: both ends of a time range count, to the microsecond.
pub(crate) async fn a_filter_by_time_holds(index: &dyn VectorIndex) {
    let of = fresh("agent");
    let entries = [-1_i64, 0, 1, 2, 3].map(|micros| {
        let entry = entry(&micros.to_string()).with(leaning(index, 0.5));
        entry.facts(|facts| facts.timestamp = at(micros))
    });
    index.put(&of, entries.to_vec()).await.unwrap();
    let range = Filter { from: Some(at(0)), to: Some(at(2)), ..ALL };
    for (filter, expected) in [
        (range, set(["0", "1", "2"])),
        (Filter { to: None, ..range }, set(["0", "1", "2", "3"])),
        (Filter { from: None, ..range }, set(["-1", "0", "1", "2"])),
        (Filter { from: Some(at(1)), to: Some(at(1)), ..ALL }, set(["1"])),
        (Filter { from: Some(at(2)), to: Some(at(1)), ..ALL }, set([])),
    ] {
        assert_eq!(kept(index, &of, &filter).await, expected);
        let found: BTreeSet<String> = texts(index, &of, &filter).await.into_iter().collect();
        assert_eq!(found, expected);
    }
}

pub(crate) async fn a_filter_by_task_holds(index: &dyn VectorIndex) {
    let of = fresh("agent");
    let (one, two) = (TaskId::new(&SystemClock), TaskId::new(&SystemClock));
    let entries = [("none", None), ("one", Some(one)), ("also one", Some(one)), ("two", Some(two))];
    let entries = entries.map(|(text, task)| {
        entry(text).with(leaning(index, 0.5)).facts(|facts| {
            facts.task_id = task;
            facts.success = text != "also one";
        })
    });
    index.put(&of, entries.to_vec()).await.unwrap();
    let of_one = Filter { task: Some(one), ..ALL };
    for (filter, expected) in [
        (of_one, set(["one", "also one"])),
        (Filter { success: Some(true), ..of_one }, set(["one"])),
        (Filter { kind: Some(Kind::UserMessage), ..of_one }, set([])),
        (Filter { task: Some(two), ..ALL }, set(["two"])),
        (Filter { task: Some(TaskId::new(&SystemClock)), ..ALL }, set([])),
    ] {
        let found: BTreeSet<String> = texts(index, &of, &filter).await.into_iter().collect();
        assert_eq!(found, expected);
        assert_eq!(kept(index, &of, &filter).await, expected);
    }
}

/// CS-3.1: all filters at once, on enough entries that chance does not hide a mistake.
pub(crate) async fn filters_hold_together(index: &dyn VectorIndex) {
    let of = fresh("agent");
    let mut dice = Dice(7);
    let entries: Vec<Entry> = (0..300_u16)
        .map(|number| {
            let vector = dice.direction(index.model().dimensions);
            let micros = i64::try_from(dice.below(100)).unwrap();
            entry(&number.to_string()).with(vector).facts(|facts| {
                facts.kind = Kind::ALL[usize::from(number % 4)];
                facts.success = number % 3 == 0;
                facts.timestamp = at(micros);
            })
        })
        .collect();
    index.put(&of, entries.clone()).await.unwrap();
    let filter = Filter {
        kind: Some(Kind::TaskExecution),
        success: Some(true),
        from: Some(at(20)),
        to: Some(at(80)),
        task: None,
    };
    let query = leaning(index, 1.0);
    let mut expected: Vec<(f32, &Entry)> = entries
        .iter()
        .filter(|entry| filter.admits(&entry.interaction.metadata))
        .map(|entry| (dot(entry.vector.as_ref().unwrap(), &query), entry))
        .collect();
    expected.sort_by(|a, b| b.0.total_cmp(&a.0));
    let hits = found(index, &of, &filter, 5).await;
    assert_eq!(hits.len(), 5);
    for (hit, (score, entry)) in hits.iter().zip(expected) {
        assert_eq!(hit.interaction, entry.interaction);
        assert!((hit.score - score).abs() < 1e-3);
    }
}

/// An entry without a vector is read, counted and forgotten like any other, and searched once it has one.
pub(crate) async fn an_entry_without_a_vector_waits(index: &dyn VectorIndex) {
    let of = fresh("agent");
    let (early, late) = (entry("early"), entry("late").facts(|facts| facts.timestamp = at(5)));
    let ready = entry("ready").with(leaning(index, 0.5));
    index.put(&of, vec![early.clone(), late.clone(), ready.clone()]).await.unwrap();

    assert_eq!(texts(index, &of, &ALL).await, ["ready"]);
    assert_eq!(index.count(&of).await.unwrap(), 3);
    assert_eq!(kept(index, &of, &ALL).await, set(["early", "late", "ready"]));
    assert_eq!(index.figures(&of, &ALL).await.unwrap().waiting, 2);
    let some = Filter { from: Some(at(1)), ..ALL };
    assert_eq!(index.figures(&of, &some).await.unwrap().waiting, 1);
    let mut waiting = index.waiting(&of, 10).await.unwrap();
    waiting.sort_by_key(|interaction| interaction.metadata.timestamp);
    assert_eq!(waiting, interactions(&[early.clone(), late.clone()]));
    assert_eq!(index.waiting(&of, 1).await.unwrap().len(), 1);
    assert_eq!(index.waiting(&of, 0).await.unwrap(), []);

    index.put(&of, vec![early.clone().with(leaning(index, 0.9))]).await.unwrap();
    assert_eq!(texts(index, &of, &ALL).await, ["early", "ready"]);
    assert_eq!(index.waiting(&of, 10).await.unwrap(), interactions(std::slice::from_ref(&late)));
    assert_eq!(index.forget_ids(&of, &[late.interaction.id]).await.unwrap(), 1);
    assert_eq!(index.waiting(&of, 10).await.unwrap(), []);

    let again = Entry { vector: None, ..ready };
    index.put(&of, vec![again.clone()]).await.unwrap();
    assert_eq!(texts(index, &of, &ALL).await, ["early"], "it was put without one");
    assert_eq!(index.waiting(&of, 10).await.unwrap(), interactions(&[again]));
    assert_eq!(index.count(&of).await.unwrap(), 2);
}

/// Vectors that come later go to entries that are still there, and bring nothing back.
pub(crate) async fn vectors_can_be_given_later(index: &dyn VectorIndex) {
    let of = fresh("agent");
    let (waits, goes) = (entry("waits"), entry("goes"));
    let (kept_id, gone_id) = (waits.interaction.id, goes.interaction.id);
    index.put(&of, vec![waits.clone(), goes]).await.unwrap();
    assert_eq!(index.forget_ids(&of, &[gone_id]).await.unwrap(), 1);
    let given = vec![(kept_id, leaning(index, 0.7)), (gone_id, leaning(index, 0.9))];
    index.give_vectors(&of, given).await.unwrap();
    assert!(index.waiting(&of, 10).await.unwrap().is_empty());
    let hits = found(index, &of, &ALL, 10).await;
    assert_eq!(hits.iter().map(|hit| &hit.interaction).collect::<Vec<_>>(), [&waits.interaction]);
    index.give_vectors(&of, vec![(kept_id, leaning(index, 0.1))]).await.unwrap();
    assert!((found(index, &of, &ALL, 1).await[0].score - 0.1).abs() < 1e-3, "the last one counts");
    assert_eq!(index.count(&of).await.unwrap(), 1);
    let bad = index.give_vectors(&of, vec![(kept_id, vec![1.0])]).await;
    assert!(matches!(bad, Err(Error::Invalid(_))), "{bad:?}");
    index.give_vectors(&fresh("nobody"), vec![(kept_id, leaning(index, 0.1))]).await.unwrap();
}

/// CS-5.1, CS-5.2: pages go through everything once, in the order of the ids.
pub(crate) async fn pages_are_in_the_order_of_ids(index: &dyn VectorIndex) {
    let of = fresh("agent");
    let mut entries: Vec<Entry> = (0..25_u8)
        .map(|number| {
            let waits = number % 5 == 0;
            let entry = entry(&number.to_string()).facts(|facts| facts.success = number % 2 == 0);
            if waits { entry } else { entry.with(leaning(index, f32::from(number) / 30.0)) }
        })
        .collect();
    entries.reverse();
    index.put(&of, entries.clone()).await.unwrap();
    entries.sort_by_key(|entry| entry.interaction.id);

    for filter in [ALL, Filter { success: Some(true), ..ALL }] {
        let (mut seen, mut after) = (Vec::new(), None);
        loop {
            let page = index.page(&of, &filter, after, 4, true).await.unwrap();
            assert!(page.len() <= 4);
            let Some(last) = page.last() else { break };
            after = Some(last.interaction.id);
            seen.extend(page);
        }
        let admitted = entries.iter().filter(|entry| filter.admits(&entry.interaction.metadata));
        let expected: Vec<Entry> = admitted.cloned().collect();
        assert_eq!(interactions(&seen), interactions(&expected));
        for (seen, expected) in seen.iter().zip(&expected) {
            match (&seen.vector, &expected.vector) {
                (Some(seen), Some(expected)) => {
                    assert_eq!(seen.len(), expected.len());
                    assert!(seen.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-5));
                }
                (None, None) => {}
                (seen, expected) => panic!("{seen:?} is not {expected:?}"),
            }
        }
    }
    let without = index.page(&of, &ALL, None, 100, false).await.unwrap();
    assert!(without.iter().all(|entry| entry.vector.is_none()));
    assert_eq!(index.page(&of, &ALL, None, 0, true).await.unwrap(), []);
    let nobody = InteractionId::from_bytes([255; 16]);
    assert_eq!(index.page(&of, &ALL, Some(nobody), 10, true).await.unwrap(), []);
}

/// The newest come first, page after page; those of one moment are neither missed nor doubled, whatever is put
/// or forgotten in between.
pub(crate) async fn the_newest_come_first(index: &dyn VectorIndex) {
    let of = fresh("agent");
    let moments = [7, 7, 7, 7, 7, 3, 9, 9, -4, 3, 8, 7, 1, 0, 12];
    let mut entries: Vec<Entry> = (moments.iter().enumerate())
        .map(|(number, moment)| {
            let entry = entry(&number.to_string()).facts(|facts| {
                facts.timestamp = at(*moment);
                facts.success = number % 3 > 0;
            });
            if number % 4 == 0 { entry } else { entry.with(leaning(index, 0.5)) }
        })
        .collect();
    index.put(&of, entries.clone()).await.unwrap();
    entries.sort_by_key(|entry| std::cmp::Reverse(Spot::of(&entry.interaction)));
    let narrow = Filter { success: Some(true), from: Some(at(1)), to: Some(at(9)), ..ALL };
    for (filter, limit) in [(ALL, 4), (ALL, 1), (ALL, 100), (narrow, 2), (narrow, 3)] {
        let (mut seen, mut before) = (Vec::new(), None);
        loop {
            let page = index.newest(&of, &filter, before, limit).await.unwrap();
            assert!(page.len() <= limit);
            let Some(last) = page.last() else { break };
            before = Some(Spot::of(last));
            seen.extend(page);
        }
        let admitted = entries.iter().filter(|entry| filter.admits(&entry.interaction.metadata));
        let expected: Vec<_> = admitted.map(|entry| entry.interaction.clone()).collect();
        assert_eq!(seen, expected, "{limit} at a time");
    }
    // The one that a page ended with may be gone by the next.
    let first = index.newest(&of, &ALL, None, 5).await.unwrap();
    let last = &first[4];
    assert_eq!(index.forget_ids(&of, &[last.id]).await.unwrap(), 1);
    let newer = entry("newer").facts(|facts| facts.timestamp = at(20));
    index.put(&of, vec![newer]).await.unwrap();
    let rest = index.newest(&of, &ALL, Some(Spot::of(last)), 100).await.unwrap();
    let expected: Vec<_> = entries[5..].iter().map(|entry| entry.interaction.clone()).collect();
    assert_eq!(rest, expected);
    assert_eq!(index.newest(&of, &ALL, None, 0).await.unwrap(), []);
    assert_eq!(index.newest(&fresh("nobody"), &ALL, None, 10).await.unwrap(), []);
}

/// CS-6.1, CS-6.2, CS-6.3, CS-6.4: figures by kind and by day, before 1970 too.
pub(crate) async fn figures_add_up(index: &dyn VectorIndex) {
    let of = fresh("agent");
    let dawn = at(0).as_micros();
    let days = [(0, 5, true), (0, 6, false), (1, 0, true), (3, -1, true), (-20_001, 9, false)];
    let entries = days.map(|(day, micros, success)| {
        entry("text").with(leaning(index, 0.5)).facts(|facts| {
            facts.timestamp = at(day * DAY + micros);
            facts.success = success;
            facts.kind = if day == 0 { Kind::ToolCall } else { Kind::TaskExecution };
        })
    });
    index.put(&of, entries.to_vec()).await.unwrap();

    let tally = |total, successes| Tally { total, successes };
    let figures = index.figures(&of, &ALL).await.unwrap();
    assert_eq!(figures.tally, tally(5, 3));
    assert_eq!(
        (figures.oldest, figures.newest),
        (Some(at(-20_001 * DAY + 9)), Some(at(3 * DAY - 1)))
    );
    let kind = |kind| figures.by_kind.get(&kind).copied().unwrap_or_default();
    assert_eq!(kind(Kind::ToolCall), tally(2, 1));
    assert_eq!(kind(Kind::TaskExecution), tally(3, 2));
    assert_eq!(kind(Kind::UserMessage), Tally::default());
    let today = dawn / DAY;
    let by_day: Vec<(i64, Tally)> = figures.by_day.into_iter().collect();
    let expected = [
        (-1, tally(1, 0)),
        (today, tally(2, 1)),
        (today + 1, tally(1, 1)),
        (today + 2, tally(1, 1)),
    ];
    assert_eq!(by_day, expected);
    assert_eq!(figures.waiting, 0);
    assert!(figures.bytes > 0);

    let some = Filter { from: Some(at(6)), success: Some(true), ..ALL };
    let figures = index.figures(&of, &some).await.unwrap();
    assert_eq!(figures.tally, tally(2, 2));
    assert_eq!((figures.oldest, figures.newest), (Some(at(DAY)), Some(at(3 * DAY - 1))));
    assert_eq!(figures.by_day.len(), 2);
}

/// CS-4.2, CS-4.4: what a filter admits is gone, and nothing else is.
pub(crate) async fn what_a_filter_admits_is_forgotten(index: &dyn VectorIndex) {
    let of = fresh("agent");
    let task = TaskId::new(&SystemClock);
    let put = [("old", -31, true), ("failed", -2, false), ("tasked", -1, true), ("new", 0, true)];
    let mut entries: Vec<Entry> = put
        .map(|(text, day, success)| {
            entry(text).with(leaning(index, 0.5)).facts(|facts| {
                facts.timestamp = at(day * DAY);
                facts.success = success;
                facts.task_id = (text == "tasked").then_some(task);
            })
        })
        .to_vec();
    entries.push(entry("waits").facts(|facts| facts.timestamp = at(-40 * DAY)));
    index.put(&of, entries).await.unwrap();

    let old = Filter { to: Some(at(-30 * DAY)), ..ALL };
    assert_eq!(index.forget(&of, &old).await.unwrap(), 2);
    assert_eq!(texts(index, &of, &ALL).await.len(), 3);
    assert_eq!(kept(index, &of, &ALL).await, set(["failed", "tasked", "new"]));
    let failed = Filter { success: Some(false), ..ALL };
    assert_eq!(index.forget(&of, &failed).await.unwrap(), 1);
    assert_eq!(index.forget(&of, &failed).await.unwrap(), 0);
    assert_eq!(index.forget(&of, &Filter { task: Some(task), ..ALL }).await.unwrap(), 1);
    assert_eq!(texts(index, &of, &ALL).await, ["new"]);
    let figures = index.figures(&of, &ALL).await.unwrap();
    assert_eq!((figures.tally.total, figures.waiting), (1, 0));
}

/// CS-4.1: clearing forgets everything, and the collection can be used as before.
pub(crate) async fn everything_is_forgotten(index: &dyn VectorIndex) {
    let of = fresh("agent");
    let entries: Vec<Entry> =
        (0..20).map(|_| entry("text").with(leaning(index, 0.5))).chain([entry("waits")]).collect();
    index.put(&of, entries.clone()).await.unwrap();
    assert_eq!(index.forget(&of, &ALL).await.unwrap(), 21);
    is_empty(index, &of).await;
    index.put(&of, entries[..1].to_vec()).await.unwrap();
    assert_eq!(texts(index, &of, &ALL).await, ["text"]);
}

pub(crate) async fn ids_are_forgotten(index: &dyn VectorIndex) {
    let of = fresh("agent");
    let entries = ["a", "b", "c", "d"].map(|text| entry(text).with(leaning(index, 0.5)));
    index.put(&of, entries.to_vec()).await.unwrap();
    let (a, c) = (entries[0].interaction.id, entries[2].interaction.id);
    let ids = [a, InteractionId::new(&SystemClock), c, a];
    assert_eq!(index.forget_ids(&of, &ids).await.unwrap(), 2);
    assert_eq!(index.forget_ids(&of, &ids).await.unwrap(), 0);
    assert_eq!(index.forget_ids(&of, &[]).await.unwrap(), 0);
    assert_eq!(kept(index, &of, &ALL).await, set(["b", "d"]));
    assert_eq!(texts(index, &of, &ALL).await.len(), 2);
}

/// CS-4.3: the newest stay, whatever order they came in.
pub(crate) async fn trimming_keeps_the_newest(index: &dyn VectorIndex) {
    let of = fresh("agent");
    let entries = [3_i64, 0, 4, 1, 2].map(|micros| {
        let entry = entry(&micros.to_string()).facts(|facts| facts.timestamp = at(micros));
        if micros == 3 { entry } else { entry.with(leaning(index, 0.5)) }
    });
    index.put(&of, entries.to_vec()).await.unwrap();
    assert_eq!(index.trim(&of, 5).await.unwrap(), 0);
    assert_eq!(index.trim(&of, u64::MAX).await.unwrap(), 0);
    assert_eq!(index.trim(&of, 3).await.unwrap(), 2);
    assert_eq!(kept(index, &of, &ALL).await, set(["2", "3", "4"]));
    assert_eq!(texts(index, &of, &ALL).await.len(), 2, "one of them waits");
    assert_eq!(index.trim(&of, 0).await.unwrap(), 3);
    is_empty(index, &of).await;
}

/// CS-1.4, CS-8.1, CS-8.2, CS-8.3: the same ids and texts in two collections do not touch each other.
pub(crate) async fn collections_are_apart(index: &dyn VectorIndex) {
    let (mine, yours) = (fresh("same"), fresh("same"));
    let yours = Collection { name: mine.name.clone(), ..yours };
    let entries = ["a", "b", "c"].map(|text| entry(text).with(leaning(index, 0.5)));
    index.put(&mine, entries.to_vec()).await.unwrap();
    is_empty(index, &yours).await;
    index.put(&yours, entries[..2].to_vec()).await.unwrap();
    let changed = Entry { vector: None, ..entries[0].clone() }
        .facts(|facts| facts.kind = Kind::AgentResponse);
    index.put(&yours, vec![changed]).await.unwrap();

    assert_eq!(texts(index, &mine, &ALL).await.len(), 3);
    assert_eq!(texts(index, &yours, &ALL).await, ["b"]);
    assert_eq!(index.forget_ids(&yours, &[entries[1].interaction.id]).await.unwrap(), 1);
    assert_eq!(index.trim(&yours, 0).await.unwrap(), 1);
    index.remove(&yours).await.unwrap();
    assert_eq!(index.count(&mine).await.unwrap(), 3);
    assert_eq!(index.figures(&mine, &ALL).await.unwrap().tally.total, 3);
    assert_eq!(texts(index, &mine, &ALL).await.len(), 3);
    index.remove(&mine).await.unwrap();
}

pub(crate) async fn a_renamed_collection_keeps_its_entries(index: &dyn VectorIndex) {
    let old = fresh("before");
    let name = old.name.replace("before", "after");
    let new = Collection { name: name.clone(), ..old.clone() };
    index.rename(&fresh("nobody"), "somebody").await.unwrap();
    index.put(&old, vec![entry("stays").with(leaning(index, 0.5))]).await.unwrap();
    index.rename(&old, &name).await.unwrap();
    assert_eq!(texts(index, &new, &ALL).await, ["stays"]);
    assert!(!index.ensure(&new).await.unwrap());
    index.put(&new, vec![entry("comes").with(leaning(index, 0.9))]).await.unwrap();
    assert_eq!(texts(index, &new, &ALL).await, ["comes", "stays"]);
    index.remove(&new).await.unwrap();
    is_empty(index, &new).await;
}

pub(crate) async fn what_was_removed_starts_afresh(index: &dyn VectorIndex) {
    let of = fresh("agent");
    index.remove(&of).await.unwrap();
    index.put(&of, vec![entry("old").with(leaning(index, 0.5)), entry("waits")]).await.unwrap();
    assert_eq!(texts(index, &of, &ALL).await, ["old"]);
    index.remove(&of).await.unwrap();
    is_empty(index, &of).await;
    index.remove(&of).await.unwrap();
    assert!(index.ensure(&of).await.unwrap());
    index.put(&of, vec![entry("new").with(leaning(index, 0.5))]).await.unwrap();
    assert_eq!(texts(index, &of, &ALL).await, ["new"]);
}

/// CS-1.1, CS-1.2: made once, and then found.
pub(crate) async fn a_collection_is_made_once(index: &dyn VectorIndex) {
    let of = fresh("agent");
    assert!(index.ensure(&of).await.unwrap());
    assert!(!index.ensure(&of).await.unwrap());
    is_empty(index, &of).await;
    index.put(&of, vec![entry("text").with(leaning(index, 0.5))]).await.unwrap();
    assert!(!index.ensure(&of).await.unwrap());
    assert_eq!(texts(index, &of, &ALL).await, ["text"]);

    let put = fresh("put");
    index.put(&put, vec![entry("text")]).await.unwrap();
    assert!(!index.ensure(&put).await.unwrap(), "putting made it");
}

pub(crate) async fn a_collection_that_nobody_made_is_empty(index: &dyn VectorIndex) {
    let of = fresh("nobody");
    is_empty(index, &of).await;
    assert!(index.ensure(&of).await.unwrap(), "looking does not make it");
}

async fn is_empty(index: &dyn VectorIndex, of: &Collection) {
    assert_eq!(found(index, of, &ALL, 10).await, []);
    assert_eq!(index.page(of, &ALL, None, 10, true).await.unwrap(), []);
    assert_eq!(index.waiting(of, 10).await.unwrap(), []);
    assert_eq!(index.count(of).await.unwrap(), 0);
    let figures = index.figures(of, &ALL).await.unwrap();
    assert_eq!((figures.tally, figures.waiting), (Tally::default(), 0));
    assert_eq!((figures.oldest, figures.newest), (None, None));
    assert!(figures.by_day.is_empty());
    assert!(figures.by_kind.values().all(|tally| *tally == Tally::default()));
    assert_eq!(index.forget(of, &ALL).await.unwrap(), 0);
    let id = InteractionId::new(&SystemClock);
    assert_eq!(index.forget_ids(of, &[id]).await.unwrap(), 0);
    assert_eq!(index.trim(of, 0).await.unwrap(), 0);
}

pub(crate) async fn a_vector_that_does_not_fit_is_refused(index: &dyn VectorIndex) {
    let of = fresh("agent");
    let right = leaning(index, 0.5);
    let (mut long, mut odd, mut endless) = (right.clone(), right.clone(), right.clone());
    long.push(0.0);
    odd[3] = f32::NAN;
    endless[0] = f32::INFINITY;
    for wrong in [&right[1..], &long, &[], &odd, &endless] {
        let entries = vec![entry("right").with(right.clone()), entry("wrong").with(wrong.to_vec())];
        assert!(matches!(index.put(&of, entries).await, Err(Error::Invalid(_))));
        let searched = index.search(&of, wrong, &ALL, 10).await;
        assert!(matches!(searched, Err(Error::Invalid(_))));
    }
    is_empty(index, &of).await;
}

/// However much is asked for, so much is given.
pub(crate) async fn answers_are_bounded(index: &dyn VectorIndex) {
    let of = fresh("agent");
    let mut dice = Dice(11);
    let dimensions = index.model().dimensions;
    let entries: Vec<Entry> = (0..MOST_HITS.max(LARGEST_PAGE) + 50)
        .map(|number| entry(&number.to_string()).with(dice.direction(dimensions)))
        .collect();
    for some in entries.chunks(200) {
        index.put(&of, some.to_vec()).await.unwrap();
    }
    assert_eq!(found(index, &of, &ALL, 0).await, []);
    let hits = found(index, &of, &ALL, usize::MAX).await;
    assert_eq!(hits.len(), MOST_HITS);
    assert!(hits.windows(2).all(|pair| pair[0].score >= pair[1].score));
    let page = index.page(&of, &ALL, None, usize::MAX, false).await.unwrap();
    assert_eq!(page.len(), LARGEST_PAGE);

    let few: Vec<InteractionId> = entries[5..].iter().map(|entry| entry.interaction.id).collect();
    assert_eq!(index.forget_ids(&of, &few).await.unwrap(), few.len() as u64);
    assert_eq!(found(index, &of, &ALL, 1_000).await.len(), 5, "more than there are");
}

pub(crate) async fn what_many_put_at_once_is_all_found(index: &dyn VectorIndex) {
    let of = fresh("agent");
    let contested = entry("contested");
    let puts = (0..20).map(|writer| {
        let mut entries: Vec<Entry> = (0..10)
            .map(|number| entry(&format!("{writer}.{number}")).with(leaning(index, 0.5)))
            .collect();
        entries.push(contested.clone().with(leaning(index, 0.9)));
        index.put(&of, entries)
    });
    let searches = join_all((0..20).map(|_| found(index, &of, &ALL, 10)));
    let (puts, searches) = tokio::join!(join_all(puts), searches);
    assert!(puts.into_iter().all(|put| put.is_ok()));
    assert!(searches.iter().all(|hits| hits.len() <= 10));
    assert_eq!(index.count(&of).await.unwrap(), 201);
    let hits = found(index, &of, &ALL, 300).await;
    assert_eq!(hits.len(), 201);
    assert_eq!(hits[0].interaction, contested.interaction);
}

/// Collections are made, filled and searched side by side.
pub(crate) async fn many_collections_are_used_at_once(index: &dyn VectorIndex) {
    join_all((0..30).map(|number| async move {
        let of = fresh(&format!("agent{number}"));
        let (one, two) = (entry("one").with(leaning(index, 0.9)), entry("two"));
        let puts = tokio::join!(index.put(&of, vec![one]), index.put(&of, vec![two]));
        puts.0.unwrap();
        puts.1.unwrap();
        assert_eq!(texts(index, &of, &ALL).await, ["one"]);
        assert_eq!(index.count(&of).await.unwrap(), 2);
        index.remove(&of).await.unwrap();
    }))
    .await;
}

/// CS-2.1: whatever a user writes comes back as it was.
pub(crate) async fn odd_texts_and_facts_come_back(index: &dyn VectorIndex) {
    let of = Collection {
        name: "user1_project_Агент \"o'\" 🤖_context".to_owned(), ..fresh("x")
    };
    let other = json!({
        "text": "not the text", "id": 7, "vector": [1.5, -2.0], "kind": null, "success": "yes",
        "ключ": {"внутри": [true, {"": ""}]}, "": "empty key", "a.b[0]": 1,
        "numbers": [i64::MIN, i64::MAX, 0.1, -1e-300, 0], "long": "ю".repeat(5_000),
        "request_id": "r", "agent_id": "another", "timestamp_us": -1,
    });
    let texts = [
        "",
        "Привет, мир 🦀",
        "zero \0 inside",
        "quote ' \" \\ ; drop table x; --",
        "\u{202e}\n\r\t",
    ];
    let mut entries: Vec<Entry> = texts
        .map(|text| {
            entry(text).with(leaning(index, 0.5)).facts(|facts| {
                facts.other.clone_from(other.as_object().unwrap());
                facts.request = Some(format!("{text}?"));
                facts.error_details = Some(String::new());
                facts.task_id = Some(TaskId::new(&SystemClock));
                facts.timestamp = at(-7 * DAY + 123_457);
            })
        })
        .to_vec();
    entries.push(entry("waits").facts(|facts| facts.other.clone_from(other.as_object().unwrap())));
    index.put(&of, entries.clone()).await.unwrap();
    entries.sort_by_key(|entry| entry.interaction.id);

    let page = index.page(&of, &ALL, None, 100, false).await.unwrap();
    assert_eq!(interactions(&page), interactions(&entries));
    let mut hits: Vec<_> =
        found(index, &of, &ALL, 10).await.into_iter().map(|hit| hit.interaction).collect();
    hits.sort_by_key(|interaction| interaction.id);
    entries.retain(|entry| entry.vector.is_some());
    assert_eq!(hits, interactions(&entries));
}
