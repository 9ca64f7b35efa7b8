//! What has ended a process is on file, and not tried by the next one.

use super::*;

#[test]
fn what_ends_a_process_is_not_tried_by_the_next_one() {
    let name = "ended::what_ends_a_process_is_not_tried_by_the_next_one";
    let with_candidate = |candidate: fn(&mut Increment<'_>) -> Result<()>| {
        let mut op = two();
        op.register("last", candidate).unwrap();
        op
    };
    let outcome = |op: &TunableOp<Increments>| op.reports()[0].candidates[2].1.clone();
    let left_out = Outcome::Failed("a process ended while it was tried".to_owned());
    let aborts = || with_candidate(|_| std::process::abort());
    // Longer than the test takes; and it ends by itself, should that fail.
    let hangs = || {
        with_candidate(|call| {
            std::thread::sleep(Duration::from_secs(100));
            taking(1)(call)
        })
    };
    match step().as_deref() {
        Some("abort at 4") => drop(tuned(&aborts(), 4)),
        Some("abort at 5") => drop(tuned(&aborts(), 5)),
        Some("after at 4") => {
            let op = aborts();
            assert_eq!(tuned(&op, 4), [2.0; 4]);
            assert_eq!((outcome(&op), op.reports()[0].chosen.as_str()), (left_out, "other"));
        }
        Some("after at 6") => {
            let op = aborts();
            tuned(&op, 6);
            assert_eq!(outcome(&op), left_out, "it has ended two processes");
        }
        Some("mended") => {
            let mut op = with_candidate(taking_one());
            op.validator("code", "2");
            tuned(&op, 4);
            assert_eq!(op.reports()[0].chosen, "last");
        }
        Some("hang") => drop(tuned(&hangs(), 7)),
        Some("meanwhile") => {
            let op = with_candidate(taking_one());
            tuned(&op, 7);
            assert_eq!(op.reports()[0].chosen, "last", "who is at it has not ended");
        }
        Some("after the hang") => {
            let op = hangs();
            op.candidates().for_each(drop);
            tuned(&op, 7);
            // What the process meanwhile has found is not believed.
            assert_eq!(outcome(&op), left_out);
        }
        Some(other) => panic!("{other}"),
        None => {
            let (folder, file) = place();
            let told = |key: &str| {
                format!("{}: a process ended while it tried the candidate `last` of increment at {key}", file.display())
            };
            let faults = |key: &str| {
                format!("increment at {key}: the candidate `last` is left out: a process ended while it was tried")
            };
            assert!(!end(start(name, "abort at 4", &file)).0);
            assert_eq!(files(folder.path()), 1, "what was tried");
            assert_eq!(process(name, "after at 4", &file), [told("N=4"), faults("N=4")]);
            assert_eq!(files(folder.path()), 1, "what was found");
            assert!(!end(start(name, "abort at 5", &file)).0);
            assert_eq!(process(name, "after at 6", &file), [told("N=5"), faults("N=6")]);
            assert_eq!(process(name, "mended", &file).len(), 1, "the other value is told");

            let (folder, file) = place();
            let mut hanging = start(name, "hang", &file);
            wait_until_it_is_tried(folder.path(), &mut hanging);
            assert!(process(name, "meanwhile", &file).is_empty());
            hanging.kill().unwrap();
            hanging.wait().unwrap();
            assert_eq!(process(name, "after the hang", &file).len(), 2);
        }
    }
}

