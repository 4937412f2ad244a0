//! The pipeline every call passes.
