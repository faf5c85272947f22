//! The person's passkeys: unique names and ids, and counters that increase.

use std::fs;

use interlock_store::{Enrolled, Passkey, Used};

use crate::world::World;

fn passkey(name: &str, credential: &str, counter: u32) -> Passkey {
    Passkey {
        credential: credential.to_owned(),
        name: name.to_owned(),
        public_key: "a5".to_owned(),
        counter,
        enrolled_ms: 1,
        used_ms: None,
    }
}

#[test]
fn a_passkey_is_enrolled_once_and_removed_by_name() {
    let world = World::new();
    let home = &world.home;
    assert_eq!(home.passkeys().unwrap(), []);
    let add = |name: &str, id: &str| home.add_passkey(passkey(name, id, 0)).unwrap();
    assert_eq!(add("laptop", "01"), Enrolled::Done);
    assert_eq!(add("laptop", "02"), Enrolled::NameTaken);
    assert_eq!(add("phone", "01"), Enrolled::KnownAlready);
    assert_eq!(add("phone", "02"), Enrolled::Done);
    assert!(home.remove_passkey("laptop").unwrap());
    assert!(!home.remove_passkey("laptop").unwrap());
    let names: Vec<String> = home
        .passkeys()
        .unwrap()
        .into_iter()
        .map(|one| one.name)
        .collect();
    assert_eq!(names, ["phone"]);
    for number in 1..64 {
        assert_eq!(
            add(&format!("k{number}"), &format!("a{number}")),
            Enrolled::Done
        );
    }
    assert_eq!(add("one more", "ff"), Enrolled::TooMany);
}

#[test]
fn a_counter_goes_on_where_it_is_used() {
    let world = World::new();
    let home = &world.home;
    home.add_passkey(passkey("counts", "01", 5)).unwrap();
    home.add_passkey(passkey("does not", "02", 0)).unwrap();
    let used = |id: &str, counter| home.use_passkey(id, "a5", counter, 9).unwrap();
    assert_eq!(used("01", 6), Used::Noted);
    for back in [6, 5, 0] {
        assert_eq!(used("01", back), Used::CountsBack, "{back}");
    }
    assert_eq!(used("01", 7), Used::Noted);
    assert_eq!(used("02", 0), Used::Noted);
    assert_eq!(used("02", 0), Used::Noted);
    assert_eq!(used("03", 1), Used::Unknown);
    let other_key = home.use_passkey("01", "a4", 8, 9).unwrap();
    assert_eq!(other_key, Used::Unknown);
    assert_eq!(home.passkeys().unwrap()[0].used_ms, Some(9));
}

#[test]
fn passkeys_that_cannot_be_read_are_an_error() {
    let world = World::new();
    world.home.add_passkey(passkey("a", "01", 0)).unwrap();
    fs::write(world.home.path().join("passkeys.json"), "{}").unwrap();
    world.home.passkeys().unwrap_err();
    world.home.use_passkey("01", "a5", 1, 1).unwrap_err();
    world.home.add_passkey(passkey("b", "02", 0)).unwrap_err();
}
