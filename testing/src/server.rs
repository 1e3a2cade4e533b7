//! One private PostgreSQL server.
//!
//! Its data lives in a folder of its own under the system's temporary folder, and it is reached through a socket in that
//! folder; on TCP only if asked, on the loopback address, with a password. It ends with the process that started it.
//!
//! Always true:  two servers share nothing · [`PostgresServer::start`] returns when connections are accepted · after
//! [`PostgresServer::stop`] no process of the server is left · `Drop` leaves neither process nor folder.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::account::Account;
use crate::installation::{self, InstallationError, last_lines};
use crate::janitor::Janitor;

/// The superuser of every private server, whatever account runs it.
const SUPERUSER: &str = "postgres";

/// The port in the socket's name when nothing listens on TCP. It cannot clash: the folder is private.
const SOCKET_PORT: u16 = 5432;

/// Linux's `sockaddr_un` holds 108 bytes, the last of them zero.
const SOCKET_PATH_MAX: usize = 107;

/// What `pg_ctl` allows by default. A start takes about 0.1 s; one that recovers from a crash on a busy machine, more.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// How often a start or stop is looked at: small against the 50 ms either takes at least.
pub(crate) const POLL: Duration = Duration::from_millis(5);

/// A free port may be taken between the look and the server's bind. Losing that race three times running is a finding.
const PORT_TRIES: u32 = 3;

/// The files of a server that offers TLS, in its folder.
const AUTHORITY: &str = "authority.pem";
const AUTHORITY_KEY: &str = "authority.key";
const CERTIFICATE: &str = "server.pem";
const CERTIFICATE_KEY: &str = "server.key";

/// How a private server is set up. What is not named keeps PostgreSQL's default.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    fsync: bool,
    shared_buffers: String,
    max_connections: u32,
    tcp: bool,
    tls: bool,
    settings: Vec<(String, String)>,
}

impl ServerOptions {
    /// For tests of behaviour: the same answers, without waiting for the disk. Survives a crash of the server's
    /// processes, not one of the machine.
    pub fn fast() -> Self {
        Self {
            fsync: false,
            // PostgreSQL's own default: many small databases, nothing large.
            shared_buffers: "128MB".to_owned(),
            // Tests of one binary run side by side, each with a pool and some with dozens of workers.
            max_connections: 300,
            tcp: false,
            tls: false,
            settings: Vec::new(),
        }
    }

    /// For benches and tests of durability: what is acknowledged is on the disk.
    pub fn durable() -> Self {
        Self { fsync: true, ..Self::fast() }
    }

    /// Memory for pages, as PostgreSQL writes it: `"1GB"`.
    pub fn shared_buffers(mut self, size: impl Into<String>) -> Self {
        self.shared_buffers = size.into();
        self
    }

    /// How many connections may be open at once.
    pub fn max_connections(mut self, count: u32) -> Self {
        self.max_connections = count;
        self
    }

    /// Listen on a free port of 127.0.0.1 too, for programs that know no sockets. See [`PostgresServer::tcp_url`].
    pub fn tcp(mut self) -> Self {
        self.tcp = true;
        self
    }

    /// Offer TLS on TCP, under a certificate for 127.0.0.1 by an authority of this server's own. See
    /// [`PostgresServer::authority`].
    pub fn tls(mut self) -> Self {
        self.tls = true;
        self.tcp()
    }

    /// Any other setting of `postgresql.conf`. A later one wins, over the options above as well.
    pub fn setting(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.push((name.into(), value.into()));
        self
    }

    fn arguments(&self, folder: &Path, port: u16) -> Vec<String> {
        let on_off = |on| if on { "on" } else { "off" };
        let mut settings = vec![
            ("listen_addresses", if self.tcp { "127.0.0.1" } else { "" }.to_owned()),
            ("port", port.to_string()),
            ("unix_socket_directories", folder.display().to_string()),
            ("fsync", on_off(self.fsync).to_owned()),
            // Torn pages come from a crash of the machine, which a server without fsync does not survive anyway.
            ("full_page_writes", on_off(self.fsync).to_owned()),
            ("synchronous_commit", "on".to_owned()),
            ("shared_buffers", self.shared_buffers.clone()),
            ("max_connections", self.max_connections.to_string()),
        ];
        if self.tls {
            let file = |name: &str| folder.join(name).display().to_string();
            settings.extend([("ssl", "on".to_owned()), ("ssl_cert_file", file(CERTIFICATE))]);
            settings.push(("ssl_key_file", file(CERTIFICATE_KEY)));
        }
        settings.extend(self.settings.iter().map(|(name, value)| (name.as_str(), value.clone())));
        settings.into_iter().flat_map(|(name, value)| ["-c".to_owned(), format!("{name}={value}")]).collect()
    }
}

