//! The model changes, and collections come and go under other nodes.

use std::collections::BTreeSet;

use artel_domain::memory::{Collection, Filter};
use artel_storage::vectors::{Entry, Error, Layout, VectorIndex};
use artel_testkit::qdrant::Fault;

use super::Side;
use super::kit::{Changed, entry, fresh, kept, leaning, set, texts};

const ALL: Filter = Filter { kind: None, success: None, from: None, to: None, task: None };

/// Models that no other test uses: in the shared layout each has a collection for all.
fn models() -> [String; 2] {
    let mark = getrandom::u64().unwrap();
    [format!("old-{mark}"), format!("new-{mark}")]
}

/// More than are moved at a time.
async fn filled(index: &dyn VectorIndex, of: &Collection) -> BTreeSet<String> {
    let entries: Vec<Entry> = (0..300)
        .map(|number| {
            let entry = entry(&number.to_string());
            if number % 7 == 0 { entry } else { entry.with(leaning(index, 0.5)) }
        })
        .collect();
    index.put(of, entries).await.unwrap();
    kept(index, of, &ALL).await
}

/// Every entry waits, is there otherwise, and is searched once it has a vector of the new model.
pub(crate) async fn entries_wait_when_the_model_changes(side: &Side) {
    let [before, after] = models();
    let (of, other) = (fresh("agent"), fresh("other"));
    let old = side.node_with(&before);
    let all = filled(&old, &of).await;
    old.put(&other, vec![entry("other").with(leaning(&old, 0.5))]).await.unwrap();

    let new = side.node_with(&after);
    assert!(!new.ensure(&of).await.unwrap(), "it was not missing");
    assert_eq!(kept(&new, &of, &ALL).await, all);
    assert_eq!(new.count(&of).await.unwrap(), 300);
    assert_eq!(new.figures(&of, &ALL).await.unwrap().waiting, 300);
    assert_eq!(texts(&new, &of, &ALL).await, [""; 0]);

    let waiting = new.waiting(&of, 10).await.unwrap();
    assert_eq!(waiting.len(), 10);
    let put = waiting
        .into_iter()
        .map(|interaction| Entry { interaction, vector: Some(leaning(&new, 0.5)) });
    new.put(&of, put.collect()).await.unwrap();
    assert_eq!(texts(&new, &of, &ALL).await.len(), 10);
    assert_eq!(new.figures(&of, &ALL).await.unwrap().waiting, 290);
    assert_eq!(new.count(&of).await.unwrap(), 300);

    if let Some(stand_in) = &side.stand_in
        && side.layout == Layout::PerAgent
    {
        let named = stand_in.alias(&of.name).unwrap();
        let mine = format!("artel_{}_", of.agent);
        let mut collections = stand_in.collections();
        collections.retain(|name| name.starts_with(&mine));
        assert_eq!(collections, [named], "the old one is gone");
    }
    // Nobody asked for this one yet.
    assert_eq!(kept(&new, &other, &ALL).await, set(["other"]));
    new.remove(&of).await.unwrap();
    assert_eq!(side.node_with(&after).count(&of).await.unwrap(), 0);
}

/// Whatever is called first finds what the old model left.
pub(crate) async fn a_model_may_change_before_anybody_writes(side: &Side) {
    let [before, after] = models();
    let old = side.node_with(&before);
    let agents = [(); 6].map(|()| fresh("agent"));
    for of in &agents {
        old.put(of, vec![entry("kept").with(leaning(&old, 0.5))]).await.unwrap();
    }
    let [counted, put, forgotten, trimmed, removed, renamed] = &agents;
    assert_eq!(side.node_with(&after).count(counted).await.unwrap(), 1);
    side.node_with(&after).put(put, vec![entry("comes")]).await.unwrap();
    assert_eq!(kept(&side.node_with(&after), put, &ALL).await, set(["comes", "kept"]));
    assert_eq!(side.node_with(&after).forget(forgotten, &ALL).await.unwrap(), 1);
    assert_eq!(side.node_with(&after).count(forgotten).await.unwrap(), 0);
    assert_eq!(side.node_with(&after).trim(trimmed, 0).await.unwrap(), 1);
    side.node_with(&after).remove(removed).await.unwrap();
    assert_eq!(side.node_with(&after).count(removed).await.unwrap(), 0);
    side.node_with(&after).rename(renamed, "another").await.unwrap();
    assert_eq!(side.node_with(&after).waiting(renamed, 10).await.unwrap().len(), 1);
}

