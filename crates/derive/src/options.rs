//! What stands in `#[job(…)]`.

use proc_macro2::TokenStream as Tokens;
use quote::quote;
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::{DeriveInput, Ident, LitInt, LitStr};

/// The options of a kind of job, as they were written.
pub(crate) struct Options {
    pub(crate) kind: LitStr,
    pub(crate) queue: LitStr,
    pub(crate) key: Option<Ident>,
    pub(crate) ordering_key: Option<Ident>,
    pub(crate) limit_key: Option<Ident>,
    priority: Option<syn::Expr>,
    attempts_max: Option<LitInt>,
    timeout_ms: Option<LitInt>,
    key_window_ms: Option<LitInt>,
}

impl Options {
    pub(crate) fn read(input: &DeriveInput) -> syn::Result<Options> {
        let mut options = Options {
            kind: LitStr::new(&snake_case(&input.ident.to_string()), input.ident.span()),
            queue: LitStr::new("default", input.ident.span()),
            key: None,
            ordering_key: None,
            limit_key: None,
            priority: None,
            attempts_max: None,
            timeout_ms: None,
            key_window_ms: None,
        };
        for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("job")) {
            attribute.parse_nested_meta(|meta| options.take(&meta))?;
        }
        if options.key_window_ms.is_some() && options.key.is_none() {
            return Err(syn::Error::new(options.key_window_ms.span(), "`key_window_ms` needs a `key`"));
        }
        Ok(options)
    }

    fn take(&mut self, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        let name = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
        match name.as_str() {
            "kind" => self.kind = name_in(meta)?,
            "queue" => self.queue = name_in(meta)?,
            "key" => self.key = Some(field_in(meta)?),
            "ordering_key" => self.ordering_key = Some(field_in(meta)?),
            "limit_key" => self.limit_key = Some(field_in(meta)?),
            "priority" => self.priority = Some(meta.value()?.parse()?),
            "attempts_max" => self.attempts_max = Some(number_in(meta, 1, 1_000)?),
            "timeout_ms" => self.timeout_ms = Some(number_in(meta, 1, TEN_YEARS_MS)?),
            "key_window_ms" => self.key_window_ms = Some(number_in(meta, 1, TEN_YEARS_MS)?),
            _ => {
                let known =
                    "kind, queue, key, key_window_ms, ordering_key, limit_key, priority, attempts_max or timeout_ms";
                return Err(meta.error(format!("unknown option: use {known}")));
            }
        }
        Ok(())
    }

    /// The calls on `NewJob` that set what was written.
    pub(crate) fn settings(&self) -> Vec<Tokens> {
        let plain = [
            self.priority.as_ref().map(|value| quote!(.priority(#value))),
            self.attempts_max.as_ref().map(|value| quote!(.attempts_max(#value))),
            self.timeout_ms.as_ref().map(|value| quote!(.timeout_ms(#value))),
        ];
        let keys = [
            self.key.as_ref().map(|field| quote!(.key(::std::string::ToString::to_string(&self.#field)))),
            self.key_window_ms.as_ref().map(|value| quote!(.key_window_ms(#value))),
            self.ordering_key
                .as_ref()
                .map(|field| quote!(.ordering_key(::std::string::ToString::to_string(&self.#field)))),
            self.limit_key.as_ref().map(|field| quote!(.limit_key(::std::string::ToString::to_string(&self.#field)))),
        ];
        plain.into_iter().chain(keys).flatten().collect()
    }
}

/// The longest span a store takes.
const TEN_YEARS_MS: u64 = 10 * 365 * 86_400_000;

/// A name as every store takes it: `[A-Za-z0-9][A-Za-z0-9._:-]{0,127}`.
fn name_in(meta: &ParseNestedMeta<'_>) -> syn::Result<LitStr> {
    let text: LitStr = meta.value()?.parse()?;
    let value = text.value();
    let starts_well = value.starts_with(|c: char| c.is_ascii_alphanumeric());
    let allowed = |c: char| c.is_ascii_alphanumeric() || "._:-".contains(c);
    if starts_well && value.len() <= 128 && value.chars().all(allowed) {
        return Ok(text);
    }
    let limit = "a name is 1 to 128 of A-Z a-z 0-9 . _ : - and begins with a letter or a digit";
    Err(syn::Error::new(text.span(), limit))
}

fn field_in(meta: &ParseNestedMeta<'_>) -> syn::Result<Ident> {
    let text: LitStr = meta.value()?.parse()?;
    text.parse().map_err(|_| syn::Error::new(text.span(), "the name of a field"))
}

fn number_in(meta: &ParseNestedMeta<'_>, min: u64, max: u64) -> syn::Result<LitInt> {
    let number: LitInt = meta.value()?.parse()?;
    match number.base10_parse::<u64>() {
        Ok(value) if (min..=max).contains(&value) => Ok(number),
        _ => Err(syn::Error::new(number.span(), format!("must be {min} to {max}"))),
    }
}

/// `SendEmail` is the kind `send_email`.
fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    let mut before: Option<char> = None;
    for (i, c) in name.char_indices() {
        let next_is_lower = name[i + c.len_utf8()..].starts_with(|c: char| c.is_lowercase());
        let begins_word = c.is_uppercase() && before.is_some_and(|b| !b.is_uppercase() || next_is_lower);
        if begins_word && before != Some('_') {
            snake.push('_');
        }
        snake.extend(c.to_lowercase());
        before = Some(c);
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Options, String> {
        let input: DeriveInput = syn::parse_str(text).unwrap();
        Options::read(&input).map_err(|error| error.to_string())
    }

    #[test]
    fn the_kind_is_the_name_of_the_type_unless_it_is_said() {
        for (name, kind) in
            [("Resize", "resize"), ("SendEmail", "send_email"), ("HTTPCall", "http_call"), ("A2B", "a2_b")]
        {
            assert_eq!(snake_case(name), kind);
        }
        assert_eq!(read("#[job(kind = \"img.resize\")] struct Resize;").unwrap().kind.value(), "img.resize");
        assert_eq!(read("struct Resize;").unwrap().queue.value(), "default");
    }

    #[test]
    fn what_a_store_would_refuse_is_refused_while_compiling() {
        for (text, said) in [
            ("#[job(kind = \"a b\")] struct J;", "a name is 1 to 128"),
            ("#[job(queue = \"\")] struct J;", "a name is 1 to 128"),
            ("#[job(attempts_max = 0)] struct J;", "must be 1 to 1000"),
            ("#[job(timeout = 5)] struct J;", "unknown option: use kind"),
            ("#[job(key_window_ms = 5)] struct J;", "needs a `key`"),
            ("#[job(key = \"a b\")] struct J { a: u8 }", "the name of a field"),
        ] {
            let error = read(text).err().unwrap_or_else(|| panic!("{text} was taken"));
            assert!(error.contains(said), "{text}: {error}");
        }
        let input: DeriveInput = syn::parse_str("#[job(key = \"b\")] struct J { a: u8 }").unwrap();
        assert_eq!(crate::expand(&input).unwrap_err().to_string(), "`J` has no field `b`");
    }
}
