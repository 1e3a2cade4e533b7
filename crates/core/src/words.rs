//! Words: small enums whose variants have one spelling, in the database, on the wire and on the screen.

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$variant_doc])* $variant,)+ }

        impl $name {
            /// Every variant, in the order of its declaration.
            pub const ALL: &'static [$name] = &[$($name::$variant,)+];

            /// Their words, in the same order.
            pub const WORDS: &'static [&'static str] = &[$($word,)+];

            /// The word used in the database, on the wire and on the screen.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $($name::$variant => $word,)+ }
            }

            /// The variant spelled `word`.
            #[must_use]
            pub fn parse(word: &str) -> Option<$name> {
                match word { $($word => Some($name::$variant),)+ _ => None }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        crate::serial::as_text!($name, "Word", None, $name::parse);
    };
}
pub(crate) use words;
