//! The journal on a disk: what is kept, what is refused, what is said when it cannot be written.

use std::fs;

use super::runs::{Tape, run};
use super::toy::{self, Landscape};
use crate::journal::{Journal, JournalError};
use crate::record::{Event, Stop};
use crate::store::RunStore;
use crate::view::RunView;

fn event() -> Event {
    Event::Stopped { reason: Stop::Exhausted }
}

#[test]
fn events_come_back_as_they_were_and_cannot_be_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("j.db");
    let tape = Tape::default();
    run(toy::config(1), &Landscape { noise: 0.01, ..Landscape::default() }, Journal::create(&path).unwrap(), &tape)
        .unwrap();
    let journal = Journal::open(&path).unwrap();
    journal.verify().unwrap();
    assert_eq!(journal.events().unwrap(), *tape.0.lock().unwrap());
    let last = journal.events().unwrap().len() as u64;
    assert_eq!(journal.events_after(last - 2).unwrap().len(), 2);
    let db = rusqlite::Connection::open(&path).unwrap();
    for sql in ["UPDATE events SET body = ''", "DELETE FROM events"] {
        assert!(db.execute(sql, []).unwrap_err().to_string().contains("append-only"));
    }
}

#[test]
fn one_plain_file_remains_and_can_be_read_where_nothing_can_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let store = RunStore::new(folder.path());
    let (lock, journal) = store.create("toy").unwrap();
    run(toy::config(1), &Landscape::default(), journal, &Tape::default()).unwrap();
    let mut files: Vec<String> =
        fs::read_dir(&lock.folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    files.sort();
    assert_eq!(files, ["journal.db", "lock"]);
    let view = store.open("toy-1").unwrap();
    let summary = view.summary();
    assert_eq!((summary.status, summary.run.as_str()), ("finished", "toy-1"));
    let written = view.write_best().unwrap().unwrap();
    assert!(fs::read_to_string(&written).unwrap().contains("ksearch"));
    assert_eq!(store.open("latest").unwrap().summary().best.unwrap().file, Some(written));
}

#[test]
fn a_reader_follows_while_the_run_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("j.db");
    let mut writer = Journal::create(&path).unwrap();
    writer.append(vec![event()]).unwrap();
    let reader = Journal::read(&path).unwrap();
    assert_eq!(reader.events().unwrap().len(), 1);
    writer.append(vec![event(), event()]).unwrap();
    assert_eq!(reader.events_after(1).unwrap().len(), 2);
}

#[test]
fn a_full_disk_is_named_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("j.db");
    let mut journal = Journal::create(&path).unwrap();
    journal.append(vec![event()]).unwrap();
    journal.limit_pages(8);
    let mut kept = 1;
    let error = loop {
        match journal.append(vec![event(); 10]) {
            Ok(events) => kept += events.len(),
            Err(e) => break e,
        }
    };
    assert!(matches!(error, JournalError::Full { .. }), "{error}");
    assert!(error.to_string().contains("free some space, then resume"));
    drop(journal);
    assert_eq!(Journal::read(&path).unwrap().events().unwrap().len(), kept);
}

#[test]
fn what_is_not_a_journal_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let missing = Journal::read(&folder.path().join("none.db")).unwrap_err();
    assert!(matches!(missing, JournalError::Missing { .. }), "{missing}");
    let text = folder.path().join("text.db");
    fs::write(&text, "this is not a database, but it is long enough to be looked at as one".repeat(30)).unwrap();
    assert!(matches!(Journal::read(&text).unwrap_err(), JournalError::Damaged { .. }));
    let other = folder.path().join("other.db");
    rusqlite::Connection::open(&other).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
    assert!(Journal::open(&other).unwrap_err().to_string().contains("some other"));
    let newer = folder.path().join("newer.db");
    drop(Journal::create(&newer).unwrap());
    rusqlite::Connection::open(&newer).unwrap().pragma_update(None, "user_version", 99).unwrap();
    assert!(Journal::open(&newer).unwrap_err().to_string().contains("use a newer one"));
    let exists = Journal::create(&newer).unwrap_err();
    assert!(matches!(exists, JournalError::Other { .. }), "{exists}");
}

#[test]
fn a_journal_cut_short_or_scrambled_gives_an_error_and_no_panic() {
    let folder = tempfile::tempdir().unwrap();
    let run_folder = folder.path().join("toy-1");
    fs::create_dir(&run_folder).unwrap();
    let path = run_folder.join("journal.db");
    let mut config = toy::config(1);
    config.budget.evaluations = 3;
    run(config, &Landscape::default(), Journal::create(&path).unwrap(), &Tape::default()).unwrap();
    let whole = fs::read(&path).unwrap();
    for length in (0..whole.len()).step_by(4096 + 17) {
        fs::write(&path, &whole[..length]).unwrap();
        assert!(RunView::load(&run_folder).is_err(), "cut at {length} of {}", whole.len());
    }
    // An event out of place.
    fs::write(&path, &whole).unwrap();
    let mut journal = Journal::open(&path).unwrap();
    journal
        .append(vec![Event::Closed {
            cycle: 99,
            node: ksearch_world::NodeId(1),
            report: crate::record::CycleReport {
                attempts: vec![],
                best: None,
                judged: vec![],
                screens: 0,
                ended: crate::record::CycleEnd::Done,
            },
        }])
        .unwrap();
    drop(journal);
    let error = RunView::load(&run_folder).unwrap_err().to_string();
    assert!(error.contains("(closed) does not fit") && error.contains("work 99 is not open"), "{error}");
}
