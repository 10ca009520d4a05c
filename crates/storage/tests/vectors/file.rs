//! What only the embedded side can do: files of its own that shrink, break, change their model, and are closed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use artel_domain::memory::{Collection, Filter, Kind};
use artel_storage::vectors::embedded::{Embedded, Limits};
use artel_storage::vectors::{Entry, Error, Model, VectorIndex};
use tempfile::TempDir;

use super::kit::{
    Changed, Dice, at, dot, entry, fresh, interactions, kept, leaning, set, texts, unit,
};
use super::{embedded, model};

const ALL: Filter = Filter { kind: None, success: None, from: None, to: None, task: None };

fn path(folder: &TempDir, of: &Collection) -> PathBuf {
    folder.path().join("vectors").join(format!("{}.db", of.agent))
}

fn size(path: &Path) -> u64 {
    let log = path.with_extension("db-wal");
    fs::metadata(path).unwrap().len() + fs::metadata(log).map_or(0, |found| found.len())
}

fn reopened(folder: &TempDir, model: Model) -> Embedded {
    Embedded::open(folder.path().join("vectors"), model).unwrap()
}

/// How many files below the folder this process has open.
fn open_files(folder: &TempDir) -> usize {
    let open = fs::read_dir("/proc/self/fd").unwrap().filter_map(Result::ok);
    let paths = open.filter_map(|entry| fs::read_link(entry.path()).ok());
    paths.filter(|path| path.starts_with(folder.path())).count()
}

#[tokio::test]
async fn what_was_put_is_there_after_opening_again() {
    let (index, folder) = embedded();
    let of = fresh("agent");
    index.put(&of, vec![entry("a").with(leaning(&index, 0.9)), entry("waits")]).await.unwrap();
    index.put(&of, vec![entry("b").with(leaning(&index, 0.5))]).await.unwrap();
    drop(index);

    let index = reopened(&folder, model(48));
    assert_eq!(texts(&index, &of, &ALL).await, ["a", "b"]);
    assert_eq!(index.count(&of).await.unwrap(), 3);
    index.put(&of, vec![entry("c").with(leaning(&index, 0.7))]).await.unwrap();
    assert_eq!(texts(&index, &of, &ALL).await, ["a", "c", "b"]);
}

#[tokio::test]
async fn only_the_owner_may_look() {
    let (index, folder) = embedded();
    let of = fresh("agent");
    index.put(&of, vec![entry("secret")]).await.unwrap();
    let rights = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(rights(&folder.path().join("vectors")), 0o700);
    assert_eq!(rights(&path(&folder, &of)), 0o600);
    assert_eq!(rights(&path(&folder, &of).with_extension("db-wal")), 0o600);
}

/// CS-1.1: thousands of agents that remember nothing yet cost nothing.
#[tokio::test]
async fn an_empty_collection_is_an_empty_file() {
    let (index, folder) = embedded();
    let of = fresh("agent");
    assert!(index.ensure(&of).await.unwrap());
    assert_eq!(fs::metadata(path(&folder, &of)).unwrap().len(), 0);
    assert_eq!(texts(&index, &of, &ALL).await, [""; 0]);
    assert_eq!(open_files(&folder), 0);
}

/// Whether its vectors are held or too many for that, the nearest is found, and what was deleted is not.
#[tokio::test]
async fn a_collection_grows_out_of_memory() {
    const DIMENSIONS: usize = 4_096;
    let folder = TempDir::new().unwrap();
    let (mut index, of) = (reopened(&folder, model(DIMENSIONS)), fresh("agent"));
    let mut dice = Dice(7);
    let mut entries: Vec<Entry> = Vec::new();
    // 16 MiB hold about a thousand of them.
    for number in 0..12 {
        let some: Vec<_> =
            (0..100).map(|_| entry("one of many").with(dice.direction(DIMENSIONS))).collect();
        index.put(&of, some.clone()).await.unwrap();
        entries.extend(some);
        let gone = entries.swap_remove(number);
        index.forget_ids(&of, &[gone.interaction.id]).await.unwrap();
        if number == 11 {
            drop(index);
            index = reopened(&folder, model(DIMENSIONS));
        }
        for wanted in entries.iter().rev().step_by(40) {
            let vector = wanted.vector.as_ref().unwrap();
            let hits = index.search(&of, vector, &ALL, 1).await.unwrap();
            assert_eq!(hits[0].interaction.id, wanted.interaction.id);
            assert!((hits[0].score - 1.0).abs() < 1e-4, "{}", hits[0].score);
        }
        let hits = index.search(&of, &gone.vector.unwrap(), &ALL, 1).await.unwrap();
        assert_ne!(hits[0].interaction.id, gone.interaction.id);
    }
}

