//! The host over scripted servers, as the gate and the fronts use it.

mod attribution;
mod calls;
mod catalogue;
mod instances;
mod lent;
mod lifecycle;
mod real;
mod status;
mod tasks;
