//! The end-to-end drivers behind the program `e2e`: each puts programs that
//! others wrote in front of the hub and judges what they say.

pub mod agents;
pub mod approvals;
pub mod conformance;
pub mod conformance_client;
pub mod console;
pub mod delegate;
pub mod engine;
pub mod events;
pub mod found;
pub mod model;
pub mod moving;
pub mod openapi;
pub mod report;
pub mod sdk;
pub mod servers;
pub mod tenant;
pub mod tools;
pub mod wake;
