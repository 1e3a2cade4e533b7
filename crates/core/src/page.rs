//! Lists, a page at a time.

/// A page of a list, newest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<T> {
    /// The items.
    pub items: Vec<T>,
    /// Whether more follow after the last of them.
    pub more: bool,
}

impl<T> Page<T> {
    /// The first `limit` of what was found. Whoever looks looks for one more: it tells whether more follow.
    pub fn cut(found: impl IntoIterator<Item = T>, limit: usize) -> Page<T> {
        let mut found = found.into_iter();
        let items = found.by_ref().take(limit).collect();
        Page { items, more: found.next().is_some() }
    }
}
