//! JSON for people: what fits a line stands on one.

/// As wide as the sources of this project.
const WIDTH: usize = 120;

/// Joins the lines of pretty-printed JSON, where an array or an object fits a line.
///
/// ```text
/// "at": {                    "at": { "loop": "j_1" },
///   "loop": "j_1"      →
/// },
/// ```
pub(super) fn joined(pretty: &str) -> String {
    let lines: Vec<&str> = pretty.lines().collect();
    let mut text = String::new();
    let mut at = 0;
    while at < lines.len() {
        let end = closing(&lines, at).unwrap_or(at);
        let rest = lines[at + 1..=end].iter().map(|line| line.trim_start());
        let one = std::iter::once(lines[at]).chain(rest).collect::<Vec<&str>>().join(" ");
        let fits = end > at && one.chars().count() <= WIDTH;
        text += if fits { &one } else { lines[at] };
        text.push('\n');
        at = if fits { end + 1 } else { at + 1 };
    }
    text
}

/// The line that closes what a line opens: the next that is indented as far.
fn closing(lines: &[&str], at: usize) -> Option<usize> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let opens = lines[at].ends_with(['{', '[']);
    let own = indent(lines[at]);
    let end = lines[at + 1..].iter().position(|line| indent(line) == own);
    end.filter(|_| opens).map(|n| at + 1 + n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_a_line_stands_on_one_and_nothing_else_changes() {
        let long: Vec<String> = (0..40).map(|n| format!("word {n} {{[")).collect();
        let value = serde_json::json!({
            "empty": {}, "none": [], "short": [1, 2, [3, {"a": "}"}]], "long": long, "nested": [{"b": {"c": 1.5}}, null],
        });
        let text = joined(&serde_json::to_string_pretty(&value).unwrap());
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
        assert!(text.contains("  \"short\": [ 1, 2, [ 3, { \"a\": \"}\" } ] ]"), "{text}");
        assert!(text.contains("    \"word 0 {[\",\n    \"word 1 {[\",\n"), "{text}");
        assert!(text.lines().all(|line| line.len() <= WIDTH));
        assert_eq!(joined("1"), "1\n");
    }
}
