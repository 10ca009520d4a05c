//! Figures of a collection.
//!
//! Qdrant counts; nothing is read here that could be counted there. The counts are taken side by side, so while
//! somebody writes they may differ by what was written.

use artel_domain::memory::{Filter, Kind};
use qdrant_client::qdrant::facet_value::Variant;
use qdrant_client::qdrant::value::Kind as ValueKind;
use qdrant_client::qdrant::{Condition, Direction, FacetCounts, RetrievedPoint};

use super::super::{Figures, Tally};
use super::Qdrant;
use super::home::{self, Home};
use super::link::Answer;

/// More days than anybody has.
const MOST_DAYS: u64 = 100_000;
/// How many entries the size of the others is guessed from.
const SAMPLE: usize = 64;
/// What Qdrant keeps of a point besides its vector and its text: ids, versions, indexes. A guess.
const BESIDES: u64 = 256;

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
