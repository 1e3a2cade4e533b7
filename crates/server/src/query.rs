//! Query strings, read as strictly as bodies.

use axum::extract::Query;
use axum::http::Uri;
use tenure::bounds;
use tenure_wire::{Problem, text};

/// The parameters of a query, each once.
pub(crate) struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Reads the parameters of `uri`; any that is not `known` is refused by name.
    pub(crate) fn read(uri: &Uri, known: &[&str]) -> Result<Parameters, Problem> {
        let Query(pairs): Query<Vec<(String, String)>> = Query::try_from_uri(uri).unwrap_or_default();
        for (i, (name, _)) in pairs.iter().enumerate() {
            let shown = text::cut(name, 80);
            if !known.contains(&name.as_str()) {
                let limit =
                    if known.is_empty() { "no parameters".to_owned() } else { format!("one of {}", known.join(", ")) };
                let near = text::nearest(name, known.iter().copied());
                let hint = near.map_or_else(|| format!("use {limit}"), |near| format!("did you mean `{near}`?"));
                let message = format!("`{shown}` is not a parameter here: {hint}");
                return Err(Problem::invalid("unknown_field", &shown, &limit, &shown, message));
            }
            if pairs[..i].iter().any(|(earlier, _)| earlier == name) {
                let message = format!("`{shown}` is given twice: once is enough");
                return Err(Problem::invalid("repeated_parameter", &shown, "once", "twice", message));
            }
        }
        Ok(Parameters(pairs))
    }

    /// The value of `name`, if given.
    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The value of `name`, refused unless `read` understands it.
    pub(crate) fn read_as<T>(
        &self,
        name: &str,
        limit: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, Problem> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let refuse = || {
            let got = text::cut(value, 80);
            Problem::invalid("out_of_bounds", name, limit, &got, format!("`{name}` must be {limit}; got {got}"))
        };
        read(value).map(Some).ok_or_else(refuse)
    }

    /// The text of `name`, if given.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.get(name).map(str::to_owned)
    }

    /// Where an earlier page said that the next begins.
    pub(crate) fn cursor<T>(&self, read: impl FnOnce(&str) -> Option<T>) -> Result<Option<T>, Problem> {
        self.read_as("cursor", "the next_cursor of an earlier page", read)
    }

    /// A cursor that is a name.
    pub(crate) fn cursor_name(&self) -> Result<Option<String>, Problem> {
        self.cursor(|cursor| bounds::name("cursor", cursor).is_ok().then(|| cursor.to_owned()))
    }

    /// How many items a page may have.
    pub(crate) fn limit(&self) -> Result<u32, Problem> {
        let max = u32::try_from(bounds::LIST_MAX).unwrap_or(u32::MAX);
        let whole = |value: &str| value.parse().ok().filter(|limit| (1..=max).contains(limit));
        Ok(self.read_as("limit", &format!("1 to {max}"), whole)?.unwrap_or(bounds::LIST_DEFAULT))
    }
}
