//! What every store of runs writes down, whatever database keeps it.
//!
//! A store keeps rows. What stands in them, how they are chained, and how they are read, folded
//! and checked is the same for all, so that a run can be carried from one store to another.

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
