//! Tests of the transports.
