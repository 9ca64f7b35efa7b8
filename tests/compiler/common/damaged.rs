//! Texts that were a trace.

use rand::RngExt;
use rand::rngs::StdRng;

/// Texts near that of a trace: a character removed, doubled or replaced, a number replaced by a hostile one.
pub(crate) fn damaged(text: &str, rng: &mut StdRng) -> String {
    let numbers: Vec<usize> = text.char_indices().filter(|(_, c)| c.is_ascii_digit()).map(|(at, _)| at).collect();
    let at = rng.random_range(0..text.len());
    match (rng.random_range(0..4), numbers.is_empty()) {
        (0, _) => [&text[..at], &text[at + 1..]].concat(),
        (1, _) => [&text[..at], &text[at..=at], &text[at..]].concat(),
        (2, _) | (_, true) => [&text[..at], "\"", &text[at + 1..]].concat(),
        _ => {
            let at = numbers[rng.random_range(0..numbers.len())];
            let hostile = ["0", "-1", "3", "1024", "2147483648", "9223372036854775807", "-9223372036854775808"];
            [&text[..at], hostile[rng.random_range(0..hostile.len())], &text[at + 1..]].concat()
        }
    }
}
