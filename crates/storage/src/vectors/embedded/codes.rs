//! What a search reads of a collection: for each vector a code of one bit a component, and the facts that filters
//! ask for. It is a copy of the table `codes`, held while the collection is open.
//!
//! Rows are in the order of their numbers and in segments, so that a row is found by bisection, growing copies
//! little, and a change holds up searches only for a moment. A row that goes is marked; its segment is written anew
//! when too many of it are.

use artel_domain::memory::{Facts, Filter, Kind};

use super::rotation::Rotation;
use super::scan::{self, BLOCK, Block, Query};

/// Rows of a segment.
const SEGMENT: usize = 4_096;
/// Collections larger than this are searched on two threads.
const LARGE: usize = 50_000;
/// No row has this flag unless it is gone.
const GONE: u8 = 0b1000_0000;
const SUCCESS: u8 = 0b100;
const KIND: u8 = 0b11;

/// The vector of one row, as it is scanned.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Code {
    pub(super) row: i64,
    pub(super) moment: i64,
    pub(super) flags: u8,
    /// Makes an estimate of the inner product of the signs with a query.
    pub(super) factor: f32,
    pub(super) blocks: Vec<Block>,
}

pub(super) fn flags(facts: &Facts) -> u8 {
    kind_number(facts.kind) | if facts.success { SUCCESS } else { 0 }
}

/// The number of a kind in the files. It must never change.
pub(super) const fn kind_number(kind: Kind) -> u8 {
    match kind {
        Kind::TaskExecution => 0,
        Kind::ToolCall => 1,
        Kind::UserMessage => 2,
        Kind::AgentResponse => 3,
    }
}

/// The signs of the turned vector, and the factor ‖r‖²/‖r‖₁.
pub(super) fn encoded(rotation: &Rotation, vector: &[f32]) -> (f32, Vec<Block>) {
    let turned = rotation.turned(vector);
    let mut blocks = vec![Block::default(); turned.len().div_ceil(BLOCK)];
    for (place, component) in turned.iter().enumerate() {
        if *component > 0.0 {
            set(&mut blocks[place / BLOCK], place);
        }
    }
    let (mut square, mut absolute) = (0.0_f32, 0.0_f32);
    for component in &turned {
        square += component * component;
        absolute += component.abs();
    }
    // A vector of nothing is far from everything rather than not a number.
    (if absolute > 0.0 { square / absolute } else { 0.0 }, blocks)
}

/// The query in four bits a component.
pub(super) fn asked(rotation: &Rotation, vector: &[f32]) -> Query {
    const LEVELS: f32 = 15.0;
    let turned = rotation.turned(vector);
    let low = turned.iter().copied().fold(f32::INFINITY, f32::min);
    let high = turned.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let step = if high > low { (high - low) / LEVELS } else { 1.0 };
    let mut planes = vec![[Block::default(); 4]; turned.len().div_ceil(BLOCK)];
    for (place, component) in turned.iter().enumerate() {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 15")]
        let level = ((component - low) / step).round().clamp(0.0, LEVELS) as u8;
        for (bit, plane) in planes[place / BLOCK].iter_mut().enumerate() {
            if level >> bit & 1 == 1 {
                set(plane, place);
            }
        }
    }
    // With b the bits of a code, its signs are 2b − 1, and a component of the query is low + step·level.
    Query { planes, step: 2.0 * step, base: 2.0 * low, rest: turned.iter().sum() }
}

fn set(block: &mut Block, place: usize) {
    block.0[place % BLOCK / 64] |= 1 << (place % 64);
}

/// Which rows a search may look at.
#[derive(Debug)]
struct Admitted<'a> {
    mask: u8,
    flags: u8,
    from: i64,
    to: i64,
    /// When these alone count; in order.
    rows: Option<&'a [i64]>,
}

impl<'a> Admitted<'a> {
    fn new(filter: &Filter, rows: Option<&'a [i64]>) -> Self {
        let (mut mask, mut flags) = (GONE, 0);
        if let Some(kind) = filter.kind {
            mask |= KIND;
            flags |= kind_number(kind);
        }
        if let Some(success) = filter.success {
            mask |= SUCCESS;
            flags |= if success { SUCCESS } else { 0 };
        }
        let from = filter.from.map_or(i64::MIN, artel_domain::Timestamp::as_micros);
        let to = filter.to.map_or(i64::MAX, artel_domain::Timestamp::as_micros);
        Self { mask, flags, from, to, rows }
    }

    /// Whether it admits every row that is not gone.
    fn all(&self) -> bool {
        self.mask == GONE && self.from == i64::MIN && self.to == i64::MAX && self.rows.is_none()
    }
}

#[derive(Debug, Default)]
struct Segment {
    rows: Vec<i64>,
    moments: Vec<i64>,
    flags: Vec<u8>,
    factors: Vec<f32>,
    blocks: Vec<Block>,
    gone: usize,
}

impl Segment {
    fn live(&self) -> usize {
        self.rows.len() - self.gone
    }

