mod bad_input;
mod handshake;
mod modern_era;
mod socket_era;
