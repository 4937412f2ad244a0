use std::time::Duration;

use super::Attempts;

#[test]
fn waits_double_up_to_the_longest_with_some_jitter() {
    let bounds = (Duration::from_secs(1), Duration::from_secs(60));
    let mut attempts = Attempts {
        failures: 0,
        hopeless: false,
    };
    for expected in [1, 2, 4, 8, 16, 32, 60, 60] {
        let expected = Duration::from_secs(expected);
        let delay = attempts.next(bounds);
        assert!(delay >= expected && delay <= expected * 5 / 4, "{delay:?}");
    }
    let mut late = Attempts {
        failures: 40,
        hopeless: false,
    };
    assert!(late.next(bounds) >= bounds.1, "no overflow");
}
