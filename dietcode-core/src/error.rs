//! The one public error: opaque, with a sentence that says where, what was found, what was expected, what to do.

use std::fmt;
use std::io;
use std::path::Path;

use crate::message::printable;

/// Why something could not be done. [`Error::kind`] says what a program may act on; the text is for people.
pub struct Error {
    kind: ErrorKind,
    message: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// The kinds of error a caller may act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// What was given (a tensor, a shape, a config, a record) is not acceptable.
    Input,
    /// A comparison or check that was asked for does not hold.
    Check,
    /// Something needed is not on this machine: a compiler, a CPU feature, a device.
    Unavailable,
    /// A candidate crashed, hung, or ran out of a resource.
    Failed,
    /// A candidate of a tunable operation does not compute a call of this kind; another one does.
    Unsupported,
    /// Something that only this project can get wrong: a pass made a program that breaks an invariant.
    Internal,
}

/// `Result` with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error of a kind, with its sentence. Control characters are escaped in it: a sentence quotes what it found.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error { kind, message: printable(&message.into()).into_owned(), source: None }
    }

    /// Shorthand for [`ErrorKind::Input`].
    pub fn input(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Input, message)
    }

    /// Shorthand for [`ErrorKind::Check`].
    pub fn check(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Check, message)
    }

    /// Shorthand for [`ErrorKind::Unavailable`].
    pub fn unavailable(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Unavailable, message)
    }

    /// Shorthand for [`ErrorKind::Unsupported`].
    pub fn unsupported(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Unsupported, message)
    }

    /// Shorthand for [`ErrorKind::Failed`].
    pub fn failed(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Failed, message)
    }

    /// [`ErrorKind::Unavailable`]: what is wrong with a file or a folder, such as "cannot be written".
    pub fn of_file(path: &Path, what: &str, cause: io::Error) -> Error {
        Error::unavailable(format!("{}: {what}", path.display())).caused_by(cause)
    }

    /// Keeps the error that caused this one.
    #[must_use]
    pub fn caused_by(mut self, source: impl std::error::Error + Send + Sync + 'static) -> Error {
        self.source = Some(Box::new(source));
        self
    }

    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.source {
            Some(source) => write!(f, ": {}", printable(&source.to_string())),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.kind)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|s| s as &(dyn std::error::Error + 'static))
    }
}
