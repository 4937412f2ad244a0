mod bad_input;
mod framing;
mod handshake;
mod issued;
mod modern_era;
mod notes;
mod socket_era;
mod web;