/// CS-1.1: another model makes every entry wait, and each is found again once it has its new vector.
#[tokio::test]
async fn another_model_makes_entries_wait() {
    let (index, folder) = embedded();
    let of = fresh("agent");
    let entries: Vec<Entry> =
        ["a", "b", "c"].map(|text| entry(text).with(leaning(&index, 0.5))).to_vec();
    index.put(&of, entries.clone()).await.unwrap();
    drop(index);

    for other in [model(96), Model { name: "another-model".to_owned(), dimensions: 96 }] {
        let index = reopened(&folder, other);
        assert!(!index.ensure(&of).await.unwrap());
        assert_eq!(texts(&index, &of, &ALL).await, [""; 0]);
        assert_eq!(kept(&index, &of, &ALL).await, set(["a", "b", "c"]));
        assert_eq!(index.figures(&of, &ALL).await.unwrap().waiting, 3);
        let mut waiting = index.waiting(&of, 10).await.unwrap();
        waiting.sort_by(|a, b| a.text.cmp(&b.text));
        assert_eq!(waiting, interactions(&entries));
        let page = index.page(&of, &ALL, None, 10, true).await.unwrap();
        assert!(page.iter().all(|entry| entry.vector.is_none()));

        let again = |place: usize, cosine| entries[place].clone().with(leaning(&index, cosine));
        index.put(&of, vec![again(2, 0.9), again(0, 0.4)]).await.unwrap();
        assert_eq!(texts(&index, &of, &ALL).await, ["c", "a"]);
        assert_eq!(index.waiting(&of, 10).await.unwrap(), interactions(&entries[1..2]));
        assert_eq!(index.count(&of).await.unwrap(), 3);
    }
    let index = reopened(&folder, Model { name: "another-model".to_owned(), dimensions: 96 });
    assert_eq!(texts(&index, &of, &ALL).await, ["c", "a"], "the same model changes nothing");
}

/// Codes of an older encoding are made anew from the vectors.
#[tokio::test]
async fn codes_of_another_encoding_are_made_anew() {
    let (index, folder) = embedded();
    let of = fresh("agent");
    let mut dice = Dice(3);
    let entries: Vec<Entry> =
        (0..500).map(|number| entry(&number.to_string()).with(dice.direction(48))).collect();
    index.put(&of, entries).await.unwrap();
    let before = texts(&index, &of, &ALL).await;
    drop(index);
    let file = rusqlite::Connection::open(path(&folder, &of)).unwrap();
    file.execute_batch(
        "update meta set value = 0 where key = 'encoding'; update codes set code = x'00', factor = 0;",
    )
    .unwrap();
    drop(file);
    assert_eq!(texts(&reopened(&folder, model(48)), &of, &ALL).await, before);
}

/// CS-4.1, CS-4.2: what is forgotten takes no space any more.
#[tokio::test]
async fn the_file_shrinks() {
    let (index, folder) = embedded();
    let of = fresh("agent");
    let mut dice = Dice(5);
    for part in 0..4_i64 {
        let entries = (0..500)
            .map(|_| entry(&"text ".repeat(100)).with(dice.direction(48)))
            .map(|entry| entry.facts(|facts| facts.timestamp = at(part)));
        index.put(&of, entries.collect()).await.unwrap();
    }
    let full = size(&path(&folder, &of));
    let half = Filter { to: Some(at(1)), ..ALL };
    assert_eq!(index.forget(&of, &half).await.unwrap(), 1_000);
    let left = size(&path(&folder, &of));
    assert!(left < full * 6 / 10, "{left} of {full}");
    assert!(index.figures(&of, &ALL).await.unwrap().bytes <= left);
    assert_eq!(index.forget(&of, &ALL).await.unwrap(), 1_000);
    let empty = size(&path(&folder, &of));
    assert!(empty < 128 << 10, "{empty}");
}

