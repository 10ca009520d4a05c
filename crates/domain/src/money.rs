//! Money, counted exactly.
//!
//! A call to a small model costs less than a hundredth of a cent, and a plan adds up thousands of them: so money is
//! whole billionths of a dollar inside, a plain number of dollars on the wire, and rounded only where it is shown.

use std::fmt;
use std::iter::Sum;
use std::ops::Add;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use utoipa::{PartialSchema, ToSchema, openapi};

const NANOS: i64 = 1_000_000_000;

/// An amount of US dollars.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Money(i64);

impl Money {
    pub const ZERO: Self = Self(0);

    /// Billionths of a dollar.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// Nothing for what is no amount: not a number, or more than nine billion dollars.
    pub fn from_dollars(dollars: f64) -> Option<Self> {
        #[expect(clippy::cast_precision_loss, reason = "a bound, not an amount")]
        const LIMIT: f64 = (i64::MAX / NANOS) as f64;
        #[expect(clippy::cast_possible_truncation, reason = "checked against the limit")]
        #[expect(clippy::cast_precision_loss, reason = "a billion is exact")]
        (dollars.is_finite() && dollars.abs() < LIMIT)
            .then(|| Self((dollars * NANOS as f64).round() as i64))
    }

    #[expect(clippy::cast_precision_loss, reason = "exact up to nine million dollars")]
    pub fn as_dollars(self) -> f64 {
        self.0 as f64 / NANOS as f64
    }
}

impl Add for Money {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sum for Money {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

/// `$12.50` from a dollar up, `$0.0012` below, and all digits where four would show nothing.
impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let nanos = self.0.unsigned_abs();
        let places: u32 = match nanos {
            0 | 1_000_000_000.. => 2,
            50_000.. => 4,
            _ => 9,
        };
        let unit = 10_u64.pow(9 - places);
        let shown = nanos.saturating_add(unit / 2) / unit * unit;
        let digits = format!("{:09}", shown % NANOS.unsigned_abs());
        let kept = digits.trim_end_matches('0').len().max(2);
        write!(f, "{sign}${}.{}", shown / NANOS.unsigned_abs(), &digits[..kept])
    }
}

impl Serialize for Money {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.as_dollars())
    }
}

impl<'de> Deserialize<'de> for Money {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_dollars(f64::deserialize(deserializer)?)
            .ok_or_else(|| de::Error::custom("is not an amount of money"))
    }
}

impl PartialSchema for Money {
    fn schema() -> openapi::RefOr<openapi::schema::Schema> {
        openapi::ObjectBuilder::new()
            .schema_type(openapi::schema::Type::Number)
            .description(Some("US dollars"))
            .examples([0.0012])
            .build()
            .into()
    }
}
impl ToSchema for Money {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_amounts_can_be_read() {
        for (nanos, shown) in [
            (0, "$0.00"),
            (1_200_000, "$0.0012"),
            (12_500_000_000, "$12.50"),
            (1_000_000_000, "$1.00"),
            (999_960_000, "$1.00"),
            (250_000_000, "$0.25"),
            (75, "$0.000000075"),
            (-1_200_000, "-$0.0012"),
            (i64::MIN, "-$9223372036.85"),
        ] {
            assert_eq!(Money::from_nanos(nanos).to_string(), shown);
        }
    }

    #[test]
    fn dollars_on_the_wire_come_back_exactly() {
        let amount = Money::from_nanos(1_234_567_891);
        let json = serde_json::to_string(&amount).unwrap();
        assert_eq!(json, "1.234567891");
        assert_eq!(serde_json::from_str::<Money>(&json).unwrap(), amount);
        assert!(serde_json::from_str::<Money>("1e300").is_err());
        assert_eq!(Money::from_dollars(f64::NAN), None);
    }

    #[test]
    fn sums_stay_in_range() {
        let much = Money::from_nanos(i64::MAX);
        assert_eq!([much, much].into_iter().sum::<Money>(), much);
    }
}
