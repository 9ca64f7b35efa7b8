//! What a new user reads: the README's listings, built and run in an empty folder as they stand, and every nest of
//! `docs/nests.md`.
mod nests;
mod numbers;
pub(crate) mod page;
pub(crate) mod place;

use std::collections::BTreeMap;
use std::fs;

use dietcode::core::syntax::{KernelDef, scan};
use page::{Listing, code, listings, table};
use place::{Place, root};

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

/// The listings of the README's first part.
fn first_hour() -> Vec<Listing> {
    let all = listings(&read("README.md")).into_iter();
    all.filter(|listing| listing.part == "The first hour").collect()
}

/// The files among them.
fn files() -> BTreeMap<String, String> {
    first_hour().into_iter().filter_map(|listing| Some((listing.file?, listing.text))).collect()
}

/// A text without what differs from run to run: numbers, and how much room they take.
fn shape_of(line: &str) -> String {
    let plain: String = line.chars().map(|c| if c.is_ascii_digit() || c == '.' { '0' } else { c }).collect();
    let words: Vec<String> = plain.split_whitespace().map(|word| word.trim_start_matches('0').to_owned()).collect();
    words.join(" ")
}

/// The program printed what the README shows of its first run.
fn check_run(printed: &str) {
    let shown = first_hour().into_iter().find(|listing| listing.language == "text").unwrap().text;
    let printed: Vec<String> = printed.lines().map(shape_of).collect();
    for line in shown.lines().filter(|line| !line.starts_with("warning: ")) {
        assert!(printed.contains(&shape_of(line)), "no `{line}` in {printed:#?}");
    }
    assert_eq!(printed.iter().filter(|line| line.ends_with("as the nest says")).count(), 4, "{printed:#?}");
}

/// A folder in which the README's program is optimized: it runs the nest as plain Rust too, which takes 4 s each time where it is not.
fn optimizing_place() -> Place {
    let place = Place::empty();
    place.write(".cargo/config.toml", "[profile.dev.package.my-crate]\nopt-level = 2\n");
    place
}

/// Word for word: the commands, and then the listings.
#[test]
fn a_new_user_gets_what_the_readme_shows() {
    let shell: Vec<Listing> = first_hour().into_iter().filter(|listing| listing.language == "sh").collect();
    let lines: Vec<&str> = shell.iter().flat_map(|listing| listing.text.lines()).collect();
    // The tests have built the command.
    assert!(lines[0].starts_with("cargo install --path dietcode "), "{lines:?}");
    let place = optimizing_place();
    let printed = place.follow(&lines[1..]);
    let [init, first, tuned, second] = &printed[..] else { panic!("{printed:#?}") };
    assert!(init.contains("cargo run\n    dietcode tune configs/dense.json"), "{init}");
    assert!(first.contains("`dense` runs a default micro-kernel"), "{first}");
    assert!(tuned.contains("Written: configs/dense.cpu.tuned.json"), "{tuned}");
    assert!(!second.contains("default micro-kernel") && !second.contains("was tuned for"), "{second}");
    [first, second].into_iter().for_each(|printed| check_run(printed));

    let files = files();
    for (name, text) in files.iter().filter(|(name, _)| *name != "Cargo.toml") {
        let (_, text) = text.split_once(&format!("{name}\n")).unwrap_or(("", text));
        assert_eq!(place.read(&format!("my-crate/{name}")), text, "what `init` writes is what the README shows");
    }
    let place = optimizing_place();
    for (name, text) in &files {
        place.write(name, &text.replace("../dietcode", root().to_str().unwrap()));
    }
    check_run(&place.follow(&["cargo run"]).concat());
}

/// The listings of `docs/nests.md` before and after its second part begins.
fn nests() -> (Vec<Listing>, Vec<Listing>) {
    let page = read("docs/nests.md");
    let (good, bad) = page.split_once("\n# What it may not be\n").unwrap();
    (listings(good), listings(bad))
}

fn kernels(listings: &[Listing]) -> Vec<(Listing, KernelDef)> {
    let of = |listing: &Listing| {
        let found = scan(&listing.text).unwrap();
        let defs = found.into_iter().map(|kernel| (listing.clone(), kernel.parse().unwrap()));
        defs.collect::<Vec<_>>()
    };
    listings.iter().flat_map(of).collect()
}

#[test]
fn every_nest_computes_what_it_says() {
    let (good, _) = nests();
    let place = Place::empty();
    let files = files();
    for name in ["Cargo.toml", "build.rs"] {
        place.write(name, &files[name].replace("../dietcode", root().to_str().unwrap()).replace("my-crate", "nests"));
    }
    let sources: Vec<&str> = good.iter().map(|listing| listing.text.as_str()).collect();
    let head = "#![allow(unused_imports)]\nuse dietcode_core::{bf16, dynamic_kernel, f16};\n";
    place.write("src/ops.rs", &(head.to_owned() + &sources.join("\n")));
    place.write("src/numbers.rs", include_str!("first_hour/numbers.rs"));
    let defs: Vec<KernelDef> = kernels(&good).into_iter().map(|(_, def)| def).collect();
    let cases = nests::cases(&defs);
    place.write("src/main.rs", &nests::program(&cases));
    let printed = place.follow(&["cargo run"]).concat();
    let lines: Vec<&str> = printed.lines().filter(|line| line.starts_with("= ")).collect();
    assert_eq!(lines.len(), 2 * cases.len());
    for (case, lines) in cases.iter().zip(lines.chunks(2)) {
        case.check(lines[0], lines[1]);
    }
}

#[test]
fn what_is_refused_is_refused_in_these_words() {
    let (_, bad) = nests();
    let said: Vec<&[Listing]> = bad.chunks(2).collect();
    for pair in &said {
        let [nest, sentence] = pair else { panic!("a nest and its sentence: {pair:?}") };
        let errors = match scan(&nest.text).unwrap()[0].parse() {
            Ok(_) => panic!("`{}` is accepted", nest.heading),
            Err(errors) => errors.iter().map(|(.., sentence)| sentence).collect::<Vec<_>>(),
        };
        let sentence = sentence.text.trim();
        assert!(errors.iter().any(|error| error.starts_with(sentence)), "{}: {errors:?}", nest.heading);
    }
    let readme = read("README.md");
    let sentences: Vec<&str> = said.iter().map(|pair| pair[1].text.trim()).collect();
    let rows = table(&readme, "not");
    assert_eq!(rows.len(), sentences.len());
    for row in rows {
        let claimed = &code(&row[1])[0];
        assert!(sentences.iter().any(|sentence| sentence.starts_with(claimed.as_str())), "{claimed}");
    }
}

#[test]
fn each_row_of_the_readme_is_of_the_nest_that_it_names() {
    let kernels = kernels(&nests().0);
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for row in table(&read("README.md"), "form") {
        let name = &code(&row[2])[0];
        let (listing, _) = kernels.iter().find(|(_, def)| def.name == *name).unwrap_or_else(|| panic!("no `{name}`"));
        for line in code(&row[1]) {
            assert!(one_line(&listing.text).contains(&one_line(&line)), "`{line}` is not of `{name}`");
        }
        let dashed = listing.heading.to_lowercase().replace(' ', "-");
        let anchor: String = dashed.chars().filter(|c| c.is_alphanumeric() || *c == '-').collect();
        assert!(row[2].ends_with(&format!("(docs/nests.md#{anchor})")), "{}: {anchor}", row[2]);
    }
}