/// Waits until the candidate `last` is on file as the one that a process calls.
fn wait_until_it_is_tried(folder: &Path, process: &mut Child) {
    let is_tried = || {
        let entries = fs::read_dir(folder).unwrap().flatten();
        entries.filter_map(|entry| fs::read_to_string(entry.path()).ok()).any(|text| text.contains("\"last\""))
    };
    while !is_tried() {
        assert!(process.try_wait().unwrap().is_none(), "it hangs");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[cfg(unix)]
#[test]
fn what_ends_a_process_beside_the_candidate_is_not_held_against_it() {
    let name = "ended::what_ends_a_process_beside_the_candidate_is_not_held_against_it";
    let hangs = || {
        with_last(|call| {
            std::thread::sleep(Duration::from_secs(100));
            taking(1)(call)
        })
    };
    match step().as_deref() {
        Some("end") => {
            let folder = PathBuf::from(std::env::var_os("DIETCODE_TUNABLE_FILE").unwrap());
            let folder = folder.parent().unwrap().to_owned();
            std::thread::spawn(move || tuned(&hangs(), 4));
            let is_tried =
                |entry: fs::DirEntry| fs::read_to_string(entry.path()).is_ok_and(|text| text.contains("last"));
            while !fs::read_dir(&folder).unwrap().flatten().any(is_tried) {
                std::thread::sleep(Duration::from_millis(1));
            }
            std::process::exit(0);
        }
        Some("hang") => {
            // Whoever starts the tests behind a terminal, or in the background, may have had some ignored.
            for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
                // SAFETY: nobody else has set what they do.
                unsafe { libc::signal(signal, libc::SIG_DFL) };
            }
            drop(tuned(&hangs(), 4));
        }
        Some("exit") => drop(tuned(&with_last(|_| std::process::exit(0)), 5)),
        Some("abort in the finals") => {
            static CALLS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
            use std::sync::atomic::Ordering::Relaxed;
            // The check, the probe, 50 samples, and the first one of the finals.
            let mut op = TunableOp::<Increments>::new("increment", "default", |call: &mut Increment<'_>| {
                if CALLS.load(Relaxed) == 1 + 4 + 50 + 1 {
                    std::process::abort();
                }
                taking(100)(call)
            });
            op.register("other", |call: &mut Increment<'_>| Err(Error::unsupported(format!("{}", call.0.len()))))
                .unwrap();
            op.register("last", |call: &mut Increment<'_>| {
                CALLS.fetch_add(1, Relaxed);
                taking(50)(call)
            })
            .unwrap();
            tuned(&op, 6);
        }
        Some("not condemned") => assert!(!is_condemned(4)),
        Some("condemned") => assert!(is_condemned(4)),
        Some("condemned at 5, not at 6") => assert!(is_condemned(5) && !is_condemned(6)),
        Some(other) => panic!("{other}"),
        None => {
            let (folder, file) = place();
            let mut exits = start(name, "end", &file);
            assert!(exits.wait().unwrap().success());
            assert_eq!(files(folder.path()), 0, "nothing is left by an exit");
            for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
                // What takes longer than 1000 times the limit hangs.
                let mut hanging = start_with(name, "hang", &file, "60000");
                wait_until_it_is_tried(folder.path(), &mut hanging);
                // SAFETY: numbers are all that it takes.
                assert_eq!(unsafe { libc::kill(hanging.id() as i32, signal) }, 0);
                let status = hanging.wait().unwrap();
                assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(signal));
                assert_eq!(files(folder.path()), 0, "nothing is left by the signal {signal}");
            }
            assert!(process(name, "not condemned", &file).is_empty());

            let (folder, file) = place();
            let mut hanging = start_with(name, "hang", &file, "1");
            wait_until_it_is_tried(folder.path(), &mut hanging);
            std::thread::sleep(Duration::from_millis(1100));
            // SAFETY: as above.
            assert_eq!(unsafe { libc::kill(hanging.id() as i32, libc::SIGTERM) }, 0);
            hanging.wait().unwrap();
            assert_eq!(process(name, "condemned", &file).len(), 2, "a hang that somebody has ended");

            let (_folder, file) = place();
            let mut exits = start(name, "exit", &file);
            assert!(exits.wait().unwrap().success());
            assert!(!end(start(name, "abort in the finals", &file)).0);
            let said = process(name, "condemned at 5, not at 6", &file);
            assert_eq!(said.len(), 1, "{said:?}");
        }
    }
}

#[cfg(unix)]
#[test]
fn processes_that_read_at_once_all_know_what_has_ended_one() {
    let name = "ended::processes_that_read_at_once_all_know_what_has_ended_one";
    match step().as_deref() {
        Some("abort") => drop(tuned(&with_last(|_| std::process::abort()), 4)),
        Some("after") => assert!(is_condemned(4)),
        Some(other) => panic!("{other}"),
        None => {
            for _ in 0..4 {
                let (folder, file) = place();
                assert!(!end(start(name, "abort", &file)).0);
                let all: Vec<Child> = (0..8).map(|_| start(name, "after", &file)).collect();
                let said: Vec<(bool, Vec<String>)> = all.into_iter().map(end).collect();
                assert!(said.iter().all(|(succeeded, _)| *succeeded), "{said:?}");
                let told = said
                    .iter()
                    .flat_map(|(_, said)| said)
                    .filter(|line| line.contains("a process ended while it tried"));
                assert_eq!(told.count(), 1, "{said:?}");
                assert!(said.iter().flat_map(|(_, said)| said).all(|line| !line.contains("kept")), "{said:?}");
                assert_eq!(files(folder.path()), 1);
            }
        }
    }
}
