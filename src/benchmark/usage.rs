//! What is said of wrong usage, by the five programs and by the command.

use clap::Error;
use clap::error::{ContextKind, ContextValue};

/// Without the tip to write an unknown option behind `--`, which clap adds wherever a command takes files: the option would be
/// taken for the name of one.
pub fn without_false_tips(mut error: Error) -> Error {
    if let Some(ContextValue::StyledStrs(mut tips)) = error.remove(ContextKind::Suggested) {
        tips.retain(|tip| !tip.to_string().contains("as a value, use '"));
        if !tips.is_empty() {
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
        }
    }
    error
}
