//! Upstream lifecycle, instances, catalogue and status.