/// A file that is not ours, and one of ours that was written into.
#[tokio::test]
async fn a_damaged_file_is_named() {
    let (index, folder) = embedded();
    let of = fresh("agent");
    fs::write(path(&folder, &of), "this is not a database, whatever its name says ".repeat(500))
        .unwrap();
    let damaged = |result: Result<_, Error>| match result {
        Err(Error::Damaged { collection, detail: _ }) => assert_eq!(collection, of.name),
        other => panic!("{other:?}"),
    };
    damaged(index.search(&of, &leaning(&index, 1.0), &ALL, 10).await.map(drop));
    damaged(index.put(&of, vec![entry("text")]).await);
    damaged(index.forget(&of, &ALL).await.map(drop));
    index.remove(&of).await.unwrap();

    let entries = |_| entry("text").with(leaning(&index, 0.5));
    index.put(&of, (0..200).map(entries).collect()).await.unwrap();
    drop(index);
    let mut bytes = fs::read(path(&folder, &of)).unwrap();
    bytes[8_192 * 2..].fill(0xa5);
    fs::write(path(&folder, &of), bytes).unwrap();
    let index = reopened(&folder, model(48));
    damaged(index.search(&of, &leaning(&index, 1.0), &ALL, 10).await.map(drop));
    index.remove(&of).await.unwrap();
    index.put(&of, vec![entry("afresh").with(leaning(&index, 0.5))]).await.unwrap();
    assert_eq!(texts(&index, &of, &ALL).await, ["afresh"]);
}

/// A file of a later program is left as it is.
#[tokio::test]
async fn a_file_of_a_later_version_is_refused() {
    let (index, folder) = embedded();
    let of = fresh("agent");
    index.put(&of, vec![entry("text")]).await.unwrap();
    drop(index);
    let file = rusqlite::Connection::open(path(&folder, &of)).unwrap();
    file.execute_batch("pragma user_version = 99").unwrap();
    drop(file);
    let index = reopened(&folder, model(48));
    assert!(matches!(index.count(&of).await, Err(Error::Refused(_))));
}

#[tokio::test]
async fn a_folder_that_cannot_be_used_says_so() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let opened = Embedded::open(file.join("vectors"), model(48));
    assert!(matches!(opened, Err(Error::Unavailable(_))));
    let opened = Embedded::open(folder.path().join("vectors"), model(7));
    assert!(matches!(opened, Err(Error::Invalid(_))));
    let (index, folder) = embedded();
    fs::remove_dir_all(folder.path()).unwrap();
    assert!(matches!(index.ping().await, Err(Error::Unavailable(_))));
    assert!(matches!(index.put(&fresh("agent"), vec![]).await, Err(Error::Unavailable(_))));
}

