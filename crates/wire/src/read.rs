//! Reading a request strictly, against its [shape](crate::shape).
//!
//! Always true: the whole text is checked to be JSON first, so that a syntax error is told with its line and column;
//! a value is then read where it stands, and what is to be kept as JSON is never decoded and written again.
//!
//! Bounded: nesting is counted before anything recurses, an object is read up to a number of keys that no shape has,
//! and a list up to the number of items that its shape allows.

use crate::problem::{Kind, Problem};
use crate::shape::{Count, Field, Holds, Shape};
use crate::text;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use tenure::{Time, bounds};

/// Levels around a payload in the deepest request: the body, its list, the job.
const ENVELOPE_DEPTH: usize = 3;
/// Keys of one object that are looked at. No shape has as many, so beyond it one is unknown or named twice.
const KEYS_READ_MAX: usize = 64;
/// Characters of what was sent that a refusal repeats.
const GOT_CHARS: usize = 80;

/// A request that is known to be JSON.
#[derive(Clone, Copy, Debug)]
pub struct Body<'a>(Node<'a>);

impl<'a> Body<'a> {
    /// Like [`parse`](Body::parse), but nothing at all is an empty object: for requests without a field that must be
    /// sent.
    pub fn parse_optional(bytes: &'a [u8]) -> Result<Body<'a>, Problem> {
        Body::parse(if bytes.trim_ascii().is_empty() { b"{}" } else { bytes })
    }

    /// Refuses what is empty, not UTF-8, too deep or not JSON.
    pub fn parse(bytes: &'a [u8]) -> Result<Body<'a>, Problem> {
        let malformed = |code, message: String| Problem::new(Kind::Malformed, code, message).fact("field", "body");
        if bytes.trim_ascii().is_empty() {
            return Err(malformed("body_empty", "the body is empty: send a JSON object".to_owned()));
        }
        let not_utf8 = |at: usize| {
            malformed(
                "not_utf8",
                format!("the body is not UTF-8 (byte {at}): send JSON as UTF-8 without a byte order mark"),
            )
            .fact("limit", "UTF-8 without a byte order mark")
            .fact("got", format!("byte {at}"))
        };
        let text = std::str::from_utf8(bytes).map_err(|error| not_utf8(error.valid_up_to()))?;
        // UTF-16 without a mark is valid UTF-8, every other byte of it NUL.
        if text.starts_with('\u{feff}') || bytes.iter().take(2).any(|byte| *byte == 0) {
            return Err(not_utf8(0));
        }
        let depth_max = bounds::DEPTH_MAX + ENVELOPE_DEPTH;
        if deeper_than(depth_max, bytes) {
            let limit = format!("at most {} levels in a payload", bounds::DEPTH_MAX);
            let problem = malformed("json_too_deep", format!("the body is nested too deep: {limit}"));
            return Err(problem.fact("limit", limit).fact("got", format!("more than {depth_max} levels")));
        }
        let raw: &RawValue = serde_json::from_str(text).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            // "expected value at line 1 column 2": the place is told apart.
            let cause = error.to_string();
            let cause = cause.split(" at line ").next().unwrap_or_default();
            malformed("json_syntax", format!("the body is not valid JSON: {cause}, at line {line}, column {column}"))
                .fact("limit", "valid JSON")
                .fact("got", format!("line {line}, column {column}"))
                .fact("line", line)
                .fact("column", column)
        })?;
        Ok(Body(Node { raw }))
    }

    /// Reads the body as an object of `shape`.
    pub fn object(self, shape: &'static Shape) -> Result<Object<'a>, Problem> {
        self.0.fields("")?.object(shape)
    }

    /// Reads the body as an object of the shape that its keys tell.
    pub fn object_by(self, shape: impl FnOnce(&Fields<'a>) -> &'static Shape) -> Result<Object<'a>, Problem> {
        let fields = self.0.fields("")?;
        let shape = shape(&fields);
        fields.object(shape)
    }
}

/// A value, not looked into yet.
#[derive(Clone, Copy, Debug)]
struct Node<'a> {
    raw: &'a RawValue,
}

