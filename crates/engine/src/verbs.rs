//! Every verb as plain data: requests in, answers out, many at a time where the store can.
//!
//! What [handles](crate::Tenure) are made of. For servers, bindings and whoever has requests rather than a program: a token
//! and an owner are passed by hand here, and an ending may be sent by another process than the one that claimed.

use crate::Tenure;

/// The verbs of an open store. Made by [`Tenure::verbs`].
#[derive(Clone, Copy, Debug)]
pub struct Verbs<'a> {
    pub(crate) tenure: &'a Tenure,
}

impl Tenure {
    /// Every verb as plain data.
    #[must_use]
    pub fn verbs(&self) -> Verbs<'_> {
        Verbs { tenure: self }
    }
}
