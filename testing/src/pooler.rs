//! PgBouncer in transaction mode, in front of a test server.
//!
//! The strictest that such a pooler can be: transactions of one client go round over several server connections, and no
//! named statement is known to it, so that whatever leans on a session breaks. It listens on a socket in a folder of its
//! own, runs as `nobody` where we are root, and ends with the process that started it, as the servers do.

use std::fs::{self, File};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::OnceLock;
use std::thread;
use std::time::Instant;

use tokio_postgres::config::{Config, Host};

use crate::account::Account;
use crate::database::{DatabaseError, admin_url};
use crate::installation::{self, last_lines};
use crate::janitor::Janitor;
use crate::server::{PATIENCE, POLL, ServerError, new_folder, percent_encoded};

/// The port in the socket's name; nothing listens on TCP, and the folder is private.
const PORT: u16 = 6432;

/// A pooler of one's own.
#[derive(Debug)]
pub struct Pooler {
    folder: PathBuf,
    process: Option<Child>,
    janitor: Janitor,
}

impl Pooler {
    /// Starts a pooler in front of the server at `url`; every database of that server is reached through it.
    ///
    /// # Errors
    ///
    /// See [`ServerError`]. Nothing is left behind.
    pub fn start(url: &str) -> Result<Self, ServerError> {
        let account = Account::current();
        let program = installation::find_or_install_pooler(account == Account::Nobody)?;
        let folder = new_folder()?;
        let mut stop = Command::new("sh");
        // It keeps nothing worth a farewell.
        stop.args(["-c", r#"kill -9 "$(cat "$0/pooler.pid")""#]).arg(&folder);
        let janitor = Janitor::hire(&folder, &stop).map_err(ServerError::io("start `sh`"))?;
        let mut pooler = Self { folder, process: None, janitor };
        account.give(&pooler.folder).map_err(ServerError::io("hand the folder to nobody"))?;
        let file = pooler.folder.join("pooler.ini");
        fs::write(&file, pooler.settings(url, knows_named_statements(&program))?)
            .map_err(ServerError::io("write the pooler's settings"))?;
        let log = File::create(pooler.log_file()).map_err(ServerError::io("open the pooler's log"))?;
        let errors = log.try_clone().map_err(ServerError::io("open the pooler's log"))?;
        let child = account
            .command(&program)
            .arg(&file)
            .process_group(0)
            .stdout(log)
            .stderr(errors)
            .spawn()
            .map_err(ServerError::io("start pgbouncer"))?;
        pooler.process = Some(child);
        pooler.wait()?;
        Ok(pooler)
    }

    /// The pooler in front of the test run's server (see [`TestDatabase`](crate::TestDatabase)), one for each test process.
    ///
    /// # Errors
    ///
    /// See [`DatabaseError`].
    pub async fn shared() -> Result<&'static Self, DatabaseError> {
        static SHARED: OnceLock<Result<Pooler, ServerError>> = OnceLock::new();
        let url = admin_url().await?;
        let started = tokio::task::spawn_blocking(move || SHARED.get_or_init(|| Self::start(&url)).as_ref()).await;
        started.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic())).map_err(DatabaseError::Server)
    }

    /// Where `database` is reached, through the pooler.
    pub fn url(&self, database: &str) -> String {
        let host = percent_encoded(&self.folder.display().to_string());
        format!("postgres://postgres@{host}:{PORT}/{}", percent_encoded(database))
    }

    /// The folder that holds its socket and its log (`pooler.log`).
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn settings(&self, url: &str, named_statements: bool) -> Result<String, ServerError> {
        let refused = |reason: String| ServerError::Start { log: reason };
        let server: Config = url.parse().map_err(|error: tokio_postgres::Error| refused(error.to_string()))?;
        let host = match server.get_hosts().first() {
            Some(Host::Tcp(host)) => host.clone(),
            Some(Host::Unix(folder)) => folder.display().to_string(),
            None => return Err(refused("the server's address names no host".to_owned())),
        };
        let port = server.get_ports().first().copied().unwrap_or(5432);
        let user = server.get_user().unwrap_or("postgres");
        let password = match server.get_password() {
            Some(password) => format!(" password='{}'", String::from_utf8_lossy(password).replace('\'', "''")),
            None => String::new(),
        };
        let folder = self.folder.display();
        // From 1.21 on it can translate named statements, and from 1.24 on it does unless told otherwise.
        let strict = if named_statements { "max_prepared_statements = 0\n" } else { "" };
        Ok(format!(
            "[databases]\n\
             * = host='{host}' port={port} user='{user}'{password}\n\
             [pgbouncer]\n\
             listen_addr =\n\
             listen_port = {PORT}\n\
             unix_socket_dir = {folder}\n\
             pidfile = {folder}/pooler.pid\n\
             auth_type = any\n\
             admin_users = postgres\n\
             pool_mode = transaction\n\
             min_pool_size = 2\n\
             default_pool_size = 5\n\
             server_round_robin = 1\n\
             max_client_conn = 1000\n\
             {strict}"
        ))
    }

    /// Returns when it accepts connections.
    fn wait(&mut self) -> Result<(), ServerError> {
        let socket = self.folder.join(format!(".s.PGSQL.{PORT}"));
        let deadline = Instant::now() + PATIENCE;
        while UnixStream::connect(&socket).is_err() {
            let ended = match &mut self.process {
                Some(child) => child.try_wait().map_err(ServerError::io("wait for the pooler"))?.is_some(),
                None => true,
            };
            if ended {
                return Err(ServerError::Start { log: self.log() });
            }
            if Instant::now() > deadline {
                return Err(ServerError::Timeout { action: "start", log: self.log() });
            }
            thread::sleep(POLL);
        }
        Ok(())
    }

    fn log_file(&self) -> PathBuf {
        self.folder.join("pooler.log")
    }

    fn log(&self) -> String {
        last_lines(&fs::read_to_string(self.log_file()).unwrap_or_default())
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        if let Some(mut child) = self.process.take() {
            // The janitor would stop it too, but only its parent can collect its exit status.
            let _ = child.kill();
            let _ = child.wait();
            let _ = fs::remove_file(self.folder.join("pooler.pid"));
        }
        if let Err(error) = self.janitor.clean_up() {
            eprintln!("tenure-testing: {} may stay behind: {error}", self.folder.display());
        }
    }
}

/// Whether this version has a setting for named statements: `PgBouncer 1.18.0` has not.
fn knows_named_statements(program: &Path) -> bool {
    let Ok(output) = Command::new(program).arg("--version").output() else { return false };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    version(&text).is_some_and(|version| version >= (1, 21))
}

fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.lines().next()?.split_whitespace().last()?.split('.').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_last_word_of_the_first_line() {
        assert_eq!(version("PgBouncer 1.18.0\nlibevent 2.1.12-stable\n"), Some((1, 18)));
        assert_eq!(version("PgBouncer 1.24.1\n"), Some((1, 24)));
        assert_eq!(version(""), None);
    }
}
