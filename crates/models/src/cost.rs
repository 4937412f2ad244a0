//! What an answer costs.

use legation_policy::governance::Prices;

use crate::delta::Usage;

/// What an answer costs at these prices, in millionths of a US dollar, rounded
/// up; `None` where the server did not count.
#[must_use]
pub fn cost_micro_usd(prices: &Prices, usage: &Usage) -> Option<u64> {
    let (input, output) = (usage.input?, usage.output?);
    let cached = usage.cached.unwrap_or(0).min(input);
    // A dollar for a million tokens is a millionth of one for each.
    let parts = [
        (input - cached, prices.input),
        (cached, prices.cached_input.unwrap_or(prices.input)),
        (output, prices.output),
    ];
    #[expect(
        clippy::cast_precision_loss,
        reason = "no answer has so many tokens that a double could not count them"
    )]
    let cost: f64 = parts
        .into_iter()
        .map(|(tokens, price)| tokens as f64 * price)
        .sum();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "prices are not below zero, and what is too large becomes the largest"
    )]
    let cost = cost.ceil() as u64;
    Some(cost)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_cost_what_they_cost() {
        let prices = Prices {
            input: 2.0,
            cached_input: Some(0.5),
            output: 8.0,
        };
        let usage = |input, cached, output| Usage {
            input,
            cached,
            output,
            reasoning: None,
        };
        let cases = [
            (usage(Some(1000), None, Some(100)), Some(2800)),
            (usage(Some(1000), Some(600), Some(100)), Some(1900)),
            // A server that counts more cached tokens than it read.
            (usage(Some(10), Some(600), Some(0)), Some(5)),
            (usage(Some(1), Some(1), Some(0)), Some(1)),
            (usage(None, None, Some(100)), None),
            (usage(Some(1000), None, None), None),
        ];
        for (usage, expected) in cases {
            assert_eq!(cost_micro_usd(&prices, &usage), expected, "{usage:?}");
        }
        let flat = Prices {
            cached_input: None,
            ..prices
        };
        let usage = usage(Some(1000), Some(600), Some(100));
        assert_eq!(cost_micro_usd(&flat, &usage), Some(2800));
    }
}
