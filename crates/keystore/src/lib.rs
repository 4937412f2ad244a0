//! Keys of the data directory, the PIN, and consent of a person.