/// Closed means no open file; what was closed is opened again when it is asked for.
#[tokio::test]
async fn the_least_recently_used_are_closed() {
    let folder = TempDir::new().unwrap();
    let limits = Limits { collections: 3, ..Limits::default() };
    let index = Embedded::open_within(folder.path().join("vectors"), model(48), limits).unwrap();
    let collections: Vec<Collection> = (0..10).map(|_| fresh("agent")).collect();
    for of in &collections {
        index.put(of, vec![entry("text").with(leaning(&index, 0.5))]).await.unwrap();
        assert_eq!(texts(&index, of, &ALL).await, ["text"]);
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    // The file and its log by the writer and by a reader, and the memory they share.
    assert!(open_files(&folder) <= 3 * 5, "{}", open_files(&folder));
    for of in &collections {
        assert_eq!(texts(&index, of, &ALL).await, ["text"]);
    }
    let logs = fs::read_dir(folder.path().join("vectors")).unwrap().filter_map(Result::ok);
    let logs = logs.filter(|file| file.file_name().to_string_lossy().ends_with("-wal"));
    assert!(logs.count() <= 3, "a closed collection has no log");

    let tight = Limits { bytes: 1, idle: Duration::ZERO, ..Limits::default() };
    let folder = TempDir::new().unwrap();
    let index = Embedded::open_within(folder.path().join("vectors"), model(48), tight).unwrap();
    for of in &collections {
        index.put(of, vec![entry("text").with(leaning(&index, 0.5))]).await.unwrap();
        assert_eq!(texts(&index, of, &ALL).await, ["text"]);
    }
    index.tidy().await.unwrap();
    assert_eq!(open_files(&folder), 0);
    assert_eq!(texts(&index, &collections[0], &ALL).await, ["text"]);
}

/// Many who ask at once for what is closed, while it is closed again and again.
#[tokio::test(flavor = "multi_thread")]
async fn closing_disturbs_nobody() {
    let folder = TempDir::new().unwrap();
    let limits = Limits { collections: 1, idle: Duration::ZERO, ..Limits::default() };
    let index = Embedded::open_within(folder.path().join("vectors"), model(48), limits).unwrap();
    let collections: Vec<Collection> = (0..5).map(|_| fresh("agent")).collect();
    futures_util::future::join_all((0..100_usize).map(|number| {
        let (index, of) = (&index, &collections[number % 5]);
        async move {
            let text = number.to_string();
            index.put(of, vec![entry(&text).with(leaning(index, 0.5))]).await.unwrap();
            assert!(texts(index, of, &ALL).await.contains(&text));
            index.tidy().await.unwrap();
        }
    }))
    .await;
    for of in &collections {
        assert_eq!(index.count(of).await.unwrap(), 20);
    }
    index.tidy().await.unwrap();
    assert_eq!(open_files(&folder), 0);
}

/// A vector of nothing is far from everything, and harms nobody.
#[tokio::test]
async fn a_vector_of_nothing_is_near_to_nothing() {
    let (index, _folder) = embedded();
    let of = fresh("agent");
    let nothing = vec![0.0; 48];
    let entries =
        vec![entry("nothing").with(nothing.clone()), entry("a").with(leaning(&index, 0.5))];
    index.put(&of, entries).await.unwrap();
    assert_eq!(texts(&index, &of, &ALL).await, ["a", "nothing"]);
    let hits = index.search(&of, &nothing, &ALL, 10).await.unwrap();
    assert_eq!(hits.len(), 2);
    assert!(hits.iter().all(|hit| hit.score == 0.0));
}

/// CS-3.1: of the ten that are truly nearest, at most one in a hundred is missed, with and without filters.
#[tokio::test(flavor = "multi_thread")]
async fn nearly_all_of_the_nearest_are_found() {
    const ROWS: u64 = 20_000;
    const DIMENSIONS: usize = 128;
    let folder = TempDir::new().unwrap();
    let index = Embedded::open(folder.path().join("vectors"), model(DIMENSIONS)).unwrap();
    let of = fresh("agent");
    let mut dice = Dice(9);
    let centres: Vec<Vec<f32>> = (0..200).map(|_| dice.direction(DIMENSIONS)).collect();
    let near_a_centre = |dice: &mut Dice| {
        let centre = &centres[usize::try_from(dice.below(200)).unwrap()];
        let spread = dice.direction(DIMENSIONS);
        unit(centre.iter().zip(spread).map(|(centre, aside)| centre + 0.8 * aside).collect())
    };
    let entries: Vec<Entry> = (0..ROWS)
        .map(|number| {
            let moment = at(i64::try_from(number).unwrap());
            entry("").with(near_a_centre(&mut dice)).facts(|facts| {
                facts.kind = Kind::ALL[usize::try_from(number % 4).unwrap()];
                facts.success = number % 3 == 0;
                facts.timestamp = moment;
            })
        })
        .collect();
    for some in entries.chunks(2_000) {
        index.put(&of, some.to_vec()).await.unwrap();
    }
    let recent = Filter { from: Some(at(14_000)), success: Some(true), ..ALL };
    for filter in [ALL, Filter { kind: Some(Kind::ToolCall), ..ALL }, recent] {
        let (mut found, mut wanted) = (0, 0);
        for _ in 0..50 {
            let query = near_a_centre(&mut dice);
            let mut exact: Vec<(f32, &Entry)> = entries
                .iter()
                .filter(|entry| filter.admits(&entry.interaction.metadata))
                .map(|entry| (dot(entry.vector.as_ref().unwrap(), &query), entry))
                .collect();
            exact.sort_by(|a, b| b.0.total_cmp(&a.0));
            let hits = index.search(&of, &query, &filter, 10).await.unwrap();
            assert!(hits.iter().all(|hit| filter.admits(&hit.interaction.metadata)));
            let near = |hit: &_| exact[..10].iter().any(|(_, entry)| entry.interaction == *hit);
            found += hits.iter().filter(|hit| near(&hit.interaction)).count();
            wanted += 10;
        }
        assert!(found * 100 >= wanted * 99, "{found} of {wanted}");
    }
}

/// CS-8.2, CS-8.3: two tenants with the same texts and vectors, 10,000 searches in turns: no foreign hit.
#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_searches_find_nothing_foreign() {
    let (index, _folder) = embedded();
    let tenants = [fresh("agent"), fresh("agent")];
    let mut own = Vec::new();
    for of in &tenants {
        let mut dice = Dice(7);
        let same = |number| entry(&format!("secret {number}")).with(dice.direction(48));
        let entries: Vec<Entry> = (0..300).map(same).collect();
        own.push(entries.iter().map(|entry| entry.interaction.id).collect::<Vec<_>>());
        index.put(of, entries).await.unwrap();
    }
    let mut dice = Dice(8);
    for number in 0..10_000 {
        let tenant = number % 2;
        let hits = index.search(&tenants[tenant], &dice.direction(48), &ALL, 5).await.unwrap();
        assert_eq!(hits.len(), 5);
        assert!(hits.iter().all(|hit| own[tenant].contains(&hit.interaction.id)), "{number}");
    }
}
