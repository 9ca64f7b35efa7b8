//! What all commands print with.

pub(super) use dietcode::heartbeat::print;

/// `1 record`, `2 records`.
pub(super) fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
