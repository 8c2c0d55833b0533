//! The journal: an append-only list of events in one database file (`SQLite`). Must not know what the events mean.
//!
//! Durability. While a run writes, the file is in write-ahead mode with `synchronous = FULL`: when `append` returns, the
//! events are on disk, and a batch is there whole or not at all, whatever kills the process or the machine. On a clean
//! close the file goes back to rollback mode, so that the one file is all there is and can be read from a read-only
//! place. Triggers refuse every change to what was written.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, ErrorCode, OpenFlags, params};

use crate::record::{Event, Recorded, VERSION};

/// Marks the file as ours (`ksrc`).
const APPLICATION_ID: i32 = 0x6b73_7263;

/// What went wrong with a journal, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// No space.
    #[error("the disk is full, so {} cannot be written; everything reported so far is kept: free some space, then resume", .path.display())]
    Full {
        /// The journal.
        path: PathBuf,
    },
    /// No permission.
    #[error("{} cannot be written: {why}; choose another folder", .path.display())]
    ReadOnly {
        /// The journal or its folder.
        path: PathBuf,
        /// The system's words.
        why: String,
    },
    /// Someone else writes to it.
    #[error("{} is in use by another process; wait for it or stop it first", .path.display())]
    Busy {
        /// The journal.
        path: PathBuf,
    },
    /// It is not there.
    #[error("there is no journal at {}", .path.display())]
    Missing {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// It is not a journal, or its content cannot be read.
    #[error("{} is not a readable journal: {why}", .path.display())]
    Damaged {
        /// The journal.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// It was written by a newer program.
    #[error("{} has format {found}, this program reads up to {VERSION}: use a newer one", .path.display())]
    Version {
        /// The journal.
        path: PathBuf,
        /// Its format.
        found: u32,
    },
    /// Anything else.
    #[error("{}: {why}", .path.display())]
    Other {
        /// The journal.
        path: PathBuf,
        /// The library's words.
        why: String,
    },
}

/// An open journal.
#[derive(Debug)]
pub struct Journal {
    db: Connection,
    path: PathBuf,
    writable: bool,
    #[cfg(test)]
    appends_left: Option<u32>,
}

impl Journal {
    /// Creates a journal; the file must not exist.
    pub fn create(path: &Path) -> Result<Self, JournalError> {
        fs::OpenOptions::new().write(true).create_new(true).open(path).map_err(|e| io_error(path, &e))?;
        let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(|e| error(path, &e))?;
        Self::prepare(db, path)
    }

    /// A journal that is kept in memory only.
    pub fn in_memory() -> Result<Self, JournalError> {
        let path = Path::new(":memory:");
        Self::prepare(Connection::open_in_memory().map_err(|e| error(path, &e))?, path)
    }

    fn prepare(db: Connection, path: &Path) -> Result<Self, JournalError> {
        let journal = Self {
            db,
            path: path.to_owned(),
            writable: true,
            #[cfg(test)]
            appends_left: None,
        };
        journal.pragmas()?;
        journal
            .db
            .execute_batch(&format!(
                "PRAGMA application_id = {APPLICATION_ID};
                 PRAGMA user_version = {VERSION};
                 CREATE TABLE events (seq INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, kind TEXT NOT NULL,
                                      body TEXT NOT NULL) STRICT;
                 CREATE TRIGGER events_stay BEFORE UPDATE ON events BEGIN
                     SELECT RAISE(ABORT, 'a journal is append-only'); END;
                 CREATE TRIGGER events_remain BEFORE DELETE ON events BEGIN
                     SELECT RAISE(ABORT, 'a journal is append-only'); END;"
            ))
            .map_err(|e| error(path, &e))?;
        Ok(journal)
    }

    /// Opens a journal to go on writing.
    pub fn open(path: &Path) -> Result<Self, JournalError> {
        Self::open_as(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
    }

    /// Opens a journal to read it; nothing is changed, also where another process is writing.
    pub fn read(path: &Path) -> Result<Self, JournalError> {
        Self::open_as(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
    }

    fn open_as(path: &Path, flags: OpenFlags) -> Result<Self, JournalError> {
        if !path.exists() {
            return Err(JournalError::Missing { path: path.to_owned() });
        }
        let db = Connection::open_with_flags(path, flags).map_err(|e| error(path, &e))?;
        let number = |pragma: &str| db.pragma_query_value(None, pragma, |row| row.get::<_, i32>(0));
        let id = number("application_id").map_err(|e| error(path, &e))?;
        if id != APPLICATION_ID {
            return Err(JournalError::Damaged { path: path.to_owned(), why: "it is some other SQLite file".into() });
        }
        let found = number("user_version").map_err(|e| error(path, &e))? as u32;
        if found > VERSION {
            return Err(JournalError::Version { path: path.to_owned(), found });
        }
        let writable = flags.contains(OpenFlags::SQLITE_OPEN_READ_WRITE);
        let journal = Self {
            db,
            path: path.to_owned(),
            writable,
            #[cfg(test)]
            appends_left: None,
        };
        if writable {
            journal.pragmas()?;
        }
        Ok(journal)
    }

    fn pragmas(&self) -> Result<(), JournalError> {
        self.db.busy_timeout(Duration::from_secs(5)).map_err(|e| error(&self.path, &e))?;
        // Tests write thousands of journals; none of them is meant to outlive a power cut.
        let synchronous = if cfg!(test) { "OFF" } else { "FULL" };
        self.db
            .execute_batch(&format!("PRAGMA journal_mode = WAL; PRAGMA synchronous = {synchronous};"))
            .map_err(|e| error(&self.path, &e))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends events, all or none. When this returns they are on disk.
    pub fn append(&mut self, events: Vec<Event>) -> Result<Vec<Recorded>, JournalError> {
        let at_ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
        #[cfg(test)]
        if let Some(left) = &mut self.appends_left {
            if *left == 0 {
                return Err(JournalError::Full { path: self.path.clone() });
            }
            *left -= 1;
        }
        let path = self.path.clone();
        let fail = |e: rusqlite::Error| error(&path, &e);
        let transaction = self.db.transaction().map_err(fail)?;
        let mut recorded = Vec::with_capacity(events.len());
        {
            let mut insert = transaction
                .prepare("INSERT INTO events (at_ms, kind, body) VALUES (?1, ?2, ?3) RETURNING seq")
                .map_err(fail)?;
            for event in events {
                let body = serde_json::to_string(&event)
                    .map_err(|e| JournalError::Other { path: path.clone(), why: e.to_string() })?;
                let seq: i64 =
                    insert.query_row(params![at_ms as i64, event.kind(), body], |row| row.get(0)).map_err(fail)?;
                recorded.push(Recorded { seq: seq as u64, at_ms, event });
            }
        }
        transaction.commit().map_err(fail)?;
        Ok(recorded)
    }

    /// All events after position `after`, in order.
    pub fn events_after(&self, after: u64) -> Result<Vec<Recorded>, JournalError> {
        let fail = |e: rusqlite::Error| error(&self.path, &e);
        let mut query =
            self.db.prepare("SELECT seq, at_ms, body FROM events WHERE seq > ?1 ORDER BY seq").map_err(fail)?;
        let rows = query
            .query_map(params![after as i64], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, String>(2)?))
            })
            .map_err(fail)?;
        let mut events = Vec::new();
        for row in rows {
            let (seq, at_ms, body) = row.map_err(fail)?;
            let event = serde_json::from_str(&body).map_err(|e| JournalError::Damaged {
                path: self.path.clone(),
                why: format!("event {seq} cannot be read: {e}"),
            })?;
            events.push(Recorded { seq: seq as u64, at_ms: at_ms as u64, event });
        }
        Ok(events)
    }

    /// All events.
    pub fn events(&self) -> Result<Vec<Recorded>, JournalError> {
        self.events_after(0)
    }

    /// Checks the file itself, page by page.
    pub fn verify(&self) -> Result<(), JournalError> {
        let answer: String =
            self.db.pragma_query_value(None, "integrity_check", |row| row.get(0)).map_err(|e| error(&self.path, &e))?;
        if answer == "ok" { Ok(()) } else { Err(JournalError::Damaged { path: self.path.clone(), why: answer }) }
    }

    /// Refuses every append after this many, as a full disk would.
    #[cfg(test)]
    pub(crate) fn fail_after(&mut self, appends: u32) {
        self.appends_left = Some(appends);
    }

    #[cfg(test)]
    pub(crate) fn limit_pages(&self, pages: u32) {
        self.db.pragma_update(None, "max_page_count", pages).expect("a pragma");
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        // One plain file remains. Where a reader holds it open this does not go through, and nothing is lost.
        if self.writable {
            let _ = self.db.execute_batch("PRAGMA busy_timeout = 100; PRAGMA journal_mode = DELETE;");
        }
    }
}

fn io_error(path: &Path, e: &std::io::Error) -> JournalError {
    let path = path.to_owned();
    match e.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => JournalError::Full { path },
        std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
            JournalError::ReadOnly { path, why: e.to_string() }
        }
        std::io::ErrorKind::NotFound => JournalError::Missing { path },
        _ => JournalError::Other { path, why: e.to_string() },
    }
}

fn error(path: &Path, e: &rusqlite::Error) -> JournalError {
    let why = e.to_string();
    let path = path.to_owned();
    match e.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => JournalError::Full { path },
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
            JournalError::ReadOnly { path, why }
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => JournalError::Busy { path },
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => JournalError::Damaged { path, why },
        // A disk that fails while the write-ahead file grows reports a failed write, not a full disk.
        Some(ErrorCode::SystemIoFailure) if why.contains("full") => JournalError::Full { path },
        _ => JournalError::Other { path, why },
    }
}
