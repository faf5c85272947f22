use std::{
    fs::{File, FileTimes},
    os::unix::fs::symlink,
};

use super::*;

/// Puts something into a project.
type Prepare = fn(&Path);

/// Prepares a project, looks at the report `path`, lets `command` run, and reads what it has written.
fn written(
    path: &str,
    before: impl FnOnce(&Path),
    command: impl FnOnce(&Path),
) -> Result<Vec<String>, ReportProblem> {
    let room = tempfile::tempdir().unwrap();
    let project = room.path().join("project");
    fs::create_dir_all(project.join("out")).unwrap();
    fs::create_dir_all(room.path().join("beside")).unwrap();
    before(&project);
    let looked = ReportFiles::look(&project, path);
    command(&project);
    let texts = looked.written()?;
    Ok(texts
        .into_iter()
        .map(|text| String::from_utf8(text).unwrap())
        .collect())
}

fn write(project: &Path, file: &str, text: &str) {
    fs::write(project.join(file), text).unwrap();
}

fn nothing(_: &Path) {}

#[test]
fn a_report_is_what_the_command_itself_has_written() {
    let old = |project: &Path| {
        write(project, "out/a.xml", "older");
        write(project, "out/b.xml", "older");
    };
    let one = |project: &Path| write(project, "out/a.xml", "new");
    let texts = |texts: &[&str]| Ok(texts.iter().map(|text| (*text).to_owned()).collect());
    assert_eq!(written("out/a.xml", nothing, one), texts(&["new"]));
    assert_eq!(written("out/a.xml", old, one), texts(&["new"]));
    assert_eq!(written("out/*.xml", old, one), texts(&["new"]));
    let both = |project: &Path| {
        write(project, "out/c.xml", "third");
        write(project, "out/a.xml", "first");
        write(project, "out/c.txt", "no report");
    };
    assert_eq!(written("out/*.xml", old, both), texts(&["first", "third"]));
    let as_before = Err(ReportProblem::Stale);
    assert_eq!(written("out/a.xml", old, nothing), as_before);
    assert_eq!(written("out/*.xml", old, nothing), as_before);
    for path in ["out/a.xml", "out/*.xml", "nowhere/a.xml"] {
        let absent = written(path, nothing, nothing);
        assert_eq!(absent, Err(ReportProblem::Absent), "{path}");
    }
    // Put there with the time of an earlier run.
    let earlier = |project: &Path| {
        one(project);
        let times = FileTimes::new().set_modified(SystemTime::now() - Duration::from_secs(60));
        let file = File::options().append(true).open(project.join("out/a.xml"));
        file.unwrap().set_times(times).unwrap();
    };
    assert_eq!(written("out/a.xml", nothing, earlier), as_before);
}

#[test]
fn a_report_is_a_plain_file_of_its_project() {
    let outside = Err(ReportProblem::Outside);
    for path in [
        "../beside/a.xml",
        "out/../../a.xml",
        "nowhere/../../beside/a.xml",
        "/tmp/a.xml",
        "~/a.xml",
    ] {
        assert_eq!(written(path, nothing, nothing), outside, "{path}");
    }
    let leads_out = |project: &Path| symlink("../beside", project.join("link")).unwrap();
    let there = |project: &Path| write(project, "../beside/a.xml", "new");
    for path in ["link/a.xml", "link/*.xml"] {
        assert_eq!(written(path, leads_out, there), outside, "{path}");
    }
    let commands: [(&str, Prepare); 3] = [
        ("a link", |project| {
            write(project, "out/real", "new");
            symlink("real", project.join("out/a.xml")).unwrap();
        }),
        ("a second name", |project| {
            write(project, "out/real", "new");
            fs::hard_link(project.join("out/real"), project.join("out/a.xml")).unwrap();
        }),
        ("a directory", |project| {
            fs::create_dir(project.join("out/a.xml")).unwrap();
        }),
    ];
    for (what, command) in commands {
        let found = written("out/a.xml", nothing, command);
        assert_eq!(found, Err(ReportProblem::NoPlainFile), "{what}");
    }
}

#[test]
fn a_report_is_no_larger_than_is_read() {
    let large = |project: &Path, file: &str, bytes: u64| {
        File::create(project.join(file))
            .unwrap()
            .set_len(bytes)
            .unwrap();
    };
    let one = |bytes: u64| {
        written("out/a.xml", nothing, |project| {
            large(project, "out/a.xml", bytes)
        })
    };
    assert!(one(BYTES_MAX).is_ok());
    assert_eq!(one(BYTES_MAX + 1), Err(ReportProblem::TooLarge));
    let two = written("out/*.xml", nothing, |project| {
        large(project, "out/a.xml", BYTES_MAX);
        large(project, "out/b.xml", 1);
    });
    assert_eq!(two, Err(ReportProblem::TooLarge), "both together");
    let many = written("out/*.xml", nothing, |project| {
        for number in 0..=FILES_MAX + 1 {
            write(project, &format!("out/{number}.xml"), "");
        }
    });
    assert_eq!(many, Err(ReportProblem::TooLarge), "so many of them");
}
