//! The whole pipeline, in-process, on packages in temporary folders.
mod asserts;
mod cuda;
mod files;
mod hostile;
mod modules;
mod package;
mod refusals;
mod set;
