//! Percentiles by nearest rank.

use std::time::Duration;

use super::Latencies;

#[test]
fn percentiles_are_the_smallest_latency_that_covers() {
    let mut latencies = Latencies::default();
    assert!(latencies.is_empty());
    assert!((latencies.percentile_us(50)).abs() < f64::EPSILON);
    for micros in (1..=200).rev() {
        latencies.push(Duration::from_micros(micros));
    }
    latencies.sort();
    for (percent, expected) in [(0, 1.0), (1, 2.0), (50, 100.0), (99, 198.0), (100, 200.0)] {
        assert!(
            (latencies.percentile_us(percent) - expected).abs() < 1e-9,
            "{percent}"
        );
    }
}