impl<'a> Node<'a> {
    fn text(self) -> &'a str {
        self.raw.get()
    }

    fn is_null(self) -> bool {
        self.text() == "null"
    }

    /// The keys and values of an object.
    fn fields(self, place: &str) -> Result<Fields<'a>, Problem> {
        if !self.text().starts_with('{') {
            let place = if place.is_empty() { "body" } else { place };
            return Err(self.wrong_type(place, "an object"));
        }
        // The text is JSON already; only a key that is not text can go wrong.
        let Entries(entries) = serde_json::from_str(self.text())
            .map_err(|_| unsupported(if place.is_empty() { "body" } else { place }, "a lone surrogate in a key"))?;
        for (i, (key, _)) in entries.iter().enumerate() {
            if entries[..i].iter().any(|(earlier, _)| earlier == key) {
                let place = inside(place, key);
                let message = format!("`{place}` is named twice: each key may appear once in an object");
                let problem = Problem::new(Kind::Malformed, "json_duplicate_key", message);
                return Err(problem
                    .fact("field", place)
                    .fact("limit", "each key once")
                    .fact("got", text::cut(key, 80)));
            }
        }
        Ok(Fields { place: place.to_owned(), entries })
    }

    /// The items of a list. One that is too long is counted, and none of it is kept.
    fn list(self, place: &str, (min, max): Count) -> Result<Vec<Node<'a>>, Problem> {
        if !self.text().starts_with('[') {
            return Err(self.wrong_type(place, "a list"));
        }
        let mut text = serde_json::Deserializer::from_str(self.text());
        let items = text.deserialize_seq(Items { max }).map_err(|_| self.wrong_type(place, "a list"))?;
        items.map_err(|count| match bounds::within(place, count, min, max) {
            Err(refused) => refused.into(),
            Ok(()) => self.wrong_type(place, "a list"),
        })
    }

    fn string(self, place: &str) -> Result<String, Problem> {
        if !self.text().starts_with('"') {
            return Err(self.wrong_type(place, "a string"));
        }
        serde_json::from_str(self.text()).map_err(|_| unsupported(place, "a lone surrogate"))
    }

    fn int(self, place: &str, min: i64, max: i64) -> Result<i64, Problem> {
        let digits = self.text().strip_prefix('-').unwrap_or(self.text());
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(self.wrong_type(place, "a whole number, written without point, exponent or quotes"));
        }
        // What does not fit an i64 is out of any bounds we have.
        match self.text().parse::<i64>() {
            Ok(int) if (min..=max).contains(&int) => Ok(int),
            _ => {
                let (limit, got) = (format!("{min} to {max}"), text::cut(self.text(), GOT_CHARS));
                let message = format!("`{place}` must be {limit}; got {got}");
                Err(Problem::invalid("out_of_bounds", place, &limit, &got, message))
            }
        }
    }

    fn number(self, place: &str) -> Result<f64, Problem> {
        if !self.text().starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
            return Err(self.wrong_type(place, "a number"));
        }
        // `1e999` reads as infinite, which every bound refuses.
        self.text().parse().map_err(|_| self.wrong_type(place, "a number"))
    }

    fn boolean(self, place: &str) -> Result<bool, Problem> {
        match self.text() {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(self.wrong_type(place, "true or false")),
        }
    }

    fn time(self, place: &str) -> Result<Time, Problem> {
        let string = self.string(place)?;
        string.parse().map_err(|_| {
            let got = text::cut(&string, GOT_CHARS);
            let message = format!("`{place}` must be {}; got {got}", Time::FORM);
            Problem::invalid("invalid_time", place, Time::FORM, &got, message)
        })
    }

    fn word(self, place: &str, words: &[&str]) -> Result<String, Problem> {
        let string = self.string(place)?;
        if words.contains(&string.as_str()) {
            return Ok(string);
        }
        let (limit, got) = (format!("one of {}", words.join(", ")), text::cut(&string, GOT_CHARS));
        let message = format!("`{place}` must be {limit}; got {got}");
        Err(Problem::invalid("out_of_bounds", place, &limit, &got, message))
    }

    fn wrong_type(self, place: &str, limit: &str) -> Problem {
        let got = text::cut(self.text(), GOT_CHARS);
        Problem::invalid("wrong_type", place, limit, &got, format!("`{place}` must be {limit}; got {got}"))
    }
}

/// The keys of an object and their values, each key once.
#[derive(Debug)]
pub struct Fields<'a> {
    place: String,
    entries: Vec<(Cow<'a, str>, Node<'a>)>,
}

