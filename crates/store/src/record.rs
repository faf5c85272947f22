//! The recorded form of runs, which is the same in every store.
//!
//! A store holds rows. Their contents, their hash chain, and how they are read, folded and checked are the same for all
//! stores, so that a run can be transferred from one store to another.

pub use crate::{
    files::{Sync, Versioned, make_directory, read as read_file, write as write_file},
    id::check as check_run_id,
    marks::{Marks, UnknownMark},
    messages::message_digest,
    pin::{Pin, machine_bytes, parse_machine},
    rows::{LogOf, PAGE, Row, Rows, Walk, body_of, check_first, fold, row, verify},
    snapshot::{ENGINE, EVERY, EVERY_KEPT, Since, Snapshot, StoredSnapshot},
    transfer::{Import, Imported, Transfer, TransferError, export, import},
};
