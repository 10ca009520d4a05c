//! Where Qdrant's own order is not the one that is promised.

use artel_domain::InteractionId;
use artel_domain::memory::Filter;
use artel_storage::vectors::{Entry, VectorIndex};

use super::Side;
use super::kit::{Changed, at, entry, fresh};

/// Ids whose first half is the same for all; the shared layout orders by that half only.
fn alike(number: u8) -> InteractionId {
    let mut id = [7; 16];
    id[15] = number.wrapping_mul(101);
    InteractionId::from_bytes(id)
}

pub(crate) async fn pages_are_in_order_among_ids_that_begin_alike(side: &Side) {
    let (index, of, other) = (side.node(), fresh("agent"), fresh("other"));
    let mut entries: Vec<Entry> = (0..50).map(|number| entry(&number.to_string())).collect();
    for (number, entry) in (0..40).zip(&mut entries) {
        entry.interaction.id = alike(number);
    }
    index.put(&of, entries.clone()).await.unwrap();
    index.put(&other, entries[..20].to_vec()).await.unwrap();
    let mut expected: Vec<InteractionId> =
        entries.iter().map(|entry| entry.interaction.id).collect();
    expected.sort_unstable();
    for limit in [1, 3, 39, 40, 41, 50, 100] {
        let (mut seen, mut after) = (Vec::new(), None);
        loop {
            let page = index.page(&of, &Filter::default(), after, limit, false).await.unwrap();
            assert!(page.len() <= limit);
            let Some(last) = page.last() else { break };
            after = Some(last.interaction.id);
            seen.extend(page.iter().map(|entry| entry.interaction.id));
        }
        assert_eq!(seen, expected, "in pages of {limit}");
    }
}

/// CS-4.3: of entries of one moment exactly so many stay, and those with the higher ids.
pub(crate) async fn entries_of_one_moment_are_trimmed_exactly(side: &Side) {
    let (index, of) = (side.node(), fresh("agent"));
    let mut entries: Vec<Entry> = (0..40).map(|number| entry(&number.to_string())).collect();
    for (number, entry) in (0..40).zip(&mut entries) {
        entry.interaction.id = alike(number);
    }
    entries[0].interaction.metadata.timestamp = at(1);
    entries[1].interaction.metadata.timestamp = at(-1);
    index.put(&of, entries.clone()).await.unwrap();
    entries.sort_by_key(|entry| (entry.interaction.metadata.timestamp, entry.interaction.id));
    for keep in [39, 30, 2, 1] {
        let surplus = entries.len() - keep;
        assert_eq!(index.trim(&of, keep as u64).await.unwrap(), surplus as u64);
        entries.drain(..surplus);
        let page = index.page(&of, &Filter::default(), None, 100, false).await.unwrap();
        let mut left: Vec<InteractionId> = page.iter().map(|entry| entry.interaction.id).collect();
        let mut expected: Vec<InteractionId> =
            entries.iter().map(|entry| entry.interaction.id).collect();
        left.sort_unstable();
        expected.sort_unstable();
        assert_eq!(left, expected);
    }
}

pub(crate) async fn many_entries_are_trimmed_in_slices(side: &Side) {
    let (index, of) = (side.node(), fresh("agent"));
    let entries: Vec<Entry> = (0..2_500_i64)
        .map(|number| {
            let moment = at(number / 3);
            entry(&number.to_string()).facts(|facts| facts.timestamp = moment)
        })
        .collect();
    index.put(&of, entries).await.unwrap();
    assert_eq!(index.trim(&of, 10).await.unwrap(), 2_490);
    assert_eq!(index.count(&of).await.unwrap(), 10);
    let figures = index.figures(&of, &Filter::default()).await.unwrap();
    assert_eq!(figures.oldest, Some(at(830)));
}
