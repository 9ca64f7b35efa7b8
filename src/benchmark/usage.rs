//! Wrong usage, as it is said.

use clap::Error;
use clap::error::{ContextKind, ContextValue};
use dietcode_core::message::one_line;

/// The error of a command line as it is shown: what the user wrote holds nothing that a terminal obeys, and there is no tip to put a
/// mistyped option behind `--`, which would make a file's name of it.
pub fn shown(mut error: Error) -> Error {
    if let Some(ContextValue::StyledStrs(mut tips)) = error.remove(ContextKind::Suggested) {
        tips.retain(|tip| !tip.to_string().contains("as a value, use '"));
        if !tips.is_empty() {
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
        }
    }
    let texts = error.context().filter_map(|(kind, value)| match value {
        ContextValue::String(text) => Some((kind, one_line(text).into_owned())),
        _ => None,
    });
    for (kind, text) in texts.collect::<Vec<(ContextKind, String)>>() {
        error.insert(kind, ContextValue::String(text));
    }
    error
}
