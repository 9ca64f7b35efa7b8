//! Files that are written whole or not at all.

use std::io::{BufWriter, Write};
use std::path::Path;

/// Writes a file in parts beside its place, and puts it there at once.
pub(crate) fn write_whole<P: AsRef<[u8]>>(path: &Path, parts: impl IntoIterator<Item = P>) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    // All users may read these files, not their writer alone as with other temporary files.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = BufWriter::new(builder.tempfile_in(folder)?);
    parts.into_iter().try_for_each(|part| file.write_all(part.as_ref()))?;
    file.into_inner()?.persist(path)?;
    Ok(())
}
