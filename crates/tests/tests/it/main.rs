//! The tests of the hub from outside, and of the fixtures they stand on.

mod fixture;
