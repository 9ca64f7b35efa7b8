//! What a small run has written, read again.

use clap::Parser;

use super::*;

/// Of two families at two shapes each, one of them with a further one, on one thread.
const RECORDED: &str = include_str!("recorded.json");

fn options(arguments: &[&str]) -> Result<Options, clap::Error> {
    Options::try_parse_from([&["peers"], arguments].concat())
}

fn recorded() -> Results {
    serde_json::from_str(RECORDED).unwrap()
}

#[test]
fn bars_are_held_against_intervals_and_shapes() {
    let results = recorded();
    let means = statistics::means(&results);
    let at = |arguments: &[&str]| failures(&options(arguments).unwrap(), &means);
    let lowest = means.iter().map(|mean| mean.plain.unwrap().low).fold(f64::INFINITY, f64::min);
    assert_eq!(at(&["--below", &format!("{}", lowest - 1e-9)]), Vec::<String>::new());
    let missed = at(&["--below", &format!("{}", lowest + 1e-9)]);
    assert!(missed.len() == 1 && missed[0].contains("expected at least"), "{missed:?}");
    let shapes: usize = means.iter().map(|mean| mean.shapes.len()).sum();
    assert_eq!(at(&["--shape-below", "100"]).len(), shapes, "each of them");
    assert_eq!(at(&[]).len(), 0);
    // What is unknown holds no bar.
    let mut unknown = results;
    unknown.rows[0].seconds.get_mut(library::OURS).unwrap().fill(None);
    let means = statistics::means(&unknown);
    let missed = failures(&options(&["--below", "0"]).unwrap(), &means);
    assert!(missed.len() == 1 && missed[0].contains("the ratio is unknown"), "{missed:?}");
}

#[test]
fn results_are_joined_and_drawn() {
    let (one, mut two) = (recorded(), recorded());
    two.rows.iter_mut().for_each(|row| row.threads = 2);
    let rows = one.rows.len();
    let joined = Results::joined(vec![one, two.clone()]).unwrap();
    assert_eq!(joined.rows.len(), 2 * rows);
    let why = Results::joined(vec![recorded(), recorded()]).err().unwrap();
    let first = &recorded().rows[0];
    let place = format!("found two results of {}, {} on 1 thread, expected one", first.family, first.wkl);
    assert!(why.starts_with(&place), "{why}");
    let other = Results { machine: serde_json::json!({ "cpu": "another" }), ..two.clone() };
    assert!(Results::joined(vec![recorded(), other]).err().unwrap().starts_with("found results of two machines"));
    let path = std::env::temp_dir().join(format!("peers-{}.svg", std::process::id()));
    tables::draw(&two, &path).unwrap();
    let picture = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    for word in
        ["batched_nt: GFLOP/s on 2 threads", "few_rows: GFLOP/s", "T=43", "dietcode", "OpenBLAS", "oneDNN, packed"]
    {
        assert!(picture.contains(word), "no `{word}` in the picture");
    }
    assert!(!picture.contains("T=7"), "further shapes are in no chart");
}

/// A bar that is held against nothing would pass.
#[test]
fn families_without_results_are_told() {
    let file = std::env::temp_dir().join(format!("peers-read-{}.json", std::process::id()));
    let read = |results: &Results, family: &[&str]| {
        results.write(&file).unwrap();
        run(&options(&[&["--read", file.to_str().unwrap(), "--below", "0"], family].concat()).unwrap())
    };
    assert_eq!(read(&recorded(), &["few_rows"]), Ok(true));
    let why = read(&recorded(), &["conv3d"]).unwrap_err();
    let expected = "found no results of the family `conv3d`; there are results of {\"batched_nt\", \"few_rows\"}";
    assert_eq!(why, expected);
    let why = read(&Results { rows: Vec::new(), ..recorded() }, &[]).unwrap_err();
    assert_eq!(why, "found no results, expected at least one shape");
    std::fs::remove_file(&file).unwrap();
    assert!(recorded().write(&std::env::temp_dir()).unwrap_err().ends_with("expected a file, to write results to"));
}

#[test]
fn options_are_checked() {
    for (arguments, expected) in [
        (&["--rounds", "3"][..], "'--rounds <N>': 3 is not in 4.."),
        (&["--threads", "0"], "'--threads <N>': 0 is not in 1.."),
        (&["--below", "much"], "'much' for '--below <RATIO>': expected a number of at least 0"),
    ] {
        let why = options(arguments).err().unwrap().to_string();
        assert!(why.contains(expected), "{arguments:?}: {why}");
    }
    let why = run(&options(&["--threads", "1,2,1"]).unwrap()).unwrap_err();
    assert_eq!(why, "--threads: found 1 twice, expected each number once");
    let why = provision::ensure(&["blas".to_owned()]).err().unwrap();
    assert!(why.starts_with("there is no library `blas`; there are: openblas, mkl"), "{why}");
}
