//! Ids, context, secrets, clock, cancellation, joined tasks and child processes.
