//! The command where its environment is odd: its compiler, its temporary folder, what is in its files, and how it is ended.
//! Compilers are scripts around the real one, so that nothing else has to be installed.

mod compilers;
mod ended;
pub(crate) mod place;
mod silence;
mod terminal;
