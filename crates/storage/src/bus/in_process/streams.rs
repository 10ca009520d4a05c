//! Streams and the groups that read them, in memory.
//!
//! Ids count over the whole bus, so that they go on growing when a stream is dropped and made again. There are at
//! most [`MOST_STREAMS`] streams and [`MOST_GROUPS`] groups on one; when one more is needed the least recently used
//! goes, empty streams before others, and never a stream that somebody waits on. What is trimmed is pending no more,
//! as with Redis. The consumer's name plays no part: an entry that was handed out is pending, whoever had it.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::bus::Entry;
use crate::bus::id::Id;

const MOST_STREAMS: usize = 4_096;
const MOST_GROUPS: usize = 64;
const START: Id = Id { major: 0, minor: 0 };

#[derive(Debug, Default)]
pub(super) struct Streams {
    by_name: HashMap<String, Stream>,
    last_id: u64,
    /// Counts uses: what has the smallest number was used longest ago.
    uses: u64,
}

#[derive(Debug, Default)]
struct Stream {
    entries: VecDeque<Stored>,
    groups: HashMap<String, Group>,
    /// Rung when an entry is appended. Whoever waits holds a clone.
    bell: Arc<Notify>,
    used: u64,
}

#[derive(Debug)]
struct Stored {
    id: Id,
    fields: Vec<(String, Bytes)>,
}

#[derive(Debug)]
struct Group {
    /// Everything up to here was handed out.
    until: Id,
    pending: BTreeMap<Id, Pending>,
    used: u64,
}

#[derive(Debug)]
struct Pending {
    since: Instant,
    deliveries: u64,
}

impl Streams {
    pub(super) fn append(&mut self, name: &str, fields: &[(&str, &[u8])], keep: usize) -> Id {
        self.last_id += 1;
        let id = Id { major: self.last_id, minor: 0 };
        let fields = fields
            .iter()
            .map(|&(name, value)| (name.to_owned(), Bytes::copy_from_slice(value)))
            .collect();
        let stream = self.open(name);
        stream.entries.push_back(Stored { id, fields });
        stream.trim(keep.max(1));
        stream.bell.notify_waiters();
        id
    }

    /// What rings when the stream grows; makes the stream, and keeps it while somebody holds the bell.
    pub(super) fn bell(&mut self, name: &str) -> Arc<Notify> {
        Arc::clone(&self.open(name).bell)
    }

    pub(super) fn read(&mut self, name: &str, after: Id, limit: usize) -> Vec<Entry> {
        self.find(name).map_or_else(Vec::new, |stream| {
            newer(&stream.entries, after).take(limit).map(|stored| stored.entry(0)).collect()
        })
    }

    pub(super) fn take(&mut self, name: &str, group: &str, limit: usize) -> Vec<Entry> {
        let since = Instant::now();
        let stream = self.open(name);
        stream.open_group(group);
        let Some(group) = stream.groups.get_mut(group) else { return Vec::new() };
        let mut taken = Vec::new();
        for stored in newer(&stream.entries, group.until).take(limit) {
            group.until = stored.id;
            group.pending.insert(stored.id, Pending { since, deliveries: 1 });
            taken.push(stored.entry(0));
        }
        taken
    }

    pub(super) fn claim(
        &mut self,
        name: &str,
        group: &str,
        idle: Duration,
        limit: usize,
    ) -> Vec<Entry> {
        let now = Instant::now();
        let Some(stream) = self.find(name) else { return Vec::new() };
        let Some(group) = stream.groups.get_mut(group) else { return Vec::new() };
        group.used = stream.used;
        let mut claimed = Vec::new();
        let waiting = group.pending.iter_mut();
        for (id, pending) in waiting.filter(|(_, pending)| now - pending.since >= idle).take(limit)
        {
            let Ok(place) = stream.entries.binary_search_by_key(id, |stored| stored.id) else {
                continue;
            };
            claimed.push(stream.entries[place].entry(pending.deliveries));
            *pending = Pending { since: now, deliveries: pending.deliveries + 1 };
        }
        claimed
    }

    pub(super) fn acknowledge(&mut self, name: &str, group: &str, ids: &[Id]) {
        let Some(stream) = self.find(name) else { return };
        let Some(group) = stream.groups.get_mut(group) else { return };
        group.used = stream.used;
        for id in ids {
            group.pending.remove(id);
        }
    }

    fn find(&mut self, name: &str) -> Option<&mut Stream> {
        self.uses += 1;
        let stream = self.by_name.get_mut(name)?;
        stream.used = self.uses;
        Some(stream)
    }

