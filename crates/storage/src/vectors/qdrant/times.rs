//! Entries in the order of their time: the newest to show, the oldest to cut off.
//!
//! Qdrant orders those of one moment as it likes, so they are read all together and put in order here, by their ids.

use std::cmp::Reverse;

use artel_domain::memory::{Filter, Interaction};
use artel_domain::{InteractionId, Timestamp};
use qdrant_client::qdrant::value::Kind as ValueKind;
use qdrant_client::qdrant::{Condition, Direction, OrderBy, RetrievedPoint, ScrollPoints};

use super::super::Spot;
use super::Qdrant;
use super::home::{self, Home};
use super::link::{Answer, Failure};

/// How many of the oldest are cut off at a time.
const SLICE: u64 = 1_000;

impl Qdrant {
    /// The newest before a place in time, the newest first.
    pub(super) async fn newest_at(
        &self,
        home: &Home,
        filter: &Filter,
        before: Option<Spot>,
        limit: usize,
    ) -> Answer<Vec<Interaction>> {
        let (mut ids, mut filter) = (Vec::new(), *filter);
        if let Some(Spot { moment, id }) = before {
            ids = self.ids_of_moment(home, &home.admitted(&filter), moment).await?;
            ids.retain(|it| *it < id);
            ids.sort_unstable_by_key(|id| Reverse(*id));
            let earlier = Timestamp::from_micros(moment.as_micros().saturating_sub(1));
            filter.to = Some(filter.to.map_or(earlier, |to| to.min(earlier)));
        }
        if ids.len() < limit {
            let must = home.admitted(&filter);
            let newest = self.in_time(home, &must, Direction::Desc, limit as u64).await?;
            let (sure, mut tied) = self.with_ties(home, &must, &newest).await?;
            tied.sort_unstable_by_key(|id| Reverse(*id));
            ids.extend(sure.into_iter().chain(tied));
        }
        ids.truncate(limit);
        let mut found = self.get_at(home, &ids).await?;
        found.sort_unstable_by_key(|it| Reverse(Spot::of(it)));
        Ok(found)
    }

    /// Deletes the oldest, in slices. Among entries of one moment the lower ids are the older ones.
    pub(super) async fn trim_at(&self, home: &Home, keep: u64) -> Answer<u64> {
        let all = home.admitted(&Filter::default());
        let total = self.count_at(home, home::all_of(all.clone())).await?;
        let mut surplus = total.saturating_sub(keep);
        let mut trimmed = 0;
        while surplus > 0 {
            let slice = surplus.min(SLICE);
            let oldest = self.in_time(home, &all, Direction::Asc, slice).await?;
            let (mut cut, mut tied) = self.with_ties(home, &all, &oldest).await?;
            // Somebody else deletes, too.
            if tied.is_empty() {
                break;
            }
            tied.sort_unstable();
            let room = surplus.saturating_sub(cut.len() as u64);
            tied.truncate(usize::try_from(room).unwrap_or(usize::MAX));
            cut.append(&mut tied);
            for load in cut.chunks(super::LARGEST_LOAD) {
                trimmed += self.forget_at(home, load).await?;
            }
            surplus = surplus.saturating_sub(cut.len() as u64);
        }
        Ok(trimmed)
    }

    /// The ids of points that are in the order of their time, and beside them those of everything that has the moment
    /// of the last one: of these the points may hold any.
    async fn with_ties(
        &self,
        home: &Home,
        must: &[Condition],
        points: &[RetrievedPoint],
    ) -> Answer<(Vec<InteractionId>, Vec<InteractionId>)> {
        let Some(last) = points.last().and_then(moment) else { return Ok(Default::default()) };
        let sure = points.iter().filter(|point| moment(point).is_some_and(|at| at != last));
        let sure = sure.map(|point| id_of(home, point)).collect::<Answer<_>>()?;
        Ok((sure, self.ids_of_moment(home, must, last).await?))
    }

    async fn ids_of_moment(
        &self,
        home: &Home,
        must: &[Condition],
        moment: Timestamp,
    ) -> Answer<Vec<InteractionId>> {
        let mut must = must.to_vec();
        must.push(home::between(Some(moment), Some(moment)));
        let (mut ids, mut start) = (Vec::new(), None);
        loop {
            let filter = home::all_of(must.clone());
            let (points, next) =
                self.scroll_at(home, filter, start, super::LARGEST_LOAD, false).await?;
            for point in &points {
                ids.push(id_of(home, point)?);
            }
            if next.is_none() {
                return Ok(ids);
            }
            start = next;
        }
    }

    pub(super) async fn first_in_time(
        &self,
        home: &Home,
        must: &[Condition],
        direction: Direction,
    ) -> Answer<Option<Timestamp>> {
        Ok(self.in_time(home, must, direction, 1).await?.first().and_then(moment))
    }

    /// The first of them by their time.
    async fn in_time(
        &self,
        home: &Home,
        must: &[Condition],
        direction: Direction,
        limit: u64,
    ) -> Answer<Vec<RetrievedPoint>> {
        let order = OrderBy {
            key: home::TIMESTAMP.to_owned(),
            direction: Some(direction.into()),
            start_from: None,
        };
        let question = ScrollPoints {
            collection_name: home.collection.clone(),
            filter: Some(home::all_of(must.to_vec())),
            limit: Some(u32::try_from(limit).unwrap_or(u32::MAX)),
            with_payload: Some(vec![home::ID, home::TIMESTAMP].into()),
            with_vectors: Some(false.into()),
            order_by: Some(order),
            ..Default::default()
        };
        Ok(self.link.scroll(question).await?.result)
    }
}

fn moment(point: &RetrievedPoint) -> Option<Timestamp> {
    match point.payload.get(home::TIMESTAMP)?.kind {
        Some(ValueKind::IntegerValue(micros)) => Some(Timestamp::from_micros(micros)),
        _ => None,
    }
}

fn id_of(home: &Home, point: &RetrievedPoint) -> Answer<InteractionId> {
    let id = match point.payload.get(home::ID).and_then(|value| value.kind.as_ref()) {
        Some(ValueKind::StringValue(id)) => id.parse().ok(),
        _ => None,
    };
    id.ok_or_else(|| Failure::Other(home.damaged("a point without an id".to_owned())))
}
