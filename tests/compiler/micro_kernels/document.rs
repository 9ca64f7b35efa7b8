//! Tables of `docs/cuda.md` that are made of what nvcc compiles; `DIETCODE_BLESS=1` writes them anew.

use std::fs;
use std::path::PathBuf;

use super::compiled::Compiler;

/// Holds what the document has between the borders of a name to a table, where nvcc is of the release that made it.
pub(crate) fn holds(compiler: &Compiler, name: &str, what: &str, table: &str) {
    let made = format!("{what} of nvcc {}:\n\n{table}", compiler.version());
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/cuda.md");
    let document = fs::read_to_string(&path).expect("the document is there");
    let borders = [format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->\n")];
    let places = borders.each_ref().map(|border| document.find(&**border));
    let [begin, end] = places.map(|at| at.unwrap_or_else(|| panic!("{} has no {borders:?}", path.display())));
    let [before, behind] = [&document[..begin + borders[0].len()], &document[end..]];
    let kept = &document[before.len()..end];
    if std::env::var_os("DIETCODE_BLESS").is_some() {
        fs::write(&path, format!("{before}{made}{behind}")).expect("the document can be written");
    } else if kept.lines().next() == made.lines().next() {
        assert_eq!(kept, made, "{} differs; DIETCODE_BLESS=1 writes it anew", path.display());
    }
}