    fn open(&mut self, name: &str) -> &mut Stream {
        if !self.by_name.contains_key(name) && self.by_name.len() >= MOST_STREAMS {
            self.drop_one();
        }
        self.uses += 1;
        let stream = self.by_name.entry(name.to_owned()).or_default();
        stream.used = self.uses;
        stream
    }

    fn drop_one(&mut self) {
        let idle = self.by_name.iter().filter(|(_, stream)| Arc::strong_count(&stream.bell) == 1);
        let oldest = idle.min_by_key(|(_, stream)| (!stream.is_bare(), stream.used));
        if let Some(name) = oldest.map(|(name, _)| name.clone())
            && let Some(stream) = self.by_name.remove(&name)
            && !stream.is_bare()
        {
            tracing::warn!(stream = name, "too many streams, the least recently used was dropped");
        }
    }
}

impl Stream {
    fn is_bare(&self) -> bool {
        self.entries.is_empty() && self.groups.is_empty()
    }

    fn trim(&mut self, keep: usize) {
        while self.entries.len() > keep
            && let Some(gone) = self.entries.pop_front()
        {
            for group in self.groups.values_mut() {
                group.pending.remove(&gone.id);
            }
        }
    }

    fn open_group(&mut self, name: &str) {
        if !self.groups.contains_key(name) && self.groups.len() >= MOST_GROUPS {
            let oldest = self.groups.iter().min_by_key(|(_, group)| group.used);
            if let Some(name) = oldest.map(|(name, _)| name.clone()) {
                tracing::warn!(
                    group = name,
                    "too many groups, the least recently used was dropped"
                );
                self.groups.remove(&name);
            }
        }
        let fresh = || Group { until: START, pending: BTreeMap::new(), used: 0 };
        self.groups.entry(name.to_owned()).or_insert_with(fresh).used = self.used;
    }
}

impl Stored {
    fn entry(&self, deliveries: u64) -> Entry {
        Entry { id: self.id.to_string(), fields: self.fields.clone(), deliveries }
    }
}

fn newer(entries: &VecDeque<Stored>, after: Id) -> impl Iterator<Item = &Stored> {
    entries.range(entries.partition_point(|stored| stored.id <= after)..)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(streams: &mut Streams, name: &str) {
        streams.append(name, &[("n", b"1")], 10);
    }

    #[test]
    fn of_too_many_streams_the_least_used_goes() {
        let mut streams = Streams::default();
        for number in 0..MOST_STREAMS - 2 {
            filled(&mut streams, &number.to_string());
        }
        let waiting = streams.bell("waited for");
        drop(streams.bell("empty"));
        assert_eq!(streams.read("0", START, 1).len(), 1);

        filled(&mut streams, "one too many");
        assert!(!streams.by_name.contains_key("empty"));
        filled(&mut streams, "two too many");
        assert!(!streams.by_name.contains_key("1"), "0 was read just now");
        assert!(streams.by_name.contains_key("0"));
        assert!(streams.by_name.contains_key("waited for"));
        assert_eq!(streams.by_name.len(), MOST_STREAMS);
        drop(waiting);
    }

    #[test]
    fn of_too_many_groups_the_least_used_goes() {
        let mut streams = Streams::default();
        filled(&mut streams, "s");
        for number in 0..=MOST_GROUPS {
            assert_eq!(streams.take("s", &number.to_string(), 1).len(), 1);
        }
        assert_eq!(streams.by_name["s"].groups.len(), MOST_GROUPS);
        assert_eq!(streams.take("s", "0", 1).len(), 1, "made anew, it starts at the beginning");
    }

    #[test]
    fn what_is_trimmed_is_pending_no_more() {
        let mut streams = Streams::default();
        for _ in 0..3 {
            filled(&mut streams, "s");
        }
        assert_eq!(streams.take("s", "g", 10).len(), 3);
        streams.append("s", &[("n", b"2")], 2);
        assert_eq!(streams.by_name["s"].groups["g"].pending.len(), 1);
        assert_eq!(streams.claim("s", "g", Duration::ZERO, 10).len(), 1);
    }

    #[test]
    fn ids_grow_on_when_a_stream_is_made_again() {
        let mut streams = Streams::default();
        let before = streams.append("s", &[("n", b"1")], 10);
        streams.by_name.clear();
        assert!(streams.append("s", &[("n", b"1")], 10) > before);
    }
}
