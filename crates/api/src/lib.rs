//! Admin requests and answers, and their typed client.
