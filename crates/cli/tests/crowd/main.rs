//! Two real `tenure serve` processes on one PostgreSQL, a crowd of clients over HTTP, and a hand that kills both kinds.

mod lanes;
mod limits;
mod servers;
mod wakes;
