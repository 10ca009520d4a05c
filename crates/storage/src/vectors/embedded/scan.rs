//! The two inner loops: estimates from codes, and exact inner products.
//!
//! They are plain loops, compiled several times for what processors can do, and the best one that this machine has
//! is chosen once. Calling code made for a feature is unsafe only because the processor might lack it; the choice
//! rules that out, and nothing else here is unsafe. All variants give the same bits: counts are whole numbers, and
//! sums of floats are made in one fixed order of lanes.

#![expect(unsafe_code, reason = "calls to code that was compiled for a feature of the processor")]
#![expect(clippy::inline_always, reason = "a loop must be compiled within each of its variants")]

use std::sync::OnceLock;

/// Bits of a code in a block, which is as much as a register holds.
pub(super) const BLOCK: usize = 512;
const WORDS: usize = BLOCK / 64;
/// Sums of floats are kept in so many lanes.
const LANES: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(align(64))]
pub(super) struct Block(pub(super) [u64; WORDS]);

/// A query in four bits a component, each bit in a plane of its own.
#[derive(Debug)]
pub(super) struct Query {
    pub(super) planes: Vec<[Block; 4]>,
    /// How an inner product is made of the counts: `step`·weighted + `base`·ones − `rest`.
    pub(super) step: f32,
    pub(super) base: f32,
    pub(super) rest: f32,
}

/// Codes in a row, as many blocks each as the query has, and the factor of each.
#[derive(Debug, Clone, Copy)]
pub(super) struct Codes<'a> {
    pub(super) blocks: &'a [Block],
    pub(super) factors: &'a [f32],
}

/// What code the machine can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    Plain,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Level {
    /// All that this machine can, the best last.
    fn here() -> Vec<Self> {
        #[cfg_attr(
            not(target_arch = "x86_64"),
            expect(unused_mut, reason = "others have their vectors in the plain code")
        )]
        let mut levels = vec![Self::Plain];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt") {
                levels.push(Self::Avx2);
            }
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512vpopcntdq")
            {
                levels.push(Self::Avx512);
            }
        }
        levels
    }

    fn best() -> Self {
        static BEST: OnceLock<Level> = OnceLock::new();
        *BEST.get_or_init(|| Self::here().last().copied().unwrap_or(Self::Plain))
    }
}

/// Estimates the inner products of the codes at `places` with the query.
pub(super) fn estimate_some(codes: Codes<'_>, query: &Query, places: &[u32], out: &mut [f32]) {
    some_at(Level::best(), codes, query, places, out);
}

/// Estimates the inner products of all the codes with the query.
pub(super) fn estimate_all(codes: Codes<'_>, query: &Query, out: &mut [f32]) {
    all_at(Level::best(), codes, query, out);
}

/// The exact inner product of a query and a vector as it is stored: floats of four bytes, the lowest first.
pub(super) fn dot(stored: &[u8], query: &[f32]) -> f32 {
    dot_at(Level::best(), stored, query)
}

