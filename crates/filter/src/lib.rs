//! What a result or a definition may carry: hidden characters, links, secrets.
