//! Store addresses in messages: never with their password.

/// Options of an address whose value is a secret, or is an address with one inside.
const SECRET_OPTIONS: [&str; 3] = ["password=", "sslpassword=", "listen_url="];

/// What must not be printed of a store address.
fn secrets(url: &str) -> Vec<&str> {
    let place = url.split_once("://").map_or("", |(_, place)| place);
    // A password may itself hold `/`, `?` or `@`: it ends at the last `@` before the options.
    let authority = place.split('?').next().unwrap_or_default();
    let in_userinfo =
        authority.rsplit_once('@').and_then(|(user, _)| user.split_once(':')).map(|(_, password)| password);
    let options = url.split_once('?').map_or("", |(_, options)| options).split('&');
    let in_options = options.filter_map(|pair| SECRET_OPTIONS.iter().find_map(|name| pair.strip_prefix(name)));
    in_userinfo.into_iter().chain(in_options).filter(|secret| !secret.is_empty()).collect()
}

/// Whether an address has something that must not be printed.
pub(crate) fn has_secret(url: &str) -> bool {
    !secrets(url).is_empty()
}

/// `text`, which speaks of the store at `url`, without that store's secrets.
pub(crate) fn masked(text: &str, url: &str) -> String {
    secrets(url).into_iter().fold(text.to_owned(), |text, secret| text.replace(secret, "***"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_masked_wherever_it_stands() {
        let check = |url: &str, shown: &str| assert_eq!(masked(url, url), shown);
        check("postgres://app:s3cret@h:5432/db", "postgres://app:***@h:5432/db");
        check("postgres://app:p@ss@h,i/db?x=1", "postgres://app:***@h,i/db?x=1");
        check("postgres://app@h/db?password=s3cret&x=1", "postgres://app@h/db?password=***&x=1");
        check(
            "postgres://app:p/s@h/db?listen_url=postgres%3A%2F%2Fa%3Ab%40h",
            "postgres://app:***@h/db?listen_url=***",
        );
        check("postgres://app@h/db", "postgres://app@h/db");
        check("sqlite:tenure.db", "sqlite:tenure.db");
    }
}