/// How a server is asked to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopMode {
    /// Roll back what is open, write a checkpoint, end.
    Fast,
    /// End at once, as in a crash: the next start recovers from the log.
    Immediate,
}

/// What can go wrong with a private server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// There is no PostgreSQL to run.
    #[error(transparent)]
    Installation(#[from] InstallationError),
    /// The temporary folder's name is too long for a socket inside it.
    #[error("{} is longer than a socket's path may be ({SOCKET_PATH_MAX} bytes): set TMPDIR to a shorter one", path.display())]
    SocketPath {
        /// The path that did not fit.
        path: PathBuf,
    },
    /// The machine refused.
    #[error("cannot {action}: {source}")]
    Io {
        /// What was being done.
        action: &'static str,
        /// The reason.
        source: io::Error,
    },
    /// `initdb` could not make the data folder.
    #[error("initdb failed: {output}")]
    Initdb {
        /// Its closing lines.
        output: String,
    },
    /// A program of PostgreSQL failed.
    #[error("{program} failed: {output}")]
    Program {
        /// Which one.
        program: &'static str,
        /// Its closing lines.
        output: String,
    },
    /// `openssl` could not make the server's certificate.
    #[error("openssl failed: {output}")]
    Certificate {
        /// Its closing lines.
        output: String,
    },
    /// The server ended before it accepted a connection.
    #[error("the server did not start; its log ends with:\n{log}")]
    Start {
        /// The closing lines of its log.
        log: String,
    },
    /// The server neither started (or stopped) nor ended within a minute.
    #[error("the server did not {action} within {} s; its log ends with:\n{log}", PATIENCE.as_secs())]
    Timeout {
        /// `"start"` or `"stop"`.
        action: &'static str,
        /// The closing lines of its log.
        log: String,
    },
    /// Started twice.
    #[error("the server is running already")]
    AlreadyRunning,
    /// No file system of a chosen size can be had.
    #[error("a small file system cannot be mounted, which takes root: {reason}")]
    Mount {
        /// What `mount` said.
        reason: String,
    },
}

impl ServerError {
    pub(crate) fn io(action: &'static str) -> impl Fn(io::Error) -> Self {
        move |source| Self::Io { action, source }
    }
}

/// A PostgreSQL server of one's own. Shared by reference: a test may stop it while its tasks still use it.
#[derive(Debug)]
pub struct PostgresServer {
    options: ServerOptions,
    account: Account,
    programs: PathBuf,
    folder: PathBuf,
    port: u16,
    password: String,
    process: Mutex<Option<Child>>,
    janitor: Janitor,
}

impl PostgresServer {
    /// Makes a new server and starts it; blocks for about a second, most of it `initdb`.
    ///
    /// # Errors
    ///
    /// See [`ServerError`]. Nothing is left behind.
    pub fn start(options: ServerOptions) -> Result<Self, ServerError> {
        let password = random_hex().map_err(ServerError::io("draw a password"))?;
        let server = Self::prepared(options, password)?;
        server.initdb()?;
        if server.options.tls {
            server.certify()?;
        }
        server.on_a_port()
    }

    /// A hot standby of this server: a copy of its data that follows what it commits, under `name` in
    /// `synchronous_standby_names`. Returns when it can be read from.
    ///
    /// # Errors
    ///
    /// See [`ServerError`]. Nothing is left behind.
    pub fn standby(&self, name: &str, options: ServerOptions) -> Result<Self, ServerError> {
        // The name that a standby gives itself where no other was set.
        let options = options.setting("cluster_name", name);
        let standby = Self::prepared(options, self.password.clone())?;
        let output = standby
            .account
            .command(standby.programs.join("pg_basebackup"))
            .arg("--pgdata")
            .arg(standby.data())
            .arg("--host")
            .arg(&self.folder)
            .args(["--port", &self.port.to_string(), "--username", SUPERUSER])
            .args(["--write-recovery-conf", "--checkpoint=fast", "--no-sync"])
            .output()
            .map_err(ServerError::io("run pg_basebackup"))?;
        if !output.status.success() {
            return Err(ServerError::Program { program: "pg_basebackup", output: text_of(&output) });
        }
        standby.on_a_port()
    }