impl<'a> Fields<'a> {
    /// Whether `key` was sent.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|(name, _)| name == key)
    }

    /// The text of the string under `key`, if there is one.
    #[must_use]
    pub fn peek(&self, key: &str) -> Option<String> {
        let (_, node) = self.entries.iter().find(|(name, _)| name == key)?;
        node.string(key).ok()
    }

    /// Reads the object against `shape`: no other field, none missing, each of its type.
    pub fn object(self, shape: &'static Shape) -> Result<Object<'a>, Problem> {
        let Fields { place, entries } = self;
        let mut values = Vec::with_capacity(entries.len());
        let mut unset = Vec::new();
        for (key, node) in entries {
            let place = inside(&place, &key);
            let field = shape.field(&key).ok_or_else(|| unknown_field(&place, &key, shape))?;
            // Null in an optional field is not sent, unless it unsets something; in a required one it is missing.
            if !node.is_null() {
                values.push((field.name, Value::read(field, node, &place)?));
            } else if field.unsets {
                unset.push(field.name);
            }
        }
        let sent = |field: &&Field| values.iter().any(|(name, _)| *name == field.name);
        if let Some(missing) = shape.fields.iter().find(|field| field.required && !sent(field)) {
            let place = inside(&place, missing.name);
            let message = format!("`{place}` is missing: {}", missing.about);
            return Err(Problem::invalid("missing_field", &place, "must be sent", "nothing", message));
        }
        Ok(Object { place, values, unset })
    }
}

/// An object that fits its shape.
#[derive(Debug)]
pub struct Object<'a> {
    place: String,
    values: Vec<(&'static str, Value<'a>)>,
    /// Fields sent as `null` to unset something.
    unset: Vec<&'static str>,
}

