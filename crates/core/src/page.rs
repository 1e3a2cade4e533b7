//! Lists, a page at a time.

/// A page of a list, newest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<T> {
    /// The items.
    pub items: Vec<T>,
    /// Whether more follow after the last of them.
    pub more: bool,
}