    /// Makes a standby take writes; returns when it does.
    ///
    /// # Errors
    ///
    /// [`ServerError::Program`] if it is no standby.
    pub fn promote(&self) -> Result<(), ServerError> {
        let output = self
            .account
            .command(self.programs.join("pg_ctl"))
            .args(["promote", "--wait", "--timeout", &PATIENCE.as_secs().to_string(), "--pgdata"])
            .arg(self.data())
            .output()
            .map_err(ServerError::io("run pg_ctl"))?;
        if output.status.success() {
            return Ok(());
        }
        Err(ServerError::Program { program: "pg_ctl promote", output: text_of(&output) })
    }

    /// Stops every process of the server where it stands, as a machine that hangs: connections stay open and nothing is
    /// answered, until [`thaw`](Self::thaw).
    pub fn freeze(&self) {
        self.signal_all(Signal::STOP);
    }

    /// Lets a frozen server go on.
    pub fn thaw(&self) {
        self.signal_all(Signal::CONT);
    }

    /// Ends every process of the server at once (SIGKILL), frozen or not. Its data stays.
    pub fn kill(&self) {
        self.signal_all(Signal::KILL);
        if let Some(mut child) = self.process().take() {
            let _ = child.wait();
        }
    }

    /// The first process before its children: it starts no others meanwhile.
    fn signal_all(&self, signal: Signal) {
        let process = self.process();
        let Some(child) = process.as_ref() else { return };
        for pid in [Pid::from_child(child)].into_iter().chain(children(child.id())) {
            // Who cannot be reached has ended, which is as good.
            let _ = send(pid, signal);
        }
    }

    /// A folder and someone to clean it up; no data yet.
    fn prepared(options: ServerOptions, password: String) -> Result<Self, ServerError> {
        let account = Account::current();
        let programs = installation::find_or_install(account == Account::Nobody)?;
        let folder = new_folder()?;
        let mut stop = account.command(programs.join("pg_ctl"));
        stop.args(["stop", "--mode=immediate", "--pgdata"]).arg(folder.join("data"));
        let janitor = Janitor::hire(&folder, &stop).map_err(ServerError::io("start `sh`"))?;
        let server = Self {
            options,
            account,
            programs,
            folder,
            port: SOCKET_PORT,
            password,
            process: Mutex::new(None),
            janitor,
        };
        server.account.give(&server.folder).map_err(ServerError::io("hand the folder to nobody"))?;
        Ok(server)
    }

    /// Started for the first time.
    fn on_a_port(mut self) -> Result<Self, ServerError> {
        let mut tries = PORT_TRIES;
        loop {
            tries -= 1;
            if self.options.tcp {
                self.port = free_port().map_err(ServerError::io("find a free port"))?;
            }
            match self.start_again() {
                Err(ServerError::Start { log }) if tries > 0 && log.contains("could not bind") => {}
                started => return started.map(|()| self),
            }
        }
    }

    /// Where `database` is reached, through the server's socket.
    pub fn url(&self, database: &str) -> String {
        let host = percent_encoded(&self.folder.display().to_string());
        format!("postgres://{SUPERUSER}@{host}:{}/{}", self.port, percent_encoded(database))
    }

    /// Where `database` is reached on TCP; `None` unless [`ServerOptions::tcp`] was asked for.
    pub fn tcp_url(&self, database: &str) -> Option<String> {
        let Self { password, port, .. } = self;
        self.options
            .tcp
            .then(|| format!("postgres://{SUPERUSER}:{password}@127.0.0.1:{port}/{}", percent_encoded(database)))
    }

    /// The folder that holds the server's socket, data (`data/`) and log (`server.log`).
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The certificate of the authority that vouches for this server, if it offers TLS.
    pub fn authority(&self) -> PathBuf {
        self.folder.join(AUTHORITY)
    }

    /// The folder of the server's programs: `psql`, `pg_basebackup` and the rest.
    pub fn programs(&self) -> &Path {
        &self.programs
    }

    /// The server's first process; `None` while it is stopped.
    pub fn pid(&self) -> Option<u32> {
        self.process().as_ref().map(Child::id)
    }

