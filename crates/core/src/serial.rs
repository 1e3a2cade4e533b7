//! How values look in JSON: what the derived forms of this crate have in common.
//!
//! Always true: an instant is RFC 3339 text, an id opaque text, a word its one spelling; JSON that was kept as text is
//! shown byte for byte.

/// Shown as the text that it prints as, and read back by `$parse`. `$name` is what a schema calls it.
macro_rules! as_text {
    ($type:ty, $name:literal, $format:expr, $parse:expr) => {
        #[cfg(feature = "serde")]
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        #[cfg(feature = "serde")]
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<$type, D::Error> {
                crate::serial::parsed(deserializer, $name, $parse)
            }
        }

        #[cfg(feature = "schema")]
        impl utoipa::PartialSchema for $type {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
                crate::serial::scalar(utoipa::openapi::schema::Type::String, $format)
            }
        }

        #[cfg(feature = "schema")]
        impl utoipa::ToSchema for $type {
            fn name() -> std::borrow::Cow<'static, str> {
                $name.into()
            }
        }
    };
}
pub(crate) use as_text;

#[cfg(feature = "serde")]
pub(crate) use form::{decimal_or_null, parsed, shared, shared_or_null};
#[cfg(feature = "serde")]
pub use form::{raw, raw_or_null};
#[cfg(feature = "schema")]
pub use schema::Json;
#[cfg(feature = "schema")]
pub(crate) use schema::scalar;

#[cfg(feature = "serde")]
mod form {
    use crate::lease::Token;
    use serde::de::{Deserialize, Deserializer, Error as _};
    use serde::{Serialize as _, Serializer};
    use serde_json::value::RawValue;
    use std::sync::Arc;

    pub(crate) fn parsed<'de, T, D: Deserializer<'de>>(
        deserializer: D,
        name: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, D::Error> {
        let text = String::deserialize(deserializer)?;
        parse(&text).ok_or_else(|| D::Error::custom(format_args!("{text:?} is no {name}")))
    }

    /// Text that many share.
    pub(crate) fn shared<S: Serializer>(text: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(text)
    }

    /// The same where there may be none.
    pub(crate) fn shared_or_null<S: Serializer>(text: &Option<Arc<str>>, serializer: S) -> Result<S::Ok, S::Error> {
        text.as_deref().serialize(serializer)
    }

    /// A token of a domain, which is shown as text (D5).
    pub(crate) fn decimal_or_null<S: Serializer>(token: &Option<Token>, serializer: S) -> Result<S::Ok, S::Error> {
        token.map(|token| token.to_string()).serialize(serializer)
    }

    /// JSON that is kept as text, for `#[serde(with)]`. Text that is not JSON (a damaged store) is shown as a string rather
    /// than hidden.
    pub mod raw {
        use super::{Deserialize as _, Deserializer, RawValue};
        use serde::{Serialize as _, Serializer};

        /// The JSON as it is shown, without the spaces around it.
        #[must_use]
        pub fn shown(text: &str) -> &str {
            serde_json::from_str::<&RawValue>(text).map_or(r#""(not JSON)""#, RawValue::get)
        }

        /// Shows it byte for byte.
        pub fn serialize<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
            match serde_json::from_str::<&RawValue>(text) {
                Ok(json) => json.serialize(serializer),
                Err(_) => serializer.serialize_str("(not JSON)"),
            }
        }

        /// Reads it byte for byte.
        pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
            Ok(String::from(Box::<str>::from(Box::<RawValue>::deserialize(deserializer)?)))
        }
    }

    /// The same where there may be none, which is `null`.
    pub mod raw_or_null {
        use super::{Deserialize as _, Deserializer, RawValue};
        use serde::Serializer;

        /// Shows it byte for byte.
        pub fn serialize<S: Serializer>(text: &Option<String>, serializer: S) -> Result<S::Ok, S::Error> {
            match text {
                Some(text) => super::raw::serialize(text, serializer),
                None => serializer.serialize_none(),
            }
        }

        /// Reads it byte for byte.
        pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
            let json = Option::<Box<RawValue>>::deserialize(deserializer)?;
            Ok(json.map(|json| String::from(Box::<str>::from(json))))
        }
    }
}

#[cfg(feature = "schema")]
mod schema {
    use std::borrow::Cow;
    use utoipa::openapi::RefOr;
    use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, Schema, SchemaFormat, SchemaType, Type};
    use utoipa::{PartialSchema, ToSchema};

    pub(crate) fn scalar(of: Type, format: Option<KnownFormat>) -> RefOr<Schema> {
        let object = ObjectBuilder::new().schema_type(SchemaType::Type(of));
        RefOr::T(object.format(format.map(SchemaFormat::KnownFormat)).build().into())
    }

    /// What the schema of a field says that holds JSON: anything.
    #[derive(Debug)]
    pub enum Json {}

    impl PartialSchema for Json {
        fn schema() -> RefOr<Schema> {
            let any = ObjectBuilder::new().schema_type(SchemaType::AnyValue);
            RefOr::T(any.description(Some("Any JSON.")).build().into())
        }
    }

    impl ToSchema for Json {
        fn name() -> Cow<'static, str> {
            Cow::Borrowed("Json")
        }
    }
}
