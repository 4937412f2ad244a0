use std::sync::Arc;

use legation_core::clock::{ManualClock, Wall};

use super::*;

fn rates(limits: RateLimits) -> (Arc<ManualClock>, Rates) {
    let clock = Arc::new(ManualClock::at(Wall(0)));
    let rates = Rates::new(limits, Arc::clone(&clock) as SharedClock);
    (clock, rates)
}

fn server(name: &str) -> ServerName {
    ServerName::parse(name).expect("a name")
}

/// How many calls pass at once.
fn pass(rates: &Rates, client: &str, at: &str, item: &str) -> usize {
    let (client, at) = (ClientId::new(client), server(at));
    (0..1000)
        .take_while(|_| rates.call(&client, &at, item).is_ok())
        .count()
}

#[test]
fn a_bucket_holds_its_burst_and_fills_again() {
    let (clock, rates) = rates(RateLimits {
        client_per_minute: 60,
        burst_s: 10,
        ..RateLimits::default()
    });
    assert_eq!(pass(&rates, "a", "s", "t"), 10);
    assert_eq!(pass(&rates, "b", "s", "t"), 10, "each client has its own");
    clock.advance(Duration::from_secs(3));
    assert_eq!(pass(&rates, "a", "s", "t"), 3);
    let told = rates
        .call(&ClientId::new("a"), &server("s"), "t")
        .expect_err("empty");
    assert_eq!(told.after, Duration::from_secs(1));
    clock.advance(told.after);
    assert_eq!(pass(&rates, "a", "s", "t"), 1, "as long as it said");
}

#[test]
fn the_narrowest_bucket_stops_a_call_and_costs_the_others_nothing() {
    let (_, rates) = rates(RateLimits {
        client_per_minute: 600,
        server_per_minute: 60,
        tool_per_minute: 6,
        poll_per_minute: 0,
        burst_s: 10,
    });
    assert_eq!(pass(&rates, "a", "s", "t"), 1);
    assert_eq!(pass(&rates, "a", "s", "u"), 1);
    for number in 2..10 {
        assert_eq!(pass(&rates, "a", "s", &number.to_string()), 1);
    }
    assert_eq!(pass(&rates, "a", "s", "more"), 0, "ten of one server");
    assert_eq!(
        pass(&rates, "a", "other", "t"),
        1,
        "and the client may still call"
    );
}

#[test]
fn polling_never_eats_the_budget_of_calls() {
    let (_, rates) = rates(RateLimits {
        client_per_minute: 6,
        poll_per_minute: 6,
        burst_s: 10,
        ..RateLimits::default()
    });
    let client = ClientId::new("a");
    let polls = (0..1000)
        .take_while(|_| rates.poll(&client).is_ok())
        .count();
    assert_eq!(polls, 1);
    assert_eq!(pass(&rates, "a", "s", "t"), 1);
}

#[test]
fn no_limit_is_no_limit_and_buckets_stay_few() {
    let (clock, free) = rates(RateLimits::default());
    assert_eq!(pass(&free, "a", "s", "t"), 1000);
    assert!(free.poll(&ClientId::new("a")).is_ok());
    let limits = RateLimits {
        tool_per_minute: 60_000,
        burst_s: 1,
        ..RateLimits::default()
    };
    let many = Rates::new(limits, Arc::clone(&clock) as SharedClock);
    for number in 0..40_000 {
        assert_eq!(
            many.call(&ClientId::new("a"), &server("s"), &number.to_string()),
            Ok(())
        );
        clock.advance(Duration::from_millis(10));
    }
    assert!(many.full_at.lock().expect("whole").len() <= BUCKETS);
}
