//! The same seed bends the same way.

use super::{Random, bend, exchanges};

#[test]
fn a_seed_repeats_and_another_differs() {
    let inputs = |seed| {
        let mut random = Random::new(seed);
        let exchanges = exchanges("127.0.0.1:1", "token");
        let bent = (0..300).map(|_| {
            let (_, text) = random.pick(&exchanges);
            bend(&mut random, text.as_bytes())
        });
        bent.collect::<Vec<_>>()
    };
    assert_eq!(inputs(0), inputs(0));
    assert_ne!(inputs(0), inputs(1));
    assert!(inputs(2).iter().all(|input| !input.is_empty()));
}
