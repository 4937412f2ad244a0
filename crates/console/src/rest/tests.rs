mod fake;
mod requests;
mod routes;
