//! Usage: what is said of a wrong one, and, as tests, the examples of a right one.

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, Error};

use super::Arguments;

/// Options that had another name.
const RENAMED: [(&str, &str); 2] = [("--shape", "--wkl"), ("--capability", "--target")];

/// The error of a command line, with the new name of an option that had another one, where the command has it.
pub(super) fn renamed(mut error: Error) -> Error {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        Some(ContextValue::StyledStr(text)) => text.to_string(),
        _ => String::new(),
    };
    let (found, usage) = (text(ContextKind::InvalidArg), text(ContextKind::Usage));
    // "Usage: dietcode explain …"
    let command = usage.split_whitespace().nth(2).unwrap_or_default();
    let has = |option: &str| {
        let arguments = Arguments::command();
        let mut of_command = arguments.find_subcommand(command).into_iter().flat_map(clap::Command::get_arguments);
        of_command.any(|argument| argument.get_long() == option.strip_prefix("--"))
    };
    if let Some((old, new)) = RENAMED.iter().find(|(old, new)| *old == found && has(new)) {
        let tip = format!("what was '{old}' is '{new}'");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use dietcode::benchmark::shown;

    use super::*;

    #[test]
    fn no_tip_takes_an_option_for_a_file() {
        for line in
            ["tune --shape T=1", "expand c.json --wkl T=1", "records a.jsonl --wklx M=1", "merge a.json --wkl T=1"]
        {
            let words = ["dietcode"].into_iter().chain(line.split(' '));
            let error = Arguments::try_parse_from(words).unwrap_err();
            assert_eq!(error.exit_code(), 2);
            let said = shown(error).to_string();
            assert!(said.contains("unexpected argument '--") && !said.contains("'-- "), "{said}");
        }
        // Those that had another name are told the new one, where the command has it.
        for (line, tip) in [
            ("explain c.json --shape M=37", "tip: what was '--shape' is '--wkl'"),
            ("tune c.json --shape=M=37", "tip: what was '--shape' is '--wkl'"),
            ("explain c.json --capability sm_80", "tip: what was '--capability' is '--target'"),
            ("gpu-images --capability sm_80", "tip: what was '--capability' is '--target'"),
            ("expand c.json --shape M=37", ""),
        ] {
            let error = Arguments::try_parse_from(["dietcode"].into_iter().chain(line.split(' '))).unwrap_err();
            let said = shown(renamed(error)).to_string();
            assert!(said.contains("unexpected argument '--") && said.contains(tip), "{said}");
            assert_eq!(said.contains("what was"), !tip.is_empty(), "{said}");
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
}
