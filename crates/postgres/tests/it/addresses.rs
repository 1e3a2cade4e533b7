//! Odd addresses: what is said of them never repeats them. `hunter2` stands for the secret.

use tenure_postgres::{PostgresOptions, PostgresStore};

/// Addresses that are wrong in some way, each with a secret where people put one.
const WRONG: [&str; 34] = [
    "",
    "hunter2",
    "postgres:",
    "postgres://",
    "postgres://u:hunter2@",
    "postgres://u:hunter2@/db",
    "postgres://u:hun?hunter2@h/db",
    "postgres://u:hun#hunter2?@h/db",
    "postgres://u:hun/hunter2@h/db",
    "postgres://u:5/hunter2@h/db",
    "postgres://u:5/hunter2?application_name=@h/db",
    "postgres://u:5/hunter2?hunter2@h/db",
    "postgres://u:p@hunter2@h/db",
    "postgres://u:hunter2@h@i/db",
    "postgres:u:hunter2@h/db",
    "postgres:/u:hunter2@h/db",
    "postgres:host=h password=hunter2",
    "host=h password=hunter2",
    "postgres://h/db?passwd=hunter2",
    "postgres://h/db?hunter2",
    "postgres://h/db?hunter2=1",
    "postgres://h/db?password=hunter2&hunter2",
    "postgres://u:hunter2@[::1/db",
    "postgres://u:hunter2@[::1]x/db",
    "postgres://u:hunter2@h:port/db",
    "postgres://u:hunter2@h:hunter2/db",
    "postgres://u:hunter2@h:99999/db",
    "postgres://u:hunter2%zz@h/db",
    "postgres://u:hunter2@h/db?schema=hunter2;drop",
    "postgres://u:hunter2@h/db?connect_timeout=hunter2",
    "postgres://u:hunter2@h/db?sslmode=hunter2",
    "postgres://u:hunter2@h/db?listen_url=hunter2",
    "postgres://u:hunter2@h/db?listen_url=postgres%3A%2F%2Fu%3Ap%40hunter2%40h",
    "postgres://u:hunter2@h\u{7}\u{1b}[31m/db",
];

fn unspoken(address: &str, said: &str) {
    assert!(!said.contains("hunter2"), "{address:?} is told as {said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_address_is_refused_without_repeating_it() {
    let long = format!("postgres://u:hunter2@{}/db?x", "h".repeat(1_000_000));
    for address in WRONG.into_iter().chain([long.as_str(), "postgres://u:hunter2@hö\u{202e}st/d\u{0}b"]) {
        let error = PostgresStore::open(address).await.err().unwrap_or_else(|| panic!("{address:?} was opened"));
        assert_eq!(error.code(), "store_address", "{address:?}: {error}");
        assert!(error.to_string().len() < 500, "{error}");
        for said in [error.to_string(), format!("{error:?}"), format!("{error:#?}")] {
            unspoken(address, &said);
            assert!(!said.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{said:?}");
        }
        let error = tenure_postgres::roles(address).unwrap_err();
        unspoken(address, &format!("{error} {error:?}"));
    }
}

#[test]
fn an_address_that_is_right_is_shown_without_its_secrets() {
    for address in [
        "postgres://u:hunter2@h/db",
        "postgres://u:%68unter2hunter2@h:5433,i/db?schema=work",
        "postgres://u:hunter2#hunter2@h/db",
        "postgres://u@h/db?password=hunter2",
        "postgres://u@h/db?options=hunter2&application_name=hunter2",
        "postgres://u@h/db?listen_url=postgres%3A%2F%2Fu%3Ahunter2%40h%2Fdb",
    ] {
        let options = PostgresOptions::parse(address).unwrap();
        let said = format!("{options:?} {options:#?}");
        unspoken(address, &said);
        assert!(said.contains("postgres://h"), "{said}");
    }
}

/// A small generator of numbers: the same on every machine.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, max: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % max
    }
}

/// Addresses with a secret in it that was not encoded as it should be, broken in some more places.
#[test]
fn a_secret_among_random_rubbish_is_never_repeated() {
    const PIECES: [&str; 22] = [
        "@",
        ":",
        "/",
        "?",
        "#",
        "&",
        "=",
        "%",
        "%40",
        "%2F",
        "%zz",
        "[",
        "]",
        ",",
        " ",
        "\n",
        "\u{0}",
        "ü",
        "5",
        "x",
        "schema=",
        "application_name=",
    ];
    const FRAMES: [(&str, &str); 8] = [
        ("postgres://u:", "@h/db"),
        ("postgresql://u:", "@h:5432,i/db?schema=work"),
        ("postgres://u:", "@[::1]/db"),
        ("postgres://u@h/db?password=", ""),
        ("postgres://u@h/db?schema=work&password=", "&connect_timeout=3"),
        ("postgres://u@h/db?listen_url=postgres://u:", "@h/db"),
        ("postgres:u:", "@h/db"),
        ("host=h password=", " user=u"),
    ];
    let mut numbers = Numbers(2_026);
    for round in 0..40_000 {
        let mut rubbish = || (0..numbers.below(4)).map(|_| PIECES[numbers.below(PIECES.len())]).collect::<String>();
        let secret = format!("{}hunter2{}", rubbish(), rubbish());
        let (before, after) = FRAMES[round % FRAMES.len()];
        let address = format!("{before}{secret}{after}");
        let said = match PostgresOptions::parse(&address) {
            Ok(options) => format!("{options:?}"),
            Err(error) => format!("{error} {error:?}"),
        };
        unspoken(&address, &said);
    }
}
