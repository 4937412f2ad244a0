//! What the engine finds, what it gives back, and what it must never do.

mod attack;
mod corpus;
mod find;
mod json;
mod property;
mod restore;
mod score;

/// A text without its tokens, whose random ids may hold any two digits.
fn outside_tokens(text: &str) -> String {
    text.split('⟦')
        .map(|part| part.split_once('⟧').map_or(part, |(_, rest)| rest))
        .collect()
}