    /// Stops the server and waits until it has ended. Its data stays. A stopped server is left as it is.
    ///
    /// # Errors
    ///
    /// [`ServerError::Timeout`] if it is still there after a minute.
    pub fn stop(&self, mode: StopMode) -> Result<(), ServerError> {
        let mut process = self.process();
        let Some(child) = process.as_mut() else { return Ok(()) };
        let signal = match mode {
            StopMode::Fast => Signal::INT,
            StopMode::Immediate => Signal::QUIT,
        };
        // A child that was not waited for keeps its id: the signal cannot reach a stranger.
        send(Pid::from_child(child), signal)?;
        // A frozen server hears nothing.
        send(Pid::from_child(child), Signal::CONT)?;
        for id in children(child.id()) {
            send(id, Signal::CONT)?;
        }
        let deadline = Instant::now() + PATIENCE;
        while child.try_wait().map_err(ServerError::io("wait for the server"))?.is_none() {
            if Instant::now() > deadline {
                return Err(ServerError::Timeout { action: "stop", log: self.log() });
            }
            thread::sleep(POLL);
        }
        *process = None;
        Ok(())
    }

    /// Starts a stopped server, on the same data, at the same address; returns when it accepts connections.
    ///
    /// # Errors
    ///
    /// See [`ServerError`].
    pub fn start_again(&self) -> Result<(), ServerError> {
        let mut process = self.process();
        if process.is_some() {
            return Err(ServerError::AlreadyRunning);
        }
        let mut child = self.launch()?;
        let deadline = Instant::now() + PATIENCE;
        while !self.accepts_connections(child.id()) {
            if child.try_wait().map_err(ServerError::io("wait for the server"))?.is_some() {
                return Err(ServerError::Start { log: self.log() });
            }
            if Instant::now() > deadline {
                *process = Some(child);
                return Err(ServerError::Timeout { action: "start", log: self.log() });
            }
            thread::sleep(POLL);
        }
        *process = Some(child);
        Ok(())
    }

    /// [`stop`](Self::stop), then [`start_again`](Self::start_again).
    ///
    /// # Errors
    ///
    /// See [`ServerError`].
    pub fn restart(&self, mode: StopMode) -> Result<(), ServerError> {
        self.stop(mode)?;
        self.start_again()
    }

    /// The closing lines of the server's log.
    pub fn log(&self) -> String {
        last_lines(&fs::read_to_string(self.log_file()).unwrap_or_default())
    }

    fn log_file(&self) -> PathBuf {
        self.folder.join("server.log")
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// A test that panicked while it held the lock has not harmed the child inside.
    fn process(&self) -> MutexGuard<'_, Option<Child>> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn initdb(&self) -> Result<(), ServerError> {
        let password_file = self.folder.join("password");
        // Written under the server's account, whose `initdb` must be able to read it, in a folder closed to others.
        run_with_input(self.account.command("tee").arg(&password_file), &self.password)
            .and_then(|output| if output.status.success() { Ok(()) } else { Err(io::Error::other(text_of(&output))) })
            .map_err(ServerError::io("write the password"))?;
        let output = self
            .account
            .command(self.programs.join("initdb"))
            .arg("--pgdata")
            .arg(self.data())
            .arg("--pwfile")
            .arg(&password_file)
            // The socket's folder is closed to others already. `--no-sync`: nothing in the data is worth keeping yet.
            .args(["--username", SUPERUSER, "--auth-local=trust", "--auth-host=scram-sha-256", "--no-sync"])
            .args(["--encoding=UTF8", "--locale=C"])
            .output()
            .map_err(ServerError::io("run initdb"))?;
        if output.status.success() { Ok(()) } else { Err(ServerError::Initdb { output: text_of(&output) }) }
    }

    /// Makes an authority, and a certificate by it for the address this server listens on.
    fn certify(&self) -> Result<(), ServerError> {
        let new = |subject: &str, key: &str, certificate: &str| {
            let mut command = self.account.command("openssl");
            command
                .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"])
                .args(["-days", "3650", "-subj", subject, "-keyout"])
                .arg(self.folder.join(key))
                .arg("-out")
                .arg(self.folder.join(certificate));
            command
        };
        let mut signed = new("/CN=tenure test server", CERTIFICATE_KEY, CERTIFICATE);
        signed
            .args(["-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE", "-CA"])
            .arg(self.folder.join(AUTHORITY))
            .arg("-CAkey")
            .arg(self.folder.join(AUTHORITY_KEY));
        for mut command in [new("/CN=tenure test authority", AUTHORITY_KEY, AUTHORITY), signed] {
            let output = command.output().map_err(ServerError::io("run openssl"))?;
            if !output.status.success() {
                return Err(ServerError::Certificate { output: text_of(&output) });
            }
        }
        Ok(())
    }

