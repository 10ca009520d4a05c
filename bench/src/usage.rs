//! What a process has used so far, as the kernel counts it; and medians.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};

/// CPU time of a process and all its threads, also those that ended, in user space and in the kernel; in
/// microseconds, though the kernel shows it in hundredths of a second.
pub(crate) fn cpu(pid: u32) -> Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name in parentheses may hold anything; the fields after it are counted from its end.
    let (_, fields) = stat.rsplit_once(')').context("a process has a name")?;
    let mut fields = fields.split_whitespace().skip(11);
    let mut ticks = || fields.next().and_then(|field| field.parse::<f64>().ok());
    let (user, system) = ticks().zip(ticks()).context("a process has used some time")?;
    Ok((user + system) * 1e6 / rustix::param::clock_ticks_per_second() as f64)
}

/// Memory in use (`VmRSS`), in KiB.
pub(crate) fn memory(pid: u32) -> Result<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB")?.parse().ok())
        .context("a process has memory")
}

/// The middle of what was measured; at least one value is.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The middle of spans, in microseconds.
pub(crate) fn median_micros(spans: &[Duration]) -> f64 {
    median(spans.iter().map(|span| span.as_secs_f64() * 1e6))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_its_own_usage() {
        let pid = std::process::id();
        assert!(cpu(pid).unwrap() >= 0.0);
        assert!(memory(pid).unwrap() > 100.0);
    }

    #[test]
    fn the_median_is_in_the_middle() {
        assert!((median([3.0, 1.0, 2.0]) - 2.0).abs() < f64::EPSILON);
    }
}