    fn push(&mut self, code: &Code) {
        self.rows.push(code.row);
        self.moments.push(code.moment);
        self.flags.push(code.flags);
        self.factors.push(code.factor);
        self.blocks.extend_from_slice(&code.blocks);
    }

    fn write(&mut self, place: usize, code: &Code) {
        if self.flags[place] & GONE != 0 {
            self.gone -= 1;
        }
        self.moments[place] = code.moment;
        self.flags[place] = code.flags;
        self.factors[place] = code.factor;
        let length = code.blocks.len();
        self.blocks[place * length..(place + 1) * length].copy_from_slice(&code.blocks);
    }

    /// Writes the segment anew without what is gone.
    fn compact(&mut self, length: usize) {
        let mut kept = Self::default();
        for place in 0..self.rows.len() {
            if self.flags[place] & GONE == 0 {
                kept.rows.push(self.rows[place]);
                kept.moments.push(self.moments[place]);
                kept.flags.push(self.flags[place]);
                kept.factors.push(self.factors[place]);
                kept.blocks.extend_from_slice(&self.blocks[place * length..(place + 1) * length]);
            }
        }
        *self = kept;
    }

    /// The places of the rows that are admitted.
    fn pick(&self, admitted: &Admitted<'_>, places: &mut Vec<u32>) {
        places.clear();
        let passes = |place: usize| {
            let moment = self.moments[place];
            self.flags[place] & admitted.mask == admitted.flags
                && admitted.from <= moment
                && moment <= admitted.to
        };
        match admitted.rows {
            None => {
                // Without a branch: filters are as hard to foresee as what they filter.
                places.resize(self.rows.len(), 0);
                let mut count = 0;
                for place in 0..self.rows.len() {
                    places[count] = narrow(place);
                    count += usize::from(passes(place));
                }
                places.truncate(count);
            }
            Some(rows) => {
                let first = self.rows.first().copied().unwrap_or(i64::MAX);
                let last = self.rows.last().copied().unwrap_or(i64::MIN);
                let rows = &rows[rows.partition_point(|row| *row < first)..];
                for row in rows.iter().take_while(|row| **row <= last) {
                    if let Ok(place) = self.rows.binary_search(row)
                        && passes(place)
                    {
                        places.push(narrow(place));
                    }
                }
            }
        }
    }
}

fn narrow(place: usize) -> u32 {
    u32::try_from(place).expect("a segment is small")
}

/// The codes of a collection.
#[derive(Debug)]
pub(super) struct Codes {
    /// Blocks of a code.
    length: usize,
    segments: Vec<Segment>,
    live: usize,
    last: i64,
}

impl Codes {
    pub(super) fn new(dimensions: usize) -> Self {
        Self { length: dimensions.div_ceil(BLOCK), segments: Vec::new(), live: 0, last: 0 }
    }

    /// A code to read into.
    pub(super) fn no_code(dimensions: usize) -> Vec<Block> {
        vec![Block::default(); dimensions.div_ceil(BLOCK)]
    }

    /// How many vectors there are.
    pub(super) fn len(&self) -> usize {
        self.live
    }

    /// The highest number that a row ever had: whoever holds one finds the same row under it, or none.
    pub(super) fn last_row(&self) -> i64 {
        self.last
    }

    /// What it takes of the machine's memory.
    pub(super) fn bytes(&self) -> usize {
        let each = size_of::<Block>() * self.length + 2 * size_of::<i64>() + size_of::<f32>() + 1;
        self.segments.iter().map(|segment| segment.rows.capacity() * each).sum()
    }

    /// Writes over the row of this number, or adds it when it is higher than any.
    pub(super) fn put(&mut self, code: &Code) {
        debug_assert_eq!(code.blocks.len(), self.length, "a code fits its collection");
        if let Some((segment, place)) = self.find(code.row) {
            let before = self.segments[segment].live();
            self.segments[segment].write(place, code);
            self.live += self.segments[segment].live() - before;
            return;
        }
        debug_assert!(code.row > self.last_row(), "rows are numbered in order");
        if self.segments.last().is_none_or(|segment| segment.rows.len() >= SEGMENT) {
            self.segments.push(Segment::default());
        }
        if let Some(segment) = self.segments.last_mut() {
            segment.push(code);
            self.live += 1;
            self.last = code.row;
        }
    }

    pub(super) fn remove(&mut self, row: i64) {
        let Some((number, place)) = self.find(row) else { return };
        let segment = &mut self.segments[number];
        if segment.flags[place] & GONE != 0 {
            return;
        }
        segment.flags[place] |= GONE;
        segment.gone += 1;
        self.live -= 1;
        if segment.live() == 0 {
            self.segments.remove(number);
        } else if segment.gone > SEGMENT / 4 {
            segment.compact(self.length);
        }
    }

    fn find(&self, row: i64) -> Option<(usize, usize)> {
        let after = self.segments.partition_point(|segment| segment.rows[0] <= row);
        let number = after.checked_sub(1)?;
        let place = self.segments[number].rows.binary_search(&row).ok()?;
        Some((number, place))
    }