    fn launch(&self) -> Result<Child, ServerError> {
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.log_file())
            .map_err(ServerError::io("open the server's log"))?;
        let errors = log.try_clone().map_err(ServerError::io("open the server's log"))?;
        self.account
            .command(self.programs.join("postgres"))
            .arg("-D")
            .arg(self.data())
            .args(self.options.arguments(&self.folder, self.port))
            // A group of its own: Ctrl-C in the terminal ends the tests first, and the janitor then ends the server.
            .process_group(0)
            .stdout(log)
            .stderr(errors)
            .spawn()
            .map_err(ServerError::io("start postgres"))
    }

    /// Whether the server wrote "ready" into its lock file, the way `pg_ctl` waits. The file's first line is the
    /// server's process, which tells it from one left by a crash; its eighth is the status.
    fn accepts_connections(&self, pid: u32) -> bool {
        let Ok(text) = fs::read_to_string(self.data().join("postmaster.pid")) else { return false };
        let mut lines = text.lines();
        lines.next().is_some_and(|line| line.trim() == pid.to_string())
            // A hot standby calls itself that.
            && lines.nth(6).is_some_and(|line| matches!(line.trim(), "ready" | "standby"))
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        // A frozen one would not hear that it should stop.
        self.thaw();
        // The janitor would stop it too, but only its parent can collect its exit status.
        let stopped = self.stop(StopMode::Immediate);
        let cleaned = self.janitor.clean_up().map_err(ServerError::io("wait for the janitor"));
        if let Err(error) = stopped.and(cleaned) {
            eprintln!("tenure-testing: {} may stay behind: {error}", self.folder.display());
        }
    }
}

/// A process that has ended meanwhile needs no signal.
fn send(process: Pid, signal: Signal) -> Result<(), ServerError> {
    match kill_process(process, signal) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(ServerError::Io { action: "signal the server", source: error.into() }),
    }
}

/// A new folder, closed to others, short enough for a socket.
pub(crate) fn new_folder() -> Result<PathBuf, ServerError> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("tenure-pg-{}-{number}", std::process::id()));
        // The longest name the socket can have in there.
        let path = folder.join(format!(".s.PGSQL.{}", u16::MAX));
        if path.as_os_str().len() > SOCKET_PATH_MAX {
            return Err(ServerError::SocketPath { path });
        }
        match fs::DirBuilder::new().mode(0o700).create(&folder) {
            Ok(()) => return Ok(folder),
            // Left by a process of the same id whose janitor was killed: the next number is as good.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(source) => return Err(ServerError::Io { action: "make a temporary folder", source }),
        }
    }
}

/// The processes that `parent` started.
fn children(parent: u32) -> Vec<Pid> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let of_parent = |pid: &i32| {
        // The parent's number is the second word after the program's name, which stands in brackets.
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let word = stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(1));
        word.is_some_and(|word| word == parent.to_string())
    };
    pids.filter(of_parent).filter_map(Pid::from_raw).collect()
}

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// 128 bits that nobody guesses.
fn random_hex() -> io::Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    }))
}

fn run_with_input(command: &mut Command, input: &str) -> io::Result<Output> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes())?;
    }
    child.wait_with_output()
}

fn text_of(output: &Output) -> String {
    last_lines(&format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)))
}

/// All but letters, digits, `-`, `_`, `.` and `~`, so that a path can stand where a URL has its host.
pub(crate) fn percent_encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut encoded, byte| {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
        encoded
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_can_stand_in_a_url_for_a_host() {
        assert_eq!(percent_encoded("/tmp/tenure-pg-7"), "%2Ftmp%2Ftenure-pg-7");
    }

    #[test]
    fn a_later_setting_comes_after_the_options_it_overrides() {
        let options = ServerOptions::durable().setting("fsync", "off");
        let arguments = options.arguments(Path::new("/tmp/x"), SOCKET_PORT);
        let position = |wanted: &str| arguments.iter().position(|argument| argument == wanted);
        assert!(position("fsync=on") < position("fsync=off"), "{arguments:?}");
    }
}
