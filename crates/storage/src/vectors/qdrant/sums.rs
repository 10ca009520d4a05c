//! Figures of a collection, and the cut that keeps its newest entries.
//!
//! Qdrant counts; nothing is read here that could be counted there. The counts are taken side by side, so while
//! somebody writes they may differ by what was written.

use artel_domain::memory::{Filter, Kind};
use artel_domain::{InteractionId, Timestamp};
use qdrant_client::qdrant::facet_value::Variant;
use qdrant_client::qdrant::value::Kind as ValueKind;
use qdrant_client::qdrant::{
    Condition, Direction, FacetCounts, OrderBy, RetrievedPoint, ScrollPoints,
};

use super::super::{Figures, Tally};
use super::Qdrant;
use super::home::{self, Home};
use super::link::{Answer, Failure};

/// More days than anybody has.
const MOST_DAYS: u64 = 100_000;
/// How many entries the size of the others is guessed from.
const SAMPLE: usize = 64;
/// What Qdrant keeps of a point besides its vector and its text: ids, versions, indexes. A guess.
const BESIDES: u64 = 256;
/// How many of the oldest are cut off at a time.
const SLICE: u64 = 1_000;

impl Qdrant {
    /// `bytes` is an estimate: Qdrant does not say what a collection takes. It is the number of entries times the
    /// size of a vector and of the mean entry of a sample.
    pub(super) async fn figures_at(&self, home: &Home, filter: &Filter) -> Answer<Figures> {
        let all = home.admitted(filter);
        let mut good = all.clone();
        good.push(Condition::matches(home::SUCCESS, true));
        let (total, successes, waiting, oldest, newest, bytes) = tokio::try_join!(
            self.count_at(home, home::all_of(all.clone())),
            self.count_at(home, home::all_of(good.clone())),
            self.count_at(home, home::waiting_of(all.clone())),
            self.first_in_time(home, &all, Direction::Asc),
            self.first_in_time(home, &all, Direction::Desc),
            self.estimate(home),
        )?;
        let mut figures = Figures {
            tally: Tally { total, successes },
            waiting,
            oldest,
            newest,
            bytes,
            ..Figures::default()
        };
        let kinds = Kind::ALL.len() as u64;
        let (by_kind, good_by_kind, by_day, good_by_day) = tokio::try_join!(
            self.facet_at(home, home::KIND, &all, kinds),
            self.facet_at(home, home::KIND, &good, kinds),
            self.facet_at(home, home::DAY, &all, MOST_DAYS),
            self.facet_at(home, home::DAY, &good, MOST_DAYS),
        )?;
        let kind_of = |value: &Variant| match value {
            Variant::StringValue(word) => word.parse::<Kind>().ok(),
            Variant::IntegerValue(_) | Variant::BoolValue(_) => None,
        };
        for (value, count) in by_kind {
            if let Some(kind) = kind_of(&value) {
                figures.by_kind.entry(kind).or_default().total = count;
            }
        }
        for (value, count) in good_by_kind {
            if let Some(kind) = kind_of(&value) {
                figures.by_kind.entry(kind).or_default().successes = count;
            }
        }
        for (value, count) in by_day {
            if let Variant::IntegerValue(day) = value {
                figures.by_day.entry(day).or_default().total = count;
            }
        }
        for (value, count) in good_by_day {
            if let Variant::IntegerValue(day) = value {
                figures.by_day.entry(day).or_default().successes = count;
            }
        }
        Ok(figures)
    }

    /// Deletes the oldest, in slices. Among entries of one moment the lower ids are the older ones; Qdrant orders
    /// those as it likes, so they are read all together.
    pub(super) async fn trim_at(&self, home: &Home, keep: u64) -> Answer<u64> {
        let all = home.admitted(&Filter::default());
        let total = self.count_at(home, home::all_of(all.clone())).await?;
        let mut surplus = total.saturating_sub(keep);
        let mut trimmed = 0;
        while surplus > 0 {
            let slice = surplus.min(SLICE);
            let oldest = self.in_time(home, &all, Direction::Asc, slice).await?;
            // Somebody else deletes, too.
            let Some(last) = oldest.last().and_then(moment) else { break };
            let before = oldest.iter().filter(|point| moment(point).is_some_and(|at| at < last));
            let mut cut = before
                .map(|point| id_of(home, point))
                .collect::<Result<Vec<InteractionId>, Failure>>()?;
            let mut tied = self.ids_of_moment(home, &all, last).await?;
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

    async fn first_in_time(
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

    async fn facet_at(
        &self,
        home: &Home,
        key: &str,
        must: &[Condition],
        limit: u64,
    ) -> Answer<Vec<(Variant, u64)>> {
        let question = FacetCounts {
            collection_name: home.collection.clone(),
            key: key.to_owned(),
            filter: Some(home::all_of(must.to_vec())),
            limit: Some(limit),
            exact: Some(true),
            ..Default::default()
        };
        let hits = self.link.facet(question).await?.hits.into_iter().filter(|hit| hit.count > 0);
        let counted = hits.filter_map(|hit| Some((hit.value?.variant?, hit.count)));
        Ok(counted.collect())
    }

    async fn estimate(&self, home: &Home) -> Answer<u64> {
        let all = || home::all_of(home.admitted(&Filter::default()));
        let (count, sample) = tokio::try_join!(
            self.count_at(home, all()),
            self.scroll_at(home, all(), None, SAMPLE, false)
        )?;
        let sample = sample.0;
        if sample.is_empty() {
            return Ok(0);
        }
        let written: u64 = sample.iter().map(weight).sum();
        let vector = self.model.dimensions as u64 * size_of::<f32>() as u64;
        Ok(count * (vector + BESIDES + written / sample.len() as u64))
    }
}

fn weight(point: &RetrievedPoint) -> u64 {
    let words = point.payload.iter().map(|(key, value)| {
        let length = match &value.kind {
            Some(ValueKind::StringValue(text)) => text.len(),
            _ => size_of::<i64>(),
        };
        key.len() + length
    });
    words.sum::<usize>() as u64
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