    /// The rows that are admitted and, by estimate, the nearest to the query: `most` of them, the best first.
    pub(super) fn nearest(
        &self,
        query: &Query,
        filter: &Filter,
        rows: Option<&[i64]>,
        most: usize,
    ) -> Vec<(f32, i64)> {
        let admitted = Admitted::new(filter, rows);
        let mut best = if self.live > LARGE && rows.is_none() {
            let (front, back) = self.segments.split_at(self.segments.len() / 2);
            std::thread::scope(|scope| {
                let beside = scope.spawn(|| best_of(front, query, &admitted, most));
                let mut best = best_of(back, query, &admitted, most);
                match beside.join() {
                    Ok(more) => more.kept.into_iter().for_each(|(one, row)| best.offer(one, row)),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
                best
            })
        } else {
            best_of(&self.segments, query, &admitted, most)
        };
        best.cut();
        best.kept.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        best.kept
    }
}

fn best_of(segments: &[Segment], query: &Query, admitted: &Admitted<'_>, most: usize) -> Best {
    let mut best = Best::new(most);
    let (mut places, mut estimates) = (Vec::new(), Vec::new());
    for segment in segments {
        let codes = scan::Codes { blocks: &segment.blocks, factors: &segment.factors };
        if admitted.all() && segment.gone == 0 {
            estimates.resize(segment.rows.len(), 0.0);
            scan::estimate_all(codes, query, &mut estimates);
            for (estimate, row) in estimates.iter().zip(&segment.rows) {
                best.offer(*estimate, *row);
            }
        } else {
            segment.pick(admitted, &mut places);
            estimates.resize(places.len(), 0.0);
            scan::estimate_some(codes, query, &places, &mut estimates);
            for (estimate, place) in estimates.iter().zip(&places) {
                best.offer(*estimate, segment.rows[*place as usize]);
            }
        }
    }
    best
}

/// The best so far. It is cut to them whenever twice as many have come, and what is worse than them is not taken.
#[derive(Debug)]
struct Best {
    most: usize,
    kept: Vec<(f32, i64)>,
    least: f32,
}

impl Best {
    fn new(most: usize) -> Self {
        Self { most, kept: Vec::with_capacity(2 * most), least: f32::NEG_INFINITY }
    }

    #[inline]
    fn offer(&mut self, estimate: f32, row: i64) {
        if estimate >= self.least {
            self.kept.push((estimate, row));
            if self.kept.len() == 2 * self.most {
                self.cut();
            }
        }
    }

    fn cut(&mut self) {
        if self.kept.len() > self.most {
            self.kept.select_nth_unstable_by(self.most - 1, |a, b| b.0.total_cmp(&a.0));
            self.kept.truncate(self.most);
            self.least = self.kept.last().map_or(f32::NEG_INFINITY, |(estimate, _)| *estimate);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(row: i64) -> Code {
        let vector: Vec<f32> =
            (0..16).map(|place| if place == row % 16 { 1.0 } else { 0.1 }).collect();
        let (factor, blocks) = encoded(&Rotation::new(16), &vector);
        Code { row, moment: row, flags: 0, factor, blocks }
    }

    fn rows(codes: &Codes) -> Vec<i64> {
        let query = asked(&Rotation::new(16), &[0.25; 16]);
        numbers(codes.nearest(&query, &Filter::default(), None, 100_000))
    }

    fn numbers(found: Vec<(f32, i64)>) -> Vec<i64> {
        let mut rows: Vec<i64> = found.into_iter().map(|(_, row)| row).collect();
        rows.sort_unstable();
        rows
    }

    #[test]
    fn rows_come_and_go() {
        let mut codes = Codes::new(16);
        for row in 1..=20_000 {
            codes.put(&code(row));
        }
        assert_eq!((codes.len(), codes.last_row()), (20_000, 20_000));
        for row in (1..=20_000).filter(|row| row % 3 != 0) {
            codes.remove(row);
            codes.remove(row);
        }
        let left: Vec<i64> = (1..=20_000).filter(|row| row % 3 == 0).collect();
        assert_eq!((rows(&codes), codes.len()), (left, 6_666));
        for row in 1..=20_000 {
            codes.remove(row);
        }
        assert_eq!((codes.len(), codes.bytes()), (0, 0));
        assert!(rows(&codes).is_empty());
        codes.put(&code(20_001));
        assert_eq!(rows(&codes), [20_001]);
    }

    #[test]
    fn nothing_is_not_a_number() {
        let rotation = Rotation::new(16);
        let (factor, blocks) = encoded(&rotation, &[0.0; 16]);
        assert_eq!(factor.to_bits(), 0.0_f32.to_bits());
        let mut codes = Codes::new(16);
        codes.put(&Code { row: 1, moment: 0, flags: 0, factor, blocks });
        codes.put(&code(2));
        for query in [asked(&rotation, &[0.0; 16]), asked(&rotation, &[0.25; 16])] {
            assert_eq!(numbers(codes.nearest(&query, &Filter::default(), None, 10)), [1, 2]);
        }
    }
}