#[derive(Debug)]
enum Value<'a> {
    Text(String),
    Int(i64),
    Number(f64),
    Bool(bool),
    Time(Time),
    Json(&'a str),
    Texts(Vec<String>),
    Object(Object<'a>),
    /// Of these shapes.
    List(&'static [&'static Shape], Vec<Node<'a>>),
}

impl<'a> Value<'a> {
    fn read(field: &Field, node: Node<'a>, place: &str) -> Result<Value<'a>, Problem> {
        Ok(match field.holds {
            Holds::Text => Value::Text(node.string(place)?),
            Holds::Int(min, max) => Value::Int(node.int(place, min, max)?),
            // The library's own refusal of 0 says what to do instead.
            Holds::Running if node.text() == "0" => Value::Int(0),
            Holds::Running => Value::Int(node.int(place, 1, bounds::RUNNING_MAX as i64)?),
            Holds::Number => Value::Number(node.number(place)?),
            Holds::Bool => Value::Bool(node.boolean(place)?),
            Holds::Time => Value::Time(node.time(place)?),
            Holds::Json => Value::Json(node.text()),
            Holds::Word(words) => Value::Text(node.word(place, words)?),
            Holds::Texts(count) => {
                let items = node.list(place, count)?.into_iter().enumerate();
                let texts = items.map(|(i, item)| item.string(&format!("{place}[{i}]")));
                Value::Texts(texts.collect::<Result<_, _>>()?)
            }
            Holds::Object(shape) => Value::Object(node.fields(place)?.object(shape)?),
            Holds::List(count, shapes) => Value::List(shapes, node.list(place, count)?),
        })
    }
}

/// Takes the value of a field that was sent. Asking for another type than the shape's is a bug in this crate, and
/// answers `None` like a field that was not sent.
macro_rules! take {
    ($($(#[$doc:meta])* $name:ident: $variant:ident -> $type:ty;)+) => {
        $($(#[$doc])* pub fn $name(&mut self, name: &str) -> Option<$type> {
            match self.take(name) {
                Some(Value::$variant(value)) => Some(value),
                _ => None,
            }
        })+
    };
}

impl<'a> Object<'a> {
    fn take(&mut self, name: &str) -> Option<Value<'a>> {
        let at = self.values.iter().position(|(key, _)| *key == name)?;
        Some(self.values.swap_remove(at).1)
    }

    /// Whether `name` was sent.
    #[must_use]
    pub fn holds(&self, name: &str) -> bool {
        self.values.iter().any(|(key, _)| *key == name)
    }

    /// What a field sets: `None` if it was not sent, `Some(None)` if it was sent as `null`.
    pub fn set<T>(&mut self, name: &str, take: impl FnOnce(&mut Self, &str) -> Option<T>) -> Option<Option<T>> {
        if self.unset.contains(&name) { Some(None) } else { take(self, name).map(Some) }
    }

    take! {
        /// A string, if sent.
        text: Text -> String;
        /// A whole number, if sent.
        int: Int -> i64;
        /// A number, if sent.
        number: Number -> f64;
        /// A truth, if sent.
        boolean: Bool -> bool;
        /// An instant, if sent.
        time: Time -> Time;
        /// JSON as it was sent, if sent.
        json: Json -> &'a str;
        /// Strings, if sent.
        texts: Texts -> Vec<String>;
        /// An object, if sent.
        object: Object -> Object<'a>;
    }

    /// The thing that a word means, if sent; one that means nothing is refused.
    pub fn word<T>(&mut self, name: &str, parse: impl FnOnce(&str) -> Option<T>) -> Result<Option<T>, Problem> {
        let Some(word) = self.text(name) else { return Ok(None) };
        let (place, got) = (self.place(name), text::cut(&word, GOT_CHARS));
        let refused = || {
            let message = format!("`{place}` is not known: {got}");
            Problem::invalid("out_of_bounds", &place, "a known word", &got, message)
        };
        parse(&word).map(Some).ok_or_else(refused)
    }

    /// What `read` makes of the objects of a list, one after the other.
    pub fn list<T>(
        &mut self,
        name: &str,
        read: impl FnMut(Object<'a>) -> Result<T, Problem>,
    ) -> Result<Vec<T>, Problem> {
        self.list_by(name, |_, shapes| shapes[0], read)
    }

    /// What `read` makes of the objects of a list, each of the shape that its keys tell.
    pub fn list_by<T>(
        &mut self,
        name: &str,
        shape: impl Fn(&Fields<'a>, &'static [&'static Shape]) -> &'static Shape,
        mut read: impl FnMut(Object<'a>) -> Result<T, Problem>,
    ) -> Result<Vec<T>, Problem> {
        let Some(Value::List(shapes, nodes)) = self.take(name) else { return Ok(Vec::new()) };
        let item = |(i, node): (usize, Node<'a>)| {
            let fields = node.fields(&format!("{name}[{i}]"))?;
            let shape = shape(&fields, shapes);
            read(fields.object(shape)?)
        };
        nodes.into_iter().enumerate().map(item).collect()
    }

    /// Where a field of this object is, for refusals.
    #[must_use]
    pub fn place(&self, field: &str) -> String {
        inside(&self.place, field)
    }
}

/// Reads the items of a list, or how many there are if these are too many.
struct Items {
    max: u64,
}

impl<'de> Visitor<'de> for Items {
    type Value = Result<Vec<Node<'de>>, u64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while (items.len() as u64) < self.max {
            let Some(raw) = seq.next_element::<&'de RawValue>()? else { return Ok(Ok(items)) };
            items.push(Node { raw });
        }
        let mut count = self.max;
        while seq.next_element::<IgnoredAny>()?.is_some() {
            count += 1;
        }
        Ok(if count > self.max { Err(count) } else { Ok(items) })
    }
}

/// The entries of an object, as many as could be right.
struct Entries<'a>(Vec<(Cow<'a, str>, Node<'a>)>);

impl<'de> Deserialize<'de> for Entries<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keys;

        impl<'de> Visitor<'de> for Keys {
            type Value = Entries<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries<'de>, A::Error> {
                let mut entries = Vec::new();
                while entries.len() < KEYS_READ_MAX {
                    let Some((Key(key), raw)) = map.next_entry::<Key<'de>, &'de RawValue>()? else {
                        return Ok(Entries(entries));
                    };
                    entries.push((key, Node { raw }));
                }
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Entries(entries))
            }
        }

        deserializer.deserialize_map(Keys)
    }
}

/// A key, borrowed unless it holds escapes.
#[derive(serde::Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

/// Whether brackets outside strings nest deeper than `max`. The text need not be valid JSON.
fn deeper_than(max: usize, bytes: &[u8]) -> bool {
    let mut depth = 0usize;
    let mut in_string = false;
    let mut escaped = false;
    for byte in bytes {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                if depth > max {
                    return true;
                }
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

fn inside(place: &str, key: &str) -> String {
    let key = text::cut(key, GOT_CHARS);
    if place.is_empty() { key } else { format!("{place}.{key}") }
}

fn unknown_field(place: &str, key: &str, shape: &Shape) -> Problem {
    let known = || shape.fields.iter().map(|field| field.name);
    let limit = format!("one of {}", known().collect::<Vec<_>>().join(", "));
    let nearest = text::nearest(key, known());
    let hint = nearest.map_or_else(|| format!("use {limit}"), |near| format!("did you mean `{near}`?"));
    let problem = Problem::invalid(
        "unknown_field",
        place,
        &limit,
        &text::cut(key, GOT_CHARS),
        format!("`{place}` is not a field here: {hint}"),
    );
    match nearest {
        Some(near) => problem.fact("nearest", near),
        None => problem,
    }
}

fn unsupported(place: &str, got: &str) -> Problem {
    let message = format!("`{place}` holds {got}, which is not text");
    Problem::invalid("unsupported_character", place, "text without lone surrogates", got, message)
}