macro_rules! variants {
    ($at:ident, $body:ident, $avx2:ident, $avx512:ident, ($($name:ident: $kind:ty),*) $(-> $back:ty)?) => {
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,popcnt")]
        fn $avx2($($name: $kind),*) $(-> $back)? {
            $body($($name),*)
        }

        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vpopcntdq,popcnt")]
        fn $avx512($($name: $kind),*) $(-> $back)? {
            $body($($name),*)
        }

        fn $at(level: Level, $($name: $kind),*) $(-> $back)? {
            match level {
                Level::Plain => $body($($name),*),
                // SAFETY: `Level::here` names a level only when the processor has all of its features.
                #[cfg(target_arch = "x86_64")]
                Level::Avx2 => unsafe { $avx2($($name),*) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                Level::Avx512 => unsafe { $avx512($($name),*) },
            }
        }
    };
}

variants!(some_at, some_body, some_avx2, some_avx512, (codes: Codes<'_>, query: &Query, places: &[u32], out: &mut [f32]));
variants!(all_at, all_body, all_avx2, all_avx512, (codes: Codes<'_>, query: &Query, out: &mut [f32]));
variants!(dot_at, dot_body, dot_avx2, dot_avx512, (stored: &[u8], query: &[f32]) -> f32);

#[inline(always)]
fn some_body(codes: Codes<'_>, query: &Query, places: &[u32], out: &mut [f32]) {
    let length = query.planes.len();
    for (estimate, place) in out.iter_mut().zip(places) {
        let place = *place as usize;
        let code = &codes.blocks[place * length..(place + 1) * length];
        *estimate = one(code, codes.factors[place], query);
    }
}

#[inline(always)]
fn all_body(codes: Codes<'_>, query: &Query, out: &mut [f32]) {
    let each = codes.blocks.chunks_exact(query.planes.len()).zip(codes.factors);
    for (estimate, (code, factor)) in out.iter_mut().zip(each) {
        *estimate = one(code, *factor, query);
    }
}

#[inline(always)]
fn one(code: &[Block], factor: f32, query: &Query) -> f32 {
    let (mut weighted, mut ones) = ([0_u64; WORDS], [0_u64; WORDS]);
    // A few blocks at a time. The compiler takes a register for a block, as it should, in loops that are short; in
    // long ones, or in ones whose length it knows, it gathers the words of several blocks, which is slow.
    for (code, planes) in code.chunks(4).zip(query.planes.chunks(4)) {
        for (block, planes) in code.iter().zip(planes) {
            for lane in 0..WORDS {
                let bits = block.0[lane];
                let count = |plane: usize| u64::from((bits & planes[plane].0[lane]).count_ones());
                ones[lane] += u64::from(bits.count_ones());
                weighted[lane] += count(0) + (count(1) << 1) + (count(2) << 2) + (count(3) << 3);
            }
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "no more than 16 times the dimensions")]
    let (weighted, ones) = (weighted.iter().sum::<u64>() as f32, ones.iter().sum::<u64>() as f32);
    factor * (query.step * weighted + query.base * ones - query.rest)
}

#[inline(always)]
fn dot_body(stored: &[u8], query: &[f32]) -> f32 {
    let mut sums = [0.0_f32; LANES];
    let (stored, stored_rest) = stored.as_chunks::<{ 4 * LANES }>();
    let (query, query_rest) = query.as_chunks::<LANES>();
    for (stored, query) in stored.iter().zip(query) {
        let (numbers, _) = stored.as_chunks::<4>();
        for lane in 0..LANES {
            sums[lane] += f32::from_le_bytes(numbers[lane]) * query[lane];
        }
    }
    let (numbers, _) = stored_rest.as_chunks::<4>();
    let rest: f32 = numbers.iter().zip(query_rest).map(|(a, b)| f32::from_le_bytes(*a) * b).sum();
    sums.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fixed numbers that look random.
    fn numbers(seed: u64) -> impl FnMut() -> u64 {
        let mut state = seed | 1;
        move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        }
    }

    fn float(number: u64) -> f32 {
        f32::from(u16::try_from(number >> 48).unwrap()) / 32_768.0 - 1.0
    }

    #[test]
    fn every_variant_gives_the_same_bits() {
        let levels = Level::here();
        for length in 1..=10_usize {
            let mut next = numbers(length as u64);
            let mut block = || Block(std::array::from_fn(|_| next()));
            let planes = (0..length).map(|_| std::array::from_fn(|_| block())).collect();
            let query = Query { planes, step: 0.013, base: -0.21, rest: 0.37 };
            let blocks: Vec<Block> = (0..length * 100).map(|_| block()).collect();
            let factors: Vec<f32> = (0..100).map(|_| float(next())).collect();
            let codes = Codes { blocks: &blocks, factors: &factors };
            let places: Vec<u32> = (0..100).filter(|_| next().is_multiple_of(3)).collect();
            let bits = |level| {
                let (mut all, mut some) = (vec![0.0; 100], vec![0.0; places.len()]);
                all_at(level, codes, &query, &mut all);
                some_at(level, codes, &query, &places, &mut some);
                assert!(
                    places
                        .iter()
                        .zip(&some)
                        .all(|(place, one)| all[*place as usize].to_bits() == one.to_bits())
                );
                all.into_iter().map(f32::to_bits).collect::<Vec<_>>()
            };
            let plain = bits(Level::Plain);
            assert!(levels.iter().all(|level| bits(*level) == plain), "{levels:?}");
        }
        for length in [1_usize, 8, 15, 16, 17, 48, 384, 1_000, 1_536] {
            let mut next = numbers(length as u64);
            let query: Vec<f32> = (0..length).map(|_| float(next())).collect();
            let stored: Vec<u8> = (0..length).flat_map(|_| float(next()).to_le_bytes()).collect();
            let plain = dot_at(Level::Plain, &stored, &query).to_bits();
            for level in &levels {
                assert_eq!(dot_at(*level, &stored, &query).to_bits(), plain, "{level:?}");
            }
        }
    }

    #[test]
    fn counts_are_what_they_say() {
        let code = [Block([0b1011, 0, 0, 0, 0, 0, 0, 1 << 63])];
        let plane = |word| Block([word, 0, 0, 0, 0, 0, 0, 0]);
        let planes = vec![[plane(0b0001), plane(0b0010), plane(0b0100), plane(0b1000)]];
        let query = Query { planes, step: 1.0, base: 100.0, rest: 1.0 };
        let mut out = [0.0];
        estimate_all(Codes { blocks: &code, factors: &[2.0] }, &query, &mut out);
        assert!((out[0] - 2.0 * (1.0 + 2.0 + 8.0 + 400.0 - 1.0)).abs() < 1e-3);
    }
}