/// This node thinks that the collection is there; it is empty to read, and made again by a put.
pub(crate) async fn what_another_node_removed_is_made_again(side: &Side) {
    let (here, there) = (side.node(), side.node());
    let of = fresh("agent");
    here.put(&of, vec![entry("before").with(leaning(&here, 0.5))]).await.unwrap();
    there.remove(&of).await.unwrap();
    assert_eq!(texts(&here, &of, &ALL).await, [""; 0]);
    assert_eq!(here.count(&of).await.unwrap(), 0);
    assert_eq!(here.trim(&of, 0).await.unwrap(), 0);

    here.put(&of, vec![entry("again").with(leaning(&here, 0.5))]).await.unwrap();
    there.remove(&of).await.unwrap();
    here.put(&of, vec![entry("after").with(leaning(&here, 0.5))]).await.unwrap();
    assert_eq!(texts(&here, &of, &ALL).await, ["after"]);
    assert_eq!(texts(&side.node(), &of, &ALL).await, ["after"]);
    assert_eq!(here.figures(&of, &ALL).await.unwrap().tally.total, 1, "with its indexes");
}

/// The whole collection is deleted by somebody who is not us.
#[tokio::test]
async fn a_collection_that_vanished_is_made_again() {
    for layout in [Layout::PerAgent, Layout::Shared] {
        let side = Side::stand_in(layout);
        let stand_in = side.stand_in.as_ref().unwrap();
        let (index, of) = (side.node(), fresh("agent"));
        index.put(&of, vec![entry("before").with(leaning(&index, 0.5))]).await.unwrap();
        for collection in stand_in.collections() {
            stand_in.lose(&collection);
        }
        assert_eq!(texts(&index, &of, &ALL).await, [""; 0]);
        assert_eq!(index.count(&of).await.unwrap(), 0);
        index.put(&of, vec![entry("after").with(leaning(&index, 0.5))]).await.unwrap();
        assert_eq!(texts(&side.node(), &of, &ALL).await, ["after"]);
        assert_eq!(index.figures(&of, &ALL).await.unwrap().tally.total, 1, "with its indexes");
    }
}

/// A move that breaks off anywhere is finished by the next who asks; nothing is lost, nothing is there twice.
#[tokio::test]
async fn a_move_may_break_off_anywhere() {
    for layout in [Layout::PerAgent, Layout::Shared] {
        let side = Side::stand_in(layout);
        let stand_in = side.stand_in.as_ref().unwrap();
        let [before, after] = models();
        for works in 0.. {
            let of = fresh("agent");
            let all = filled(&side.node_with(&before), &of).await;
            stand_in.fail(vec![Fault::Pass; works]);
            stand_in.fail([Fault::Refuse("not now".to_owned())]);
            let broken = side.node_with(&after).ensure(&of).await;
            let done = stand_in.faults_left() > 0;
            if !done {
                assert!(matches!(broken, Err(Error::Refused(_))), "{broken:?}");
            }
            while stand_in.faults_left() > 0 {
                // What was not needed is used up.
                let _ = side.node().ping().await;
            }
            let new = side.node_with(&after);
            assert_eq!(kept(&new, &of, &ALL).await, all, "after {works} calls");
            assert_eq!(new.figures(&of, &ALL).await.unwrap().waiting, 300);
            if done {
                assert!(works > 8, "it was broken off often enough");
                break;
            }
        }
    }
}
