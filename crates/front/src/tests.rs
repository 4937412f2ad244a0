mod bad_input;
mod framing;
mod handshake;
mod modern_era;
mod socket_era;
