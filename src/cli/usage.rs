//! Tests of usage: what is said of a wrong one, and the examples of a right one.

use clap::{CommandFactory, Parser};
use dietcode::benchmark::shown;

use super::Arguments;

#[test]
fn no_tip_takes_an_option_for_a_file() {
    for line in ["tune --shape T=1", "expand c.json --wkl T=1", "records a.jsonl --wklx M=1", "merge a.json --wkl T=1"]
    {
        let words = ["dietcode"].into_iter().chain(line.split(' '));
        let error = Arguments::try_parse_from(words).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        let said = shown(error).to_string();
        assert!(said.contains("unexpected argument '--") && !said.contains("'-- "), "{said}");
    }
    // The others stay.
    let error = Arguments::try_parse_from(["dietcode", "bench", "c.json", "--thread", "1"]).unwrap_err();
    assert!(shown(error).to_string().contains("'--threads'"));
}

/// Every example of every help text, word for word, but for what stands behind two spaces.
#[test]
fn the_examples_of_help_can_be_written() {
    let mut seen = 0;
    for command in std::iter::once(&Arguments::command()).chain(Arguments::command().get_subcommands()) {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        for line in help.lines().filter_map(|line| line.strip_prefix("  dietcode ")) {
            let words = line.split("  ").next().unwrap_or_default().split(' ');
            let parsed = Arguments::try_parse_from(["dietcode"].into_iter().chain(words));
            assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
            seen += 1;
        }
        assert!(command.is_hide_set() || help.contains("Examples:\n"), "{}", command.get_name());
    }
    assert!(seen > 30, "{seen}");
}
