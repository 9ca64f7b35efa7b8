//! Listings of a Markdown file, and its tables.

/// A fenced block.
#[derive(Clone, Debug)]
pub(crate) struct Listing {
    /// The last heading of the second level above it, without `#`.
    pub(crate) part: String,
    /// The last heading of any level.
    pub(crate) heading: String,
    /// The language.
    pub(crate) language: String,
    /// The file that it is: the first line's comment, or what stands behind the language.
    pub(crate) file: Option<String>,
    pub(crate) text: String,
}

/// All fenced blocks, in order.
pub(crate) fn listings(page: &str) -> Vec<Listing> {
    let mut all = Vec::new();
    let (mut part, mut heading) = (String::new(), String::new());
    let mut open: Option<Listing> = None;
    for line in page.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(info)) => {
                let (language, file) =
                    info.split_once(' ').map_or((info, None), |(language, file)| (language, Some(file)));
                let (part, heading) = (part.clone(), heading.clone());
                let (language, file) = (language.to_owned(), file.map(str::to_owned));
                open = Some(Listing { part, heading, language, file, text: String::new() });
            }
            (Some(_), Some(_)) => all.extend(open.take()),
            (Some(listing), None) => {
                let first = listing.text.is_empty();
                let named = line
                    .strip_prefix("// ")
                    .or_else(|| line.strip_prefix("# "))
                    .filter(|_| first && listing.file.is_none());
                listing.file = listing.file.take().or(named.filter(|name| !name.contains(' ')).map(str::to_owned));
                listing.text += line;
                listing.text += "\n";
            }
            (None, None) => {
                if let Some(title) = line.strip_prefix('#') {
                    heading = title.trim_start_matches('#').trim().to_owned();
                    if title.starts_with("# ") {
                        part.clone_from(&heading);
                    }
                }
            }
        }
    }
    assert!(open.is_none(), "a block is not closed");
    all
}

/// The cells of all rows below a table's head; `left` is the first word of the head.
pub(crate) fn table(page: &str, left: &str) -> Vec<Vec<String>> {
    let head = format!("| {left} ");
    let rows = page.lines().skip_while(|line| !line.starts_with(&head)).take_while(|line| line.starts_with('|'));
    let cells = |line: &str| line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect();
    let rows: Vec<Vec<String>> = rows.skip(2).map(cells).collect();
    assert!(!rows.is_empty(), "no table of `{left}`");
    rows
}

/// The pieces of code in a cell.
pub(crate) fn code(cell: &str) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut rest = cell;
    while let Some(start) = rest.find('`') {
        let fence: String = rest[start..].chars().take_while(|c| *c == '`').collect();
        let body = &rest[start + fence.len()..];
        let end = body.find(&fence).unwrap_or_else(|| panic!("a piece of code is not closed: {cell}"));
        pieces.push(body[..end].trim().to_owned());
        rest = &body[end + fence.len()..];
    }
    pieces
}
